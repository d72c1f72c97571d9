"""The tests' own servers, tried with Python's client: when one of these
fails, the others say nothing about stoke."""

import http.client
import json
import ssl
import urllib.request

import pytest
from harness.raw import FIN, RST, stream, text

HELLO = [{"match": {"userMessage": "hello"},
          "response": {"content": "Hello there, general."}}]


def post(url, body, **more):
    request = urllib.request.Request(
        url + "/v1/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10, **more) as answer:
        return answer.read().decode()


def chat(stream=True):
    return {"model": "m", "stream": stream,
            "messages": [{"role": "user", "content": "hello"}]}


def test_raw_server_sends_what_it_is_told(raw_server):
    server = raw_server(lambda r: stream(text("Hi"), 0.05, text("!")))
    assert post(server.url, chat()).count("data:") == 3
    assert server.requests[0].json == chat()
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("end", [FIN, RST])
def test_raw_server_breaks_connections(raw_server, end):
    server = raw_server([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHi", end])
    with pytest.raises((OSError, http.client.IncompleteRead)):
        post(server.url, chat())


def test_aimock_through_nginx_with_tls(aimock, nginx, certificate):
    tls = certificate()
    gateway = nginx(aimock(HELLO).url, tls=tls)
    trust = ssl.create_default_context(cafile=str(tls[0]))
    assert "Hello there" in post(gateway.url, chat(False), context=trust)
