"""`stoke check`: what it finds, what it advises, and what it asks for."""

import socket
import subprocess
import threading
import time

import pytest
from harness import servers
from harness.program import strict_json
from harness.raw import END, FIN, delta, stream, text, usage, whole

# Slow enough that a stall of the machine does not look like a gateway.
MOCK = ("--ttft", "50ms", "--itl", "20ms")


class Findings:
    def __init__(self, r):
        self.r, self.json = r, strict_json(r.out)
        self.checks = {}
        for c in self.json["checks"]:
            assert c["check"] not in self.checks, f"twice: {c}"
            assert c["status"] in ("ok", "warn", "wrong"), c
            self.checks[c["check"]] = c

    def status(self, name):
        return self.checks[name]["status"]

    def all(self, name):
        """Its text and advice, for a look at words."""
        c = self.checks[name]
        return "\n".join([c["text"], *c["fix"]])

    @property
    def wrong(self):
        return {n for n, c in self.checks.items() if c["status"] == "wrong"}

    @property
    def warned(self):
        return {n for n, c in self.checks.items() if c["status"] == "warn"}


@pytest.fixture
def check(stoke):
    def run(url, *args, code=0, env=None, words=False):
        flags = [] if words else ["--json"]
        r = stoke.command("check", url, *args, *flags, env=env).wait(60)
        assert code is None or r.code == code, r
        if words or code == 2:
            return r
        found = Findings(r)
        # The exit status, the verdict and the findings say the same.
        verdict = ("wrong" if found.wrong else
                   "warn" if found.warned else "ok")
        assert found.json["verdict"] == verdict, r
        assert code == (1 if found.wrong else 0)
        return found

    return run


def chats(server):
    return [q for q in server.requests if q.method == "POST"
            and q.path.endswith("/completions")]


def talk(request):
    """An ordinary server: a list of models, then answers as asked."""
    if request.method == "GET":
        if request.path == "/v1/models":
            return [whole({"data": [{"id": "m", "owned_by": "vllm"}]})]
        return [whole({"detail": "Not Found"}, "404 Not Found")]
    if not request.path.endswith("/chat/completions"):
        return [whole({"detail": "Not Found"}, "404 Not Found")]
    if not request.json["stream"]:
        return [0.03, whole({"choices": [{"index": 0, "message": {
            "role": "assistant", "content": "x"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 4, "completion_tokens": 1}})]
    steps = [0.03]
    for _ in range(20):
        steps += [text("word "), 0.02]
    return stream(*steps, delta("stop"), usage(4, 20))


# ---- all is well ----

@pytest.mark.asan
def test_all_is_well(check, mock):
    server = mock(*MOCK)
    found = check(server.url)
    assert found.json["verdict"] == "ok" and found.json["model"] == "mock"
    assert found.json["next"].startswith(f"stoke run -u {server.url} -m mock")
    assert "64 events" in found.all("stream")
    assert "64 answer tokens" in found.all("usage")
    assert found.json["server"]["kind"] == "stoke mock"
    log = server.stop()
    assert len(log) <= 6, [q["path"] for q in log]
    assert [q["stream"] for q in log if q["number"]] == [False, True]


def test_next_command_runs_as_it_stands(check, stoke, mock):
    found = check(mock(*MOCK).url)
    words = found.json["next"].split()
    assert words[:2] == ["stoke", "run"] and words[-2:] == ["-d", "30s"]
    r = stoke.run(*words[2:-2], "-n", "3")
    assert r.outcomes == {"ok": 3}


def test_words_for_people(check, mock):
    r = check(mock(*MOCK).url, words=True)
    lines = r.out.splitlines()
    assert all(len(line) <= 79 for line in lines[:-1]), r
    assert all(line.startswith("ok ") for line in lines
               if line[:2].strip() and not line.startswith("All")), r
    assert "All is well:" in lines and r.err == ""


@pytest.mark.parametrize("endpoint, path", [
    ("completions", "/v1/completions"), ("responses", "/v1/responses"),
    ("anthropic", "/v1/messages"), ("ollama", "/api/chat"),
    ("embeddings", "/v1/embeddings"), ("embeddings_chat", "/v1/embeddings"),
    ("/v1/embeddings", "/v1/embeddings")])
def test_other_apis(check, mock, endpoint, path):
    server = mock(*MOCK)
    found = check(server.url, "--endpoint", endpoint)
    assert found.json["verdict"] == "ok", found.r
    assert ("stream" in found.checks) == ("embeddings" not in path)
    assert path in {q["path"] for q in server.stop()}


@pytest.mark.parametrize("endpoint", ["rerank", "transcriptions"])
def test_what_only_a_scenario_can_ask(check, mock, endpoint):
    found = check(mock().url, "--endpoint", endpoint)
    assert found.r.code == 0 and found.status("answer") == "warn"
    assert "not tried" in found.checks["answer"]["text"]
    assert "traceback" not in str(found.checks)
    assert found.json["next"].startswith("stoke run bench -P dataset_name=")


def test_kept_to_few_and_small_requests(check, raw_server):
    server = raw_server(talk)
    found = check(server.url)
    assert found.json["verdict"] == "ok", found.r
    assert len(server.requests) <= 6
    assert [q.json["max_tokens"] for q in chats(server)] == [1, 64]
    assert found.json["server"]["kind"] == "vLLM"


# ---- names, connections, what is no HTTP ----

def test_bad_name(check):
    found = check("http://no-such-host.invalid:8000", code=1)
    assert found.wrong == {"name"}
    assert found.json["next"].startswith("stoke check")


def test_closed_port(check, refused):
    found = check(refused, code=1)
    assert found.wrong == {"connect"} and "refused" in found.all("connect")


def test_name_and_its_addresses(check, mock, localhost):
    server = mock(*MOCK)
    found = check(server.url.replace("127.0.0.1", localhost))
    assert "localhost is" in found.all("name")
    assert "127.0.0.1" in found.all("name")


@pytest.fixture
def banner(closing):
    """Says a line to everybody, as SSH and mail servers do."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                s, _ = listener.accept()
            except OSError:
                return
            s.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            s.settimeout(2)
            try:
                while s.recv(4096):
                    pass
            except OSError:
                pass
            s.close()

    threading.Thread(target=serve, daemon=True).start()

    class Banner:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def close(self):
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    return closing(Banner())


def test_plain_text_server(check, banner):
    found = check(banner.url, code=1)
    assert found.wrong == {"http"}
    assert "does not speak HTTP" in found.all("http")
    assert "TLS" not in found.all("http")


def test_b127_redirect_is_told(check, raw_server):
    server = raw_server(lambda q: [whole("", "301 Moved Permanently",
                                         "text/html",
                                         "Location: https://other/v1")])
    found = check(server.url, "-m", "m", code=1)
    assert "https://other/v1" in found.all("answer")


def test_web_page_instead_of_an_api(check, raw_server):
    server = raw_server(lambda q: [whole("<html>hello</html>", "200 OK",
                                         "text/html")])
    found = check(server.url, code=1)
    assert found.wrong == {"models"} and "text/html" in found.all("models")
    found = check(server.url, "-m", "m", code=1)
    assert "answer" in found.wrong and "text/html" in found.all("answer")


def test_hung_up_on_the_request_alone(check, mock):
    found = check(mock(*MOCK, "--fault", "rst").url, code=1)
    assert found.wrong == {"answer"}
    assert "https" not in found.all("answer")


def test_old_http_keeps_no_connection(check, raw_server):
    def old(request):
        return [step.replace(b"HTTP/1.1", b"HTTP/1.0")
                if isinstance(step, bytes) else step for step in talk(request)]

    assert "connect" in check(raw_server(old).url).warned


# ---- TLS ----

@pytest.mark.asan
def test_b126_certificates(check, mock, nginx, certificate):
    tls = certificate()
    url = nginx(mock(*MOCK).url, tls=tls).url
    found = check(url, code=1)
    assert found.wrong == {"tls"}
    assert "--cacert" in found.all("tls") and "stoke test CA" in found.all("tls")
    found = check(url, "--cacert", tls[0])
    assert "expires in 2 days" in found.all("tls")
    assert found.warned == {"tls"}
    assert "--cacert" in found.json["next"]
    assert "nobody checks" in check(url, "-k").all("tls")


def test_b126_certificate_for_another_name(check, mock, nginx, certificate):
    tls = certificate("somewhere.invalid")
    url = nginx(mock(*MOCK).url, tls=tls).url
    found = check(url, "--cacert", tls[0], code=1)
    assert "somewhere.invalid" in found.all("tls")


def expired_certificate(home):
    """Signed by itself for the year 2020, which only `openssl ca` can."""
    home.mkdir()
    (home / "index.txt").touch()
    (home / "ca.cnf").write_text(
        "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nserial=serial\n"
        "new_certs_dir=.\ndefault_md=sha256\npolicy=p\n"
        "[p]\ncommonName=supplied\n")
    for args in (
        ["req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out",
         "csr.pem", "-subj", "/CN=127.0.0.1"],
        ["ca", "-batch", "-config", "ca.cnf", "-create_serial", "-selfsign",
         "-keyfile", "key.pem", "-in", "csr.pem", "-out", "cert.pem",
         "-startdate", "200101000000Z", "-enddate", "210101000000Z",
         "-notext"]):
        subprocess.run(["openssl", *args], cwd=home, check=True,
                       capture_output=True)
    return home / "cert.pem", home / "cert.pem", home / "key.pem"


def test_b126_expired(check, mock, nginx, tmp_path):
    tls = expired_certificate(tmp_path / "old")
    url = nginx(mock(*MOCK).url, tls=tls).url
    found = check(url, "--cacert", tls[0], code=1)
    assert "it has expired" in found.all("tls")
    assert "Jan  1 00:00:00 2021" in found.all("tls")
    found = check(url, "-k")
    assert found.warned == {"tls"} and "expired" in found.all("tls")


def test_long_valid_is_ok(check, mock, nginx, tmp_path):
    home = tmp_path / "long"
    home.mkdir()
    tls = servers.certificate(home, days=100)
    found = check(nginx(mock(*MOCK).url, tls=tls).url, "--cacert", tls[0])
    assert found.json["verdict"] == "ok", found.r
    assert "TLS in" in found.all("connect")


def test_wrong_scheme_both_ways(check, mock, nginx, certificate):
    upstream = mock(*MOCK)
    found = check(upstream.url.replace("http:", "https:"), code=1)
    assert found.wrong == {"tls"} and "http://" in found.all("tls")
    url = nginx(upstream.url, tls=certificate()).url
    found = check(url.replace("https:", "http:"), "-m", "m", code=1)
    assert "https://" in found.all("answer")


def test_tls_behind_a_port_that_only_hangs_up(check, closing, certificate):
    """A bare TLS server answers HTTP with an alert and a close."""
    _, cert, key = certificate()
    port = servers.free_port()
    closing(servers.Server(
        ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert",
         str(cert), "-key", str(key), "-quiet"], port, cert.parent))
    found = check(f"http://127.0.0.1:{port}", code=1)
    assert f"use https://127.0.0.1:{port}" in found.all("http")


# ---- keys ----

@pytest.fixture
def guarded(raw_server):
    def answer(request):
        if request.headers.get("authorization") != "Bearer right-key":
            return [whole({"error": {"message": "bad key"}},
                          "401 Unauthorized")]
        return talk(request)

    return raw_server(answer)


def test_no_key(check, guarded):
    found = check(guarded.url, code=1)
    assert found.wrong == {"key"} and "OPENAI_API_KEY" in found.all("key")
    assert not chats(guarded)


def test_key_in_another_variable(check, guarded):
    env = {"VLLM_API_KEY": "right-key"}
    found = check(guarded.url, code=1, env=env)
    assert "--api-key-env VLLM_API_KEY" in found.all("key")
    found = check(guarded.url, "--api-key-env", "VLLM_API_KEY", env=env)
    assert found.status("key") == "ok"


def test_stale_key(check, guarded):
    found = check(guarded.url, code=1, env={"OPENAI_API_KEY": "stale-key"})
    assert "OPENAI_API_KEY was refused" in found.all("key")
    assert "stale-key" not in found.r.out


def test_b112_newline_and_blank_keys(check, guarded):
    found = check(guarded.url, env={"OPENAI_API_KEY": " right-key\n"})
    assert found.warned == {"key"} and "blanks" in found.all("key")
    found = check(guarded.url, code=1, env={"OPENAI_API_KEY": "  "})
    assert "OPENAI_API_KEY is empty" in found.all("key")
    r = check(guarded.url, code=2, env={"OPENAI_API_KEY": "a\r\nX: y"})
    assert "control character" in r.err and r.out == ""


def test_models_are_open_and_answers_are_not(check, raw_server):
    def answer(request):
        if request.method == "POST":
            return [whole({"error": {"message": "no"}}, "403 Forbidden")]
        return talk(request)

    found = check(raw_server(answer).url, code=1)
    assert found.wrong == {"key"} and "403" in found.all("key")


def test_list_of_models_is_closed_and_answers_are_not(check, raw_server):
    def answer(request):
        if request.path == "/v1/models":
            return [whole({"error": {"message": "no"}}, "401 Unauthorized")]
        return talk(request)

    found = check(raw_server(answer).url, "-m", "m")
    assert found.warned == {"models"} and found.status("key") == "ok"


def test_anthropic_key_goes_where_it_belongs(check, mock):
    server = mock(*MOCK, "--api-key", "right-key", "--log-headers")
    found = check(server.url, "--endpoint", "anthropic",
                  env={"OPENAI_API_KEY": "right-key"})
    assert found.status("key") == "ok", found.r
    sent = [q for q in server.stop() if q["path"] == "/v1/models"]
    assert "x-api-key" in str(sent[0]["headers"]).lower()
    assert "authorization" in str(sent[0]["headers"]).lower()


def test_no_secret_is_shown(check, mock):
    server = mock(*MOCK)
    r = check(server.url, "--api-key", "sesame-open-42", "-H",
              "X-Api-Token: sesame-shut-43", words=True)
    assert "sesame" not in r.out + r.err
    assert "--api-key '***'" in r.out


# ---- models ----

def test_model_that_is_not_there(check, mock):
    found = check(mock(*MOCK).url, "-m", "/models/llama-3")
    assert found.warned == {"models"} and "mock" in found.all("models")


def test_several_models(check, raw_server):
    def answer(request):
        if request.path == "/v1/models":
            return [whole({"data": [{"id": "a"}, {"id": "b"}]})]
        return talk(request)

    found = check(raw_server(answer).url)
    assert found.json["model"] == "a" and "2: a, b" in found.all("models")
    assert " -m a " in found.json["next"]


def test_no_list_of_models(check, raw_server):
    def answer(request):
        if request.path == "/v1/models":
            return [whole({"detail": "Not Found"}, "404 Not Found")]
        return talk(request)

    server = raw_server(answer)
    found = check(server.url, code=1)
    assert found.wrong == {"models"} and "--model" in found.all("models")
    assert not chats(server)
    found = check(server.url, "-m", "m")
    assert found.warned == {"models"}


@pytest.mark.parametrize("body", [
    "null", "[]", "[1, 2]", '"x"', '{"data": "x"}', '{"data": [null, 3]}',
    '{"data": {"id": "m"}}', '{"data": [{"id": 7}, {"id": "m"}]}',
    '{"data": [{"id": "m", "owned_by": {}, "max_model_len": "8k"}]}',
    b"\xff\xfe\x00", '{"data": [{"id": "' + "m" * 100_000 + '"}]}', ""])
def test_odd_lists_of_models(check, raw_server, body):
    """Whatever comes, what it finds is findings."""

    def answer(request):
        return [whole(body)] if request.path != "/v1/chat/completions" \
            else talk(request)

    server = raw_server(answer)
    found = check(server.url, "-m", "m", "--timeout", "20s")
    assert found.status("answer") == "ok" and found.r.err == ""
    r = check(server.url, code=None, words=True)
    assert r.code in (0, 1) and r.err == "", r


def test_wrong_model_is_refused(check, raw_server):
    def answer(request):
        if request.method == "POST" and request.json["model"] != "m":
            return [whole({"error": {"message": "The model `x` does not "
                                     "exist."}}, "404 Not Found")]
        return talk(request)

    found = check(raw_server(answer).url, "-m", "x", code=1)
    assert "it has m" in found.all("answer")


# ---- streams ----

EVENTS = 30


@pytest.fixture
def slow(raw_server):
    """One token after 50 ms, a stream of 30 more each 30 ms."""

    def answer(request):
        if request.method == "POST" and request.json.get("stream"):
            steps = [0.05]
            for _ in range(EVENTS):
                steps += [text("word "), 0.03]
            return stream(*steps, delta("stop"), usage(4, EVENTS))
        return talk(request)

    return raw_server(answer)


BUFFERING = "proxy_buffering on; proxy_buffers 8 64k; proxy_buffer_size 64k;"


@pytest.mark.asan
def test_b110_buffering_gateway(check, slow, nginx):
    """All at once at the end, though one token alone came soon: sure."""
    gateway = nginx(slow.url, location=BUFFERING + "gzip on; gzip_types "
                    "text/event-stream; gzip_proxied any; gzip_min_length 1;")
    found = check(gateway.url, "-H", "Accept-Encoding: gzip", code=1)
    assert found.wrong == {"stream"}, found.r
    assert "held back to the end" in found.all("stream")
    assert "(sure)" in found.all("stream")
    assert "compress" in found.all("stream")


def test_b110_gateway_that_passes_events_on(check, slow, nginx):
    found = check(nginx(slow.url).url)
    assert found.status("stream") == "ok", found.r
    assert f"{EVENTS} events" in found.all("stream")
    assert found.json["server"]["gateway"].startswith("nginx")


def at_once(wait):
    """Every event after `wait`, in one write."""

    def answer(request):
        if request.method == "POST" and request.json.get("stream"):
            together = b"".join([text("word ") for _ in range(EVENTS)])
            return stream(wait, together, delta("stop"), usage(4, EVENTS))
        return talk(request)

    return answer


@pytest.mark.parametrize("status", ["204 No Content", "200 OK"])
def test_b050_nothing_at_all_is_no_answer(check, raw_server, status):
    """The run would call every request empty."""

    def answer(request):
        if request.method == "GET":
            return talk(request)
        return [f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()]

    found = check(raw_server(answer).url, code=1)
    assert found.wrong == {"answer"} and "no body" in found.all("answer")


def test_b021_a_plain_answer_without_text_is_no_stream(check, raw_server):
    nothing = whole({"choices": [{"index": 0, "message": {"content": None},
                                  "finish_reason": "stop"}]})
    found = check(raw_server(lambda q: talk(q) if q.method == "GET"
                             else [nothing]).url, code=1)
    assert found.wrong == {"stream"}


def test_b110_held_back_is_sure(check, raw_server):
    found = check(raw_server(at_once(1.0)).url, code=1)
    assert found.wrong == {"stream"} and "(sure)" in found.all("stream")
    assert "buffering" in found.all("stream")


@pytest.mark.parametrize("end", [FIN, 3], ids=["fin", "silent"])
def test_b091_nothing_is_missing_behind_the_end_mark(check, raw_server, end):
    """As for a run: [DONE] came, though the HTTP message has no end."""

    def answer(request):
        steps = list(talk(request))
        return [*steps[:-1], end] if steps[-1] == END else steps

    found = check(raw_server(answer).url)
    assert "answer" not in found.wrong, found.r


def test_fast_answers_are_not_suspected(check, raw_server):
    """Nothing can be said of an answer of a few ms, and nothing is."""
    found = check(raw_server(at_once(0.0)).url)
    assert found.status("stream") in ("ok", "warn"), found.r
    assert "held back to the end" not in found.all("stream")


def test_slow_start_is_not_sure(check, raw_server):
    """As late as one token alone: a queue, or a gateway."""

    def answer(request):
        steps = at_once(1.0)(request)
        if request.method == "POST" and not request.json.get("stream", True):
            return [1.0, *steps]
        return steps

    found = check(raw_server(answer).url)
    assert found.warned == {"stream"} and "(not sure)" in found.all("stream")


def test_blocks_of_events(check, raw_server):
    def answer(request):
        if request.method == "POST" and request.json.get("stream"):
            block = b"".join([text("word ") for _ in range(10)])
            return stream(0.4, block, 0.4, block, 0.4, block, delta("stop"))
        return talk(request)

    found = check(raw_server(answer).url, code=1)
    assert "10 at a time" in found.all("stream")
    assert "in blocks" in found.all("stream")


@pytest.mark.parametrize("fault, name, status, word", [
    ("no-stream", "stream", "warn", "in one piece"),
    ("one-event", "stream", "warn", "as one event"),
    ("no-usage", "usage", "warn", "approximate"),
    ("empty-stream", "stream", "wrong", "without a token"),
    ("bad-json:3", "stream", "wrong", "not JSON"),
    ("status:401", "key", "wrong", "401"),
    ("status:404", "answer", "wrong", "404"),
    ("status:422", "answer", "wrong", "422"),
    ("status:429", "answer", "wrong", "throttles"),
    ("status:503", "answer", "wrong", "loading"),
    ("json-error", "answer", "wrong", "inside a 200"),
    ("html", "answer", "wrong", "text/html"),
    ("cut:0", "answer", "wrong", "cut short"),
    ("chunk:4", "usage", "ok", "4.0 an event"),
    ("crlf", "stream", "ok", "64 events"),
    ("reasoning:99", "stream", "ok", "64 events"),
])
def test_misbehaviour(check, mock, fault, name, status, word):
    found = check(mock(*MOCK, "--fault", fault).url,
                  code=1 if status == "wrong" else 0)
    assert found.status(name) == status, found.r
    assert word in found.all(name)
    others = {n for n, c in found.checks.items() if c["status"] == "wrong"}
    assert others <= {name}, found.r


def test_no_stream_is_in_the_next_command(check, mock):
    found = check(mock(*MOCK, "--fault", "no-stream").url)
    assert "--no-stream" in found.json["next"]


def test_silence_is_told_and_bounded(check, mock):
    found = check(mock("--fault", "hang").url, "--timeout", "4s", code=1)
    assert found.wrong == {"answer"} and "time" in found.all("answer")
    assert found.r.err.count("waiting for the answer to POST") == 1
    assert found.r.seconds < 30


# ---- what else there is ----

def test_tokenize_metrics_and_version(check, raw_server):
    def answer(request):
        if request.path == "/version":
            return [whole({"version": "0.32.0"})]
        if request.path == "/tokenize":
            assert request.json["model"] == "m"
            return [whole({"count": 6, "tokens": [1, 2, 3, 4, 5, 6]})]
        if request.path == "/metrics":
            return [whole("# HELP vllm:x x\n# TYPE vllm:x gauge\nvllm:x 1\n",
                          "200 OK", "text/plain")]
        return talk(request)

    found = check(raw_server(answer).url)
    assert "6 tokens" in found.all("tokenize")
    assert "vLLM" in found.all("metrics")
    assert found.json["server"] == {"kind": "vLLM", "version": "0.32.0",
                                    "gateway": None}


@pytest.mark.parametrize("lines, owner, kind, gateway", [
    (["Server: llama.cpp"], "llamacpp", "llama.cpp", None),
    (["Server: uvicorn"], "sglang", "SGLang", None),
    (["Server: uvicorn", "x-litellm-version: 1.2"], "openai",
     "OpenAI's names", "LiteLLM"),
    (["Server: nginx/1.22.1"], "library", "Ollama", "nginx 1.22.1"),
    (["Via: 1.1 unheard-of"], "someone", None,
     "a gateway (via: 1.1 unheard-of)"),
    ([], "m", "TGI", None),
])
def test_server_kinds(check, raw_server, lines, owner, kind, gateway):
    extra = "".join(line + "\r\n" for line in lines).encode()

    def answer(request):
        steps = [whole({"data": [{"id": "m", "owned_by": owner}]})] \
            if request.path == "/v1/models" else list(talk(request))
        at = next(i for i, s in enumerate(steps) if isinstance(s, bytes))
        steps[at] = steps[at].replace(b"\r\n", b"\r\n" + extra, 1)
        return steps

    found = check(raw_server(answer).url)
    assert found.json["server"]["kind"] == kind, found.r
    assert found.json["server"]["gateway"] == gateway, found.r


def test_clock(check, raw_server):
    def dated(seconds):
        def answer(request):
            when = time.strftime("%a, %d %b %Y %H:%M:%S GMT",
                                 time.gmtime(time.time() + seconds))
            if request.path == "/v1/models":
                return [whole({"data": [{"id": "m"}]}, "200 OK",
                              "application/json", f"Date: {when}")]
            return talk(request)

        return answer

    assert check(raw_server(dated(0)).url).status("clock") == "ok"
    found = check(raw_server(dated(-3600)).url)
    assert found.warned == {"clock"} and "behind" in found.all("clock")


def test_leftover_variables(check, mock):
    found = check(mock(*MOCK).url, env={
        "OPENAI_BASE_URL": "http://elsewhere:1/v1",
        "ANTHROPIC_BASE_URL": "http://elsewhere:2",
        "HTTP_PROXY": "http://127.0.0.1:9"})
    said = found.all("variables")
    assert "OPENAI_BASE_URL" in said and "ANTHROPIC_BASE_URL" in said
    assert "HTTP_PROXY" in said and "elsewhere" not in said


def test_server_from_the_environment(stoke, mock):
    server = mock(*MOCK)
    r = stoke.command("check", "--json",
                      env={"OPENAI_BASE_URL": server.url + "/v1"}).wait()
    assert r.code == 0 and server.url in r.out


# ---- proxies ----

def test_b110_proxy_is_told(check, raw_server):
    """A name that is not loopback goes through the proxy, which answers."""
    def answer(request):
        request.path = "/" + request.path.split("/", 3)[3]
        return talk(request)

    proxy = raw_server(answer)
    found = check("http://model.invalid:8000", env={"http_proxy": proxy.url})
    assert "proxy" in found.warned and "http_proxy" in found.all("proxy")
    assert proxy.requests


def test_dead_proxy(check, refused):
    found = check("http://model.invalid:8000", code=1,
                  env={"http_proxy": refused})
    assert found.wrong == {"proxy"} and "http_proxy" in found.all("proxy")


def test_b110_loopback_goes_past_the_proxy(check, mock):
    found = check(mock(*MOCK).url, env={"http_proxy": "http://127.0.0.1:9"})
    assert "proxy" not in found.checks


# ---- other servers ----

def test_aimock(check, aimock):
    server = aimock([{"match": {"userMessage": ""},
                      "response": {"content": "One two three four. " * 20}}])
    found = check(server.url, "-m", "gpt-4")
    assert found.status("answer") == "ok", found.r


def test_openai_mock_api(check, openai_mock_api):
    from test_npm_servers import CONFIG
    server = openai_mock_api(CONFIG)
    found = check(server.url, "--api-key", "k", "-m", "m")
    assert found.warned >= {"usage"}, found.r
    found = check(server.url, "-m", "m", code=1)
    assert found.wrong == {"key"}, found.r


def test_mock_llm(check, mock_llm):
    found = check(mock_llm().url, "-m", "m")
    assert found.status("answer") == "ok", found.r


# ---- misuse ----

@pytest.mark.parametrize("args", [
    ["ftp://x"], ["http://a", "http://b"], ["--no-such-flag"],
    ["http://127.0.0.1:1", "--endpoint", "nonsense"],
    ["http://127.0.0.1:1", "--cacert", "/no/such.pem"]])
def test_misuse(stoke, args):
    r = stoke.command("check", *args).wait()
    assert r.code == 2 and r.out == "" and "stoke" in r.err


def test_help(stoke):
    r = stoke.command("check", "--help").wait()
    assert r.code == 0 and "stoke check [URL]" in r.out
