"""Section e of the field cases: connections, headers, gateways' manners."""

import json
import threading

import pytest
from harness.raw import FIN, RST, delta, stream, text, whole
from harness.stalls import stalls_spoil_a_try, timely


def fine():
    return stream(text("x"), delta("stop"))


def test_b107_stale_connection_is_replaced(stoke, raw_server):
    """The server closes a kept connection just as the request arrives."""
    served = set()

    def answer(request):
        if request.connection in served:
            return [FIN]
        served.add(request.connection)
        return fine()

    r = stoke.load(raw_server(answer).url, "-n", 6, "-c", 1)
    assert r.outcomes == {"ok": 6}
    assert r.stoke["client"]["retries"] == 5


def test_b110_loopback_goes_through_no_proxy(stoke, raw_server):
    server = raw_server(lambda r: fine())
    dead = {"http_proxy": "http://127.0.0.1:9", "all_proxy": "http://127.0.0.1:9"}
    r = stoke.load(server.url, "-n", 1, env=dead)
    assert r.outcomes == {"ok": 1}


def test_b110_buffered_stream_is_told(stoke, raw_server):
    everything = b"".join([text("x")] * 20 + [delta("stop")])
    server = raw_server(lambda r: stream(0.1, everything))
    r = stoke.load(server.url, "-n", 4)
    assert "buffer" in r.out + r.err


@pytest.mark.parametrize("key, sent", [
    ("k1\n", "Bearer k1"), ("", None), (None, None)])
def test_b112_keys_are_trimmed(stoke, raw_server, key, sent):
    server = raw_server(lambda r: fine())
    stoke.load(server.url, "-n", 1, env={"OPENAI_API_KEY": key})
    assert server.requests[0].headers.get("authorization") == sent


def test_b112_key_with_a_line_break_is_refused(stoke, raw_server):
    server = raw_server(lambda r: fine())
    r = stoke.load(server.url, "-n", 1, code=2,
                   env={"OPENAI_API_KEY": "k\r\nX: yes"})
    assert not server.requests and "yes" not in r.err


@pytest.mark.asan
def test_b116_dead_after_the_request_was_read(stoke, raw_server):
    served = set()

    def answer(request):
        if request.connection in served:
            return [RST]
        served.add(request.connection)
        return fine()

    server = raw_server(answer)
    r = stoke.load(server.url, "-n", 2, "-c", 1)
    attempts = sum(q["attempts"] for q in r.requests)
    assert len(server.requests) == attempts


@pytest.mark.asan
def test_b117_closed_after_every_answer(stoke, raw_server):
    server = raw_server(lambda r: [*fine(), FIN])
    r = stoke.load(server.url, "-n", 50, "-c", 1)
    assert r.outcomes == {"ok": 50}


@stalls_spoil_a_try
def test_b118_large_body_waits_for_nothing(stoke, raw_server, tmp_path):
    (tmp_path / "big.lua").write_text(
        "return { request = function() return "
        "{ prompt = ('word '):rep(400000) } end }")
    server = raw_server(lambda r: fine())
    r = stoke.load(server.url, "big.lua", "-n", 2)
    request = server.requests[0]
    assert "expect" not in request.headers
    assert len(request.body) > 2_000_000
    assert int(request.headers["content-length"]) == len(request.body)
    timely(r.requests[1]["ttft_ms"] < 900, r)


def test_b121_rate_limit_is_a_failure_of_its_own(stoke, raw_server):
    server = raw_server(lambda r: fine() if r.index else [whole(
        {"error": {"message": "slow down"}}, "429 Too Many Requests",
        "application/json", "Retry-After: 1")])
    r = stoke.load(server.url, "-n", 2, "-c", 1)
    assert r.outcomes == {"ok": 1, "rate_limited": 1}
    (limited,) = [q for q in r.requests if q["outcome"] == "rate_limited"]
    assert limited["retry_after_s"] == 1 and limited["attempts"] == 1


def test_b125_connections_are_kept(stoke, raw_server):
    server = raw_server(lambda r: fine())
    r = stoke.load(server.url, "-n", 100, "-c", 4)
    assert server.connections == 4
    assert r.stoke["network"]["opened"] == 4


def test_b127_redirects_are_not_followed(stoke, raw_server):
    server = raw_server([whole(
        "", "301 Moved Permanently", "text/html",
        "Location: https://example.invalid/v1/chat/completions")])
    r = stoke.load(server.url, "-n", 1, code=1)
    assert r.outcomes == {"redirect": 1}
    assert "https://example.invalid" in json.dumps(r.stoke["errors"])


STATUSES = [
    (401, "auth"), (403, "auth"), (404, "not_found"), (400, "unprocessable"),
    (422, "unprocessable"), (418, "http_4xx"), (500, "http_5xx"),
    (529, "http_5xx")]


@pytest.mark.parametrize("status, outcome", STATUSES)
def test_every_status_has_its_outcome(stoke, raw_server, status, outcome):
    server = raw_server([whole({"error": {"message": "words of the server"}},
                               f"{status} Whatever")])
    r = stoke.load(server.url, "-n", 1, code=1)
    assert r.outcomes == {outcome: 1}
    assert "words of the server" in json.dumps(r.stoke["errors"])


def test_context_length_is_its_own(stoke, raw_server):
    server = raw_server([whole({"object": "error", "message":
                                "This model's maximum context length is 4096 "
                                "tokens. However, you requested 5000 tokens"},
                               "400 Bad Request")])
    r = stoke.load(server.url, "-n", 1, code=1)
    assert r.outcomes == {"context_length": 1}


@pytest.mark.parametrize("body, content_type", [
    ("<html>hello</html>", "text/html"), ("fine", "text/plain")])
def test_a_page_is_no_answer(stoke, raw_server, body, content_type):
    r = stoke.load(raw_server([whole(body, "200 OK", content_type)]).url,
                   "-n", 1, code=1)
    assert r.outcomes == {"not_json": 1}


@pytest.mark.parametrize("base", [
    "", "/", "/v1", "/v1/", "/v1?key=5"])
def test_base_urls_as_people_write_them(stoke, raw_server, base):
    server = raw_server(lambda r: fine())
    stoke.load(server.url + base, "-n", 1)
    path = server.requests[0].path
    assert path.split("?")[0] == "/v1/chat/completions"
    assert path.endswith("?key=5") == ("?" in base)


def test_base_url_with_a_prefix(stoke, raw_server):
    server = raw_server(lambda r: fine())
    stoke.load(server.url + "/llm/api/v1", "-n", 1)
    assert server.requests[0].path == "/llm/api/v1/chat/completions"


def test_base_url_from_the_environment(stoke, raw_server):
    server = raw_server(lambda r: fine())
    stoke.run("-m", "m", "-n", 1, "--no-preflight",
              env={"OPENAI_BASE_URL": server.url + "/v1"})
    assert len(server.requests) == 1


def test_headers_in_both_spellings(stoke, raw_server):
    server = raw_server(lambda r: fine())
    stoke.load(server.url, "-n", 1, "-H", "X-One: 1", "-H", "X-Two=2")
    assert server.requests[0].headers["x-one"] == "1"
    assert server.requests[0].headers["x-two"] == "2"


def test_endpoints(stoke, raw_server):
    server = raw_server(lambda r: fine())
    stoke.load(server.url, "-n", 1, "--endpoint", "completions", code=None)
    stoke.load(server.url, "-n", 1, "--endpoint", "/my/chat", code=None)
    assert [q.path for q in server.requests] == [
        "/v1/completions", "/my/chat"]
    assert "prompt" in server.requests[0].json


def test_extra_body_and_max_tokens(stoke, raw_server):
    server = raw_server(lambda r: fine())
    stoke.load(server.url, "-n", 1, "--max-tokens", 9, "--extra-body",
               '{"temperature": 0.5, "nested": {"a": [1]}}')
    body = server.requests[0].json
    assert 9 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert body["temperature"] == 0.5 and body["nested"] == {"a": [1]}
    assert body["stream"] is True
    assert body["stream_options"]["include_usage"] is True


# ---- before the load ----

def models(*ids):
    return [whole({"object": "list", "data": [{"id": i} for i in ids]})]


def test_the_only_model_is_taken(stoke, raw_server):
    server = raw_server(lambda r: models("tiny") if r.method == "GET"
                        else fine())
    stoke.run("-u", server.url, "-n", 2)
    posts = [q for q in server.requests if q.method == "POST"]
    assert {q.json["model"] for q in posts} == {"tiny"}
    assert len(posts) == 3  # one of them beforehand, not counted


def test_the_only_model_listed_twice_is_taken(stoke, raw_server):
    server = raw_server(lambda r: [whole({"data": [{"id": "m"}] * 2})]
                        if r.method == "GET" else list(stream(text("x"))))
    stoke.run("-u", server.url, "-n", 1, "--no-preflight")
    assert server.requests[-1].json["model"] == "m"


def test_several_models_are_listed(stoke, raw_server):
    server = raw_server(lambda r: models("tiny", "huge"))
    r = stoke.run("-u", server.url, "-n", 2, code=2)
    assert "tiny" in r.err and "huge" in r.err


@pytest.mark.parametrize("status, words, hint", [
    ("401 Unauthorized", "bad key", "OPENAI_API_KEY"),
    ("404 Not Found", "no such page", "/v1"),
    ("400 Bad Request", "temperature is wrong", "temperature"),
])
def test_preflight_shows_what_would_fail_for_all(stoke, raw_server, status,
                                                 words, hint):
    server = raw_server([whole({"error": {"message": words}}, status)])
    r = stoke.run("-u", server.url, "-m", "m", "-n", 50, code=1)
    assert status.split()[0] in r.err and words in r.err and hint in r.err
    # The list of models may be asked for as well, to explain a 404.
    assert len([q for q in server.requests if q.method == "POST"]) == 1


def test_preflight_cannot_connect(stoke, refused):
    r = stoke.run("-u", refused, "-m", "m", "-n", 50, code=1)
    assert "refused" in r.err.lower() or "connect" in r.err.lower()


@stalls_spoil_a_try
def test_slow_readers_do_not_hold_others(stoke, raw_server):
    """One connection that trickles does not slow the rest."""
    slow = threading.Event()

    def answer(request):
        if request.index == 0:
            slow.set()
            return stream(*[text("x"), 0.1] * 15, delta("stop"))
        return fine()

    r = stoke.load(raw_server(answer).url, "-n", 200, "-c", 2)
    ttft = sorted(q["ttft_ms"] for q in r.requests)
    assert r.outcomes == {"ok": 200}
    timely(ttft[100] < 200, ttft)
