"""`stoke mock` as a program: endpoints, shapes of answers, each fault as the
bytes it puts on the wire, rules, capacity, the log. Spoken to over plain
sockets, so that no client hides anything."""

import gzip
import json
import re
import socket
import time
import zlib

import pytest
from harness.stalls import stalls_spoil_a_try, timely

CHAT = {"model": "m", "stream": True, "max_tokens": 4,
        "messages": [{"role": "user", "content": "one two three"}]}


class Answer:
    """What came back: `raw` bytes, `reads` with the ms of each since it was
    asked, and how it ended ("open", "fin", "rst").

    Tests of time ask whether something came too early: the server must never
    be that, while a busy machine may make anything late."""

    def __init__(self, raw, reads, end):
        self.raw, self.reads, self.end = raw, reads, end
        head, _, self.tail = raw.partition(b"\r\n\r\n")
        self.head = head.decode("latin-1")
        found = re.match(r"HTTP/1\.1 (\d+) ", self.head)
        self.status = int(found.group(1)) if found else None

    def header(self, name):
        found = re.search(rf"(?im)^{name}: (.*?)\r?$", self.head)
        return found.group(1) if found else None

    @property
    def chunks(self):
        """Of the body, as it was framed."""
        assert self.header("transfer-encoding") == "chunked"
        out, rest = [], self.tail
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            n = int(size, 16)
            if n == 0:
                break
            out.append(rest[:n])
            rest = rest[n + 2:]
        return out

    @property
    def body(self):
        return (b"".join(self.chunks) if self.header("transfer-encoding")
                else self.tail)

    @property
    def events(self):
        """Parsed data, [DONE] left out."""
        text = self.body.decode().replace("\r\n", "\n").replace("\r", "\n")
        data = ["".join(line[6:] for line in block.split("\n")
                        if line.startswith("data: "))
                for block in text.lstrip("\ufeff").split("\n\n")]
        return [json.loads(d) for d in data if d and d != "[DONE]"]

    @property
    def deltas(self):
        return [e["choices"][0]["delta"] for e in self.events if e["choices"]]

    @property
    def contents(self):
        return [d["content"] for d in self.deltas if d.get("content")]

    @property
    def json(self):
        return json.loads(self.body)

    def ms(self, needle):
        """When the last read with these bytes came."""
        return [at for at, data in self.reads if needle in data][-1]


class Client:
    """One connection."""

    def __init__(self, server, timeout=10):
        self.s = socket.create_connection(("127.0.0.1", server.port), timeout)

    def close(self):
        self.s.close()

    def send(self, method, path, body=None, headers=None):
        data = b"" if body is None else (
            body if isinstance(body, bytes) else json.dumps(body).encode())
        lines = [f"{method} {path} HTTP/1.1", "Host: h"]
        if body is not None:
            lines.append(f"Content-Length: {len(data)}")
        lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
        self.asked = time.monotonic_ns()
        self.s.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    def whole(self, raw):
        head, blank, rest = raw.partition(b"\r\n\r\n")
        if not blank:
            return False
        if head.startswith(b"HTTP/1.1 1"):
            return self.whole(rest)
        if b"transfer-encoding: chunked" in head:
            return rest.endswith(b"0\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head)
        return bool(found) and len(rest) >= int(found.group(1))

    def read(self, wait=30, enough=lambda raw: False):
        """Until the answer is whole or `enough`, the other side ends, or
        `wait` s."""
        raw, reads, end = b"", [], "open"
        limit = time.monotonic() + wait
        while not (self.whole(raw) or enough(raw)) and time.monotonic() < limit:
            self.s.settimeout(max(limit - time.monotonic(), 0.001))
            try:
                got = self.s.recv(1 << 20)
            except TimeoutError:
                break
            except ConnectionResetError:
                end = "rst"
                break
            if not got:
                end = "fin"
                break
            reads.append(((time.monotonic_ns() - self.asked) / 1e6, got))
            raw += got
        return Answer(raw, reads, end)

    def ask(self, body=CHAT, path="/v1/chat/completions", wait=30,
            enough=lambda raw: False, **mock):
        self.send("POST", path, body,
                  {f"x-mock-{k.replace('_', '-')}": v for k, v in mock.items()})
        return self.read(wait, enough)

    def get(self, path, **headers):
        self.send("GET", path, headers=headers)
        return self.read()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for the tests that need no flags of their own."""
    from harness.program import Mock
    server = Mock(tmp_path_factory.mktemp("mock"), "--ttft", "5ms", "--itl",
                  "1ms", "--models", "m,other", "--log-headers")
    yield server
    server.close()


@pytest.fixture
def client(shared, closing):
    return closing(Client(shared))


@pytest.fixture
def connect(closing):
    return lambda server: closing(Client(server))


# ---- endpoints ----

@pytest.mark.asan
def test_endpoints(client):
    models = client.get("/v1/models").json
    assert [m["id"] for m in models["data"]] == ["m", "other"]
    assert client.get("/health").status == 200
    text = client.get("/metrics").body.decode()
    for name in ("num_requests_running", "num_requests_waiting",
                 "prompt_tokens_total", "generation_tokens_total"):
        assert re.search(rf'(?m)^vllm:{name}{{.*model_name="m"}} \d+\.0$', text)
    assert "finished_reason=\"length\"" in text
    assert client.get("/stats").json["open"] >= 1


def test_what_it_lacks(client):
    a = client.get("/v1/audio/speech")
    assert a.status == 404 and a.json == {"detail": "Not Found"}
    assert client.get("/v1/chat/completions").status == 405


def test_metrics_count(mock, connect):
    c = connect(mock("--ttft", 0, "--itl", 0))
    for _ in range(3):
        c.ask()
    text = c.get("/metrics").body.decode()
    assert 'vllm:generation_tokens_total{engine="0",model_name="mock"} 12.0' \
        in text
    assert 'vllm:prompt_tokens_total{engine="0",model_name="mock"} 9.0' in text


def test_key_model_length(mock, connect):
    server = mock("--api-key", "k1", "--strict-model", "--models", "m",
                  "--max-model-len", 10)
    c = connect(server)
    assert c.ask().status == 401
    assert c.get("/v1/models").status == 401
    assert c.get("/health").status == 200

    def ask(**more):
        c.send("POST", "/v1/chat/completions", {**CHAT, **more},
               {"Authorization": "Bearer k1"})
        return c.read()

    assert ask().status == 200
    a = ask(model="x")
    assert a.status == 404 and a.json["error"]["param"] == "model"
    a = ask(messages=[{"role": "user", "content": "w " * 10}])
    assert a.status == 400 and "maximum context length" in a.json["error"]["message"]
    assert ask(max_tokens=11).status == 400
    assert ask(model='a"' * 200).json["error"]["message"].startswith("The model")


def test_bad_bodies(client):
    for body in (b"{", b"", b'{"messages": 1}'):
        a = client.ask(body)
        assert a.status == 400 and a.json["error"]["code"] == 400


@stalls_spoil_a_try
def test_no_models_and_a_late_start(mock, connect):
    c = connect(mock("--models", "none", "--ready-after", "300ms"))
    timely(c.get("/health").status == 503)
    end = time.monotonic() + 10
    while c.get("/health").status != 200:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert c.get("/v1/models").status == 404


# ---- answers ----

@pytest.mark.asan
def test_a_streamed_chat(client):
    a = client.ask({**CHAT, "stream_options": {"include_usage": True}})
    assert a.header("content-type").startswith("text/event-stream")
    assert a.deltas[0] == {"role": "assistant", "content": ""}
    assert len(a.contents) == 4
    assert a.events[-2]["choices"][0]["finish_reason"] == "length"
    assert a.events[-1]["choices"] == []
    assert a.events[-1]["usage"] == {"prompt_tokens": 3, "total_tokens": 7,
                                     "completion_tokens": 4}
    assert a.body.endswith(b"data: [DONE]\n\n")


def test_the_same_prompt_says_the_same(client):
    said = {"".join(client.ask().contents) for _ in range(3)}
    plain = client.ask({**CHAT, "stream": False}).json
    assert len(said) == 1
    assert plain["choices"][0]["finish_reason"] == "length"
    assert plain["usage"]["completion_tokens"] == 4
    assert len(plain["choices"][0]["message"]["content"].split()) == 4


def test_b027_other_than_asked(client):
    a = client.ask(no_stream="")
    assert a.header("content-type") == "application/json"
    assert a.json["choices"][0]["message"]
    a = client.ask({**CHAT, "stream": False}, force_stream="")
    assert a.header("content-type").startswith("text/event-stream")


def test_completions(client):
    body = {"model": "m", "prompt": ["a b", "c"], "max_tokens": 2}
    a = client.ask(body, "/v1/completions").json
    assert [c["index"] for c in a["choices"]] == [0, 1]
    assert a["usage"]["prompt_tokens"] == 3
    assert a["usage"]["completion_tokens"] == 4
    a = client.ask({**body, "prompt": "a", "stream": True}, "/v1/completions")
    assert [bool(e["choices"][0]["text"]) for e in a.events] == [True, True]


def test_tokens_and_max_tokens(client):
    assert len(client.ask(tokens=2).contents) == 2
    assert client.ask(tokens=2).events[-1]["choices"][0]["finish_reason"] == "stop"
    assert len(client.ask(tokens=9).contents) == 4
    assert len(client.ask({**CHAT, "ignore_eos": True}, tokens=2).contents) == 4
    a = client.ask({**CHAT, "max_tokens": 7}, chunk=3)
    assert [len(t.split()) for t in a.contents] == [3, 3, 1]


def test_b031_choices_interleave(client):
    a = client.ask({**CHAT, "n": 2})
    indexes = [e["choices"][0]["index"] for e in a.events
               if e["choices"][0]["delta"].get("content")]
    assert indexes == [0, 1] * 4
    a = client.ask(rising_index="")
    indexes = [e["choices"][0]["index"] for e in a.events[1:]]
    assert indexes == [0, 1, 2, 3]


def test_reasoning_tools_refusal(client):
    a = client.ask(reasoning=2)
    assert [list(d) for d in a.deltas[1:]] == (
        [["reasoning_content"]] * 2 + [["content"]] * 2)
    a = client.ask(fault="reasoning:2,reasoning-key:reasoning")
    assert a.deltas[1].get("reasoning")
    tools = {**CHAT, "max_tokens": 6, "tools": [
        {"type": "function", "function": {"name": "weather"}}]}
    a = client.ask(tools, tool_calls=2)
    calls = [d["tool_calls"][0] for d in a.deltas[1:]]
    assert [c["index"] for c in calls] == [0, 1] * 3
    assert calls[0]["function"]["name"] == "weather"
    for i in (0, 1):
        json.loads("".join(c["function"]["arguments"] for c in calls
                           if c["index"] == i))
    a = client.ask({**tools, "stream": False}, tool_calls=2, tokens=5).json
    assert a["choices"][0]["finish_reason"] == "tool_calls"
    assert len(a["choices"][0]["message"]["tool_calls"]) == 2
    assert client.ask(refusal="").deltas[1]["refusal"]


def test_usage_as_it_is_asked_for(client):
    plain = {**CHAT, "stream": False}
    assert client.ask(plain, usage=17).json["usage"]["completion_tokens"] == 17
    usage = client.ask(plain, cached=2, prompt=120).json["usage"]
    assert usage["prompt_tokens"] == 120
    assert usage["prompt_tokens_details"]["cached_tokens"] == 2
    assert "usage" not in client.ask(plain, no_usage="").json
    a = client.ask({**CHAT, "max_tokens": 6}, usage_each="", chunk=3)
    assert [e["usage"]["completion_tokens"] for e in a.events] == [0, 3, 6]
    assert client.ask(usage_always="").events[-1]["usage"]


@stalls_spoil_a_try
def test_cached_prompts(mock, connect):
    body = {**CHAT, "stream": False,
            "messages": [{"role": "user", "content": "w " * 100}]}
    c = connect(mock("--cached", 0.25, "--ttft", 0, "--itl", 0))
    usage = c.ask(body).json["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 25
    c = connect(mock("--prefix-cache", 1000, "--prefill", "10ms", "--ttft", 0,
                     "--itl", 0))
    c.send("POST", "/v1/chat/completions", body)
    first = c.read()
    assert first.json["usage"].get("prompt_tokens_details") is None
    start = time.monotonic()
    second = c.ask(body)
    assert second.json["usage"]["prompt_tokens_details"]["cached_tokens"] == 96
    timely(time.monotonic() - start < 0.8)  # 4 words, not 100


# ---- time ----

@pytest.mark.asan
def test_ttft_and_itl(mock, connect):
    server = mock("--ttft", "60ms", "--itl", "20ms", "--log-tokens")
    connect(server).ask()
    (line,) = server.stop()
    events = line["events_ns"]
    # Never early, whatever the machine does; and not late by a token.
    assert 60e6 <= events[0] - line["recv_ns"] < 80e6 + line["late_ns"]
    assert events[-1] - line["recv_ns"] >= 120e6
    assert line["first_ns"] == events[0] and line["last_ns"] == events[-1]


def test_lateness_does_not_add_up(mock, connect):
    server = mock("--ttft", 0, "--itl", "1ms", "--log-tokens")
    connect(server).ask({**CHAT, "max_tokens": 500})
    (line,) = server.stop()
    took = line["last_ns"] - line["recv_ns"]
    assert 499e6 <= took <= 499e6 + line["late_ns"]


def test_what_is_drawn_repeats_with_the_seed(mock, connect):
    def draw(seed):
        server = mock("--ttft", 0, "--itl", "lognormal:1ms:1ms", "--tokens",
                      "normal:30:10", "--seed", seed, "--log-tokens")
        c = connect(server)
        for _ in range(5):
            c.ask({**CHAT, "max_tokens": 100})
        return server.stop()

    one, same, other = draw(3), draw(3), draw(4)
    assert [q["tokens"] for q in one] == [q["tokens"] for q in same]
    assert [q["tokens"] for q in one] != [q["tokens"] for q in other]
    times = one[0]["events_ns"]
    assert max(b - a for a, b in zip(times, times[1:])) > 1.5e6


def test_stall_in_the_middle(client):
    a = client.ask({**CHAT, "max_tokens": 6}, stall="3:150ms")
    assert len(a.contents) == 6
    assert a.ms(b'"content":"') >= 5 + 5 + 150
    a = client.ask(stall="2", enough=lambda raw: raw.count(b'"content":') == 3)
    assert a.end == "open" and len(a.contents) == 2
    a = client.read(0.3)
    assert (a.raw, a.end) == (b"", "open")


# ---- faults in place of an answer ----

@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503, 529])
def test_status(client, status):
    a = client.ask(status=f"{status}:7")
    assert a.status == status
    assert a.header("retry-after") == "7"
    assert a.json["error"]["code"] == status


def test_retry_after_as_a_date(client):
    from email.utils import parsedate_to_datetime
    when = parsedate_to_datetime(client.ask(status="429:date+30")
                                 .header("retry-after")).timestamp()
    assert 20 < when - time.time() <= 31


def test_b127_redirects(client):
    a = client.ask(redirect="307:http://127.0.0.1:9/v1/chat/completions")
    assert a.status == 307
    assert a.header("location") == "http://127.0.0.1:9/v1/chat/completions"


def test_answers_that_are_none(client):
    a = client.ask(json_error="")
    assert a.status == 200 and a.json["error"]["message"]
    assert client.ask(html="").header("content-type").startswith("text/html")
    a = client.ask(empty_body="")
    assert a.status == 200 and a.body == b""
    assert client.ask(empty_stream="").body == b"data: [DONE]\n\n"


@pytest.mark.parametrize("fault, end", [("close", "fin"), ("rst", "rst"),
                                        ("hang", "open")])
def test_no_byte(client, fault, end):
    a = client.ask(fault=fault, wait=0.3 if end == "open" else 30)
    assert (a.raw, a.end) == (b"", end)


def test_garbage(client):
    a = client.ask(garbage="")
    assert a.status is None and a.raw and a.end == "fin"


def test_b116_reset_on_a_kept_connection(client):
    assert client.ask(rst_reused="").status == 200
    assert client.ask(rst_reused="").end == "rst"


def test_b107_closed_just_when_asked(client):
    assert client.ask(close_reused="").status == 200
    a = client.ask(close_reused="")
    assert (a.raw, a.end) == (b"", "fin")


def test_a_misspelt_fault_is_told(client):
    a = client.ask(fault="stal:3")
    assert a.status == 400 and "did you mean stall" in a.json["error"]["message"]
    assert client.ask(no_such="").status == 400


# ---- faults in the stream ----

@pytest.mark.parametrize("form, words", [
    ("object", b'data: {"error":{"message":"EngineCore died"'),
    ("string", b'data: {"error":"STREAM_EXPLODED"}'),
    ("flat", b'event: error\ndata: {"message":"overloaded","code":529}'),
    ("named", b"event: ERROR\n: worker lost\n\n"),
    ("vllm", b'data: {"object":"error",'),
])
def test_b006_b007_b026_errors(client, form, words):
    a = client.ask(error=f"2:{form}")
    before, found, after = a.body.partition(words)
    assert found and before.count(b'"content":"') == 3
    assert after.endswith(b"data: [DONE]\n\n")
    a = client.ask(fault=f"error:2:{form},no-done")
    assert b"[DONE]" not in a.body


def test_an_error_without_a_stream(client):
    a = client.ask({**CHAT, "stream": False}, error=1)
    assert a.status == 500 and a.json["error"]["message"] == "EngineCore died"


@pytest.mark.parametrize("value, text", [("null", None), ("false", False),
                                         ("empty", ""), ("object", {})])
def test_b026_falsy_errors(client, value, text):
    assert all(e["error"] == text for e in client.ask(error_field=value).events)


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_b017_cuts(client, shared, connect, how):
    a = client.ask(cut=f"3:{how}")
    assert a.end == how and a.raw.count(b'"content":"') == 4
    assert not a.raw.endswith(b"0\r\n\r\n")
    a = connect(shared).ask(cut_bytes=f"100:{how}")
    assert a.end == how and len(a.body) == 100
    a = connect(shared).ask({**CHAT, "stream": False}, cut_bytes=f"50:{how}")
    assert a.end == how and len(a.body) == 50
    assert int(a.header("content-length")) > 50


def test_ends_that_lack_something(client):
    assert b"[DONE]" not in client.ask(no_done="").body
    a = client.ask(no_finish="")
    assert all(e["choices"][0]["finish_reason"] is None for e in a.events)
    a = client.ask(finish_apart="")
    assert a.events[-1]["choices"][0] == {
        "index": 0, "delta": {}, "logprobs": None, "finish_reason": "length"}


def test_late_ends(client):
    for fault, last in (("late-finish", b'"finish_reason":"length"'),
                        ("late-done", b"[DONE]"), ("late-end", b"0\r\n\r\n")):
        a = client.ask(fault=f"{fault}:150ms")
        assert a.ms(last) >= 5 + 3 + 150, fault


def test_bad_json_and_blanks(client):
    text = client.ask(bad_json="2").body.decode()
    bad = [d for d in text.split("\n\n") if d.startswith("data: {")
           and not d.endswith("}")]
    assert len(bad) == 1
    assert len(client.ask(blank=1).contents) == 3


@stalls_spoil_a_try
def test_b001_b002_b021_roles_and_empty_deltas(client):
    a = client.ask(fault="early-role,ttft:150ms")
    timely(a.ms(b'"role"') < a.ms(b'"content":"'), a.reads)
    assert a.ms(b'"length"') >= 150 + 3
    a = client.ask(fault="null-deltas:2,empty-deltas:1,tokens:0")
    assert a.deltas == [{"role": "assistant", "content": ""},
                        {"content": None}, {"content": None},
                        {"content": ""}, {}]
    assert "role" not in client.ask(no_role="").deltas[0]
    (event,) = client.ask(one_event="").events
    choice = event["choices"][0]
    assert choice["delta"]["role"] and choice["finish_reason"] == "length"
    assert len(choice["delta"]["content"].split()) == 4


def test_line_ends(client):
    plain = client.ask().body
    for fault, end in (("crlf", b"\r\n"), ("cr", b"\r")):
        body = client.ask(fault=fault).body
        assert body.replace(end, b"\n").count(b"\n\n") == plain.count(b"\n\n")
        assert b"\n" not in body.replace(b"\r\n", b"")


@stalls_spoil_a_try
def test_x08_b011_comments_marks_and_lines(client):
    assert client.ask(bom="").body.startswith(b"\xef\xbb\xbfdata: ")
    a = client.ask(comments="")
    assert a.body.count(b": mock\ndata: ") == 6
    a = client.ask(multi_line="")
    assert a.body.count(b"data: ") == 11 and len(a.events) == 5
    a = client.ask(fault="ping:20ms,ttft:150ms")
    timely(3 <= a.body.count(b": ping\n\n") <= 8, a.body)


def test_b032_a_huge_event(client):
    a = client.ask(huge=5_000_000)
    assert len(a.contents[0]) == 5_000_000
    a = client.ask(huge="9000:all")
    assert [len(t) for t in a.contents] == [9000] * 4


def test_other_texts(client):
    body = {**CHAT, "max_tokens": 6}
    assert client.ask(body, text="spaces").contents == [" "] * 6
    assert all(len(t.encode()) == 3 for t in
               client.ask(body, text="cjk").contents)
    raw = client.ask(body, text="surrogates").body
    assert raw.count(b"\\ud83d") == raw.count(b"\\ude00") == 3


# ---- on the wire ----

@pytest.mark.asan
@stalls_spoil_a_try
def test_b003_split_at_every_byte(client):
    whole = client.ask()
    a = client.ask(split="")
    assert all(len(c) == 1 for c in a.chunks)
    assert "".join(a.contents) == "".join(whole.contents)
    a = client.ask(split="7:1ms")
    assert {len(c) for c in a.chunks[:-1]} <= set(range(1, 8))
    assert len(a.events) == 5
    timely(len(a.reads) > 10, a.reads)


def test_b005_split_in_a_character(client):
    body = {**CHAT, "max_tokens": 1}
    plain = client.ask(body, text="cjk", no_role="").body
    at = plain.index(b'"content":"') + len(b'"content":"') + 1
    a = client.ask(body, fault=f"text:cjk,no-role,split-at:{at + 8}:100ms")
    cut = a.chunks[0]
    assert len(cut) == at + 8
    assert a.reads[-1][0] >= 5 + 100


def test_types_and_framing(client, shared, connect):
    assert client.ask(content_type="text/plain").header("content-type") == \
        "text/plain"
    a = client.ask(early_hints="")
    assert a.raw.startswith(b"HTTP/1.1 103 Early Hints\r\n")
    assert b"HTTP/1.1 200 OK" in a.raw
    assert client.ask(slow_headers="150ms").reads[0][0] >= 150
    a = client.ask(not_chunked="")
    assert a.end == "fin" and a.header("transfer-encoding") is None
    assert a.header("connection") == "close" and len(a.events) == 5
    c = connect(shared)
    a = c.ask(close_after="")
    assert a.header("connection") is None and len(a.events) == 5
    assert c.read().end == "fin"


def test_b030_encodings(client):
    a = client.ask(gzip="")
    assert a.header("content-encoding") == "gzip"
    assert gzip.decompress(a.body).endswith(b"data: [DONE]\n\n")
    first = zlib.decompressobj(31).decompress(a.chunks[0])
    assert first.endswith(b"\n\n")
    a = client.ask({**CHAT, "stream": False}, gzip="")
    assert json.loads(gzip.decompress(a.body))["choices"]
    assert client.ask(br="").header("content-encoding") == "br"


def test_scripted_answers(client):
    events = [[0, "data: {\"a\":"], [30, "1}\r"], [40, "\n\r"],
              [50, "\ndata: [DONE]\r\n\r\n"]]
    a = client.ask({**CHAT, "mock": {"events": events}})
    assert a.chunks == [e[1].encode() for e in events]
    assert a.reads[-1][0] >= 50
    a = client.ask({**CHAT, "mock": {"events": [[0, "x"], [10, None]]}})
    assert a.end == "fin" and a.chunks == [b"x"]


def test_faults_in_the_body(client):
    a = client.ask({**CHAT, "mock": {"fault": "content-type:text/x-odd"}})
    assert a.header("content-type") == "text/x-odd"
    a = client.ask({**CHAT, "stream": False, "max_tokens": 2,
                    "mock": {"fault": "reasoning:1,reasoning-key:thought"}})
    assert a.json["choices"][0]["message"]["thought"]
    a = client.ask({**CHAT, "mock": {"fault": "crlf,tokens:2"}})
    assert b"\r\n\r\n" in a.body and len(a.contents) == 2


# ---- rules ----

def test_rules_by_number_and_share(mock, connect):
    server = mock("--ttft", 0, "--itl", 0, "--fault", "status:503@2",
                  "--fault", "status:429:1@/5", "--fault", "tokens:1@3-4",
                  "--fault", "status:500@30%")
    c = connect(server)
    answers = [c.ask() for _ in range(100)]
    statuses = [a.status for a in answers]
    assert statuses[1] in (503, 500)
    assert all(s in (429, 500) for s in statuses[4::5])
    assert 10 <= statuses.count(500) <= 50
    assert statuses.count(503) <= 1
    again = connect(mock("--ttft", 0, "--itl", 0, "--fault", "status:500@30%"))
    repeat = [again.ask().status for _ in range(100)]
    assert [i for i, s in enumerate(repeat) if s == 500] == \
        [i for i, s in enumerate(statuses) if s == 500]


def test_wrong_use_is_told(stoke):
    for args, words in (
            (["--fault", "stal:3"], "did you mean stall"),
            (["--fault", "cut@x"], "says not which requests"),
            (["--host", "0.0.0.0"], "this machine only"),
            (["--ttft", "abc"], "--ttft"),
            (["--queue", 3], "--slots"),
            (["--step", "5ms"], "--slots"),
            (["--blast", "--step", "5ms", "--slots", 2], "--blast")):
        r = stoke.command("mock", "--port", 0, *args).wait()
        assert r.code == 2 and words in r.err, r


def test_help_teaches(stoke):
    r = stoke.command("mock", "--help").wait()
    assert r.code == 0
    for words in ("--ttft", "x-mock-fault", "stoke mock --slots 32"):
        assert words in r.out
    r = stoke.command("mock", "--list-faults").wait()
    assert "rst-reused" in r.out and "split" in r.out


# ---- capacity ----

@stalls_spoil_a_try
def test_slots_queue_and_refusal(mock, connect):
    server = mock("--slots", 2, "--queue", 1, "--reject-status", 429,
                  "--ttft", "200ms", "--itl", 0)
    clients = [connect(server) for _ in range(4)]
    for c in clients:
        c.send("POST", "/v1/chat/completions", CHAT)
        time.sleep(0.02)
    statuses = [c.read().status for c in clients]
    # They may come together, and late, when one of us stalls.
    timely(statuses == [200, 200, 200, 429], statuses)
    log = {line["connection"]: line for line in server.stop()}
    timely(log[3]["start_ns"] - log[3]["recv_ns"] > 100e6, log[3])
    assert (log[3]["running"], log[3]["waiting"]) == (2, 0)


@stalls_spoil_a_try
def test_saturation_is_where_it_was_said(mock, connect):
    server = mock("--slots", 4, "--step", "4ms+1ms", "--tokens", 10)
    said = float(re.search(r"saturated at ([\d.]+) requests/s",
                           server.said + next(server.process.popen.stdout))
                 .group(1))
    assert said == 50  # 4 of 10 tokens each in 10 * 8 ms
    clients = [connect(server) for _ in range(8)]
    body = {**CHAT, "max_tokens": 10}
    done, end = 0, time.monotonic() + 2
    for c in clients:
        c.send("POST", "/v1/chat/completions", body)
    while time.monotonic() < end:
        for c in clients:
            assert c.read().status == 200
            done += 1
            c.send("POST", "/v1/chat/completions", body)
    for c in clients:
        c.read()
    log = sorted(server.stop(), key=lambda line: line["last_ns"])[4:]
    rate = (len(log) - 1) / ((log[-1]["last_ns"] - log[0]["last_ns"]) / 1e9)
    timely(0.9 * said < rate < 1.15 * said, rate)
    assert max(line["running"] for line in log) <= 4


def test_b086_hold_until(mock, connect):
    server = mock("--hold-until", 20, "--ttft", 0)
    clients = [connect(server) for _ in range(20)]
    for c in clients[:-1]:
        c.send("POST", "/v1/chat/completions", CHAT)
    assert clients[0].read(0.2).raw == b""
    clients[-1].send("POST", "/v1/chat/completions", CHAT)
    assert all(c.read().status == 200 for c in clients)
    assert len({line["start_ns"] for line in server.stop()}) == 1


# ---- life ----

def test_idle_connections_are_closed(mock, connect):
    c = connect(mock("--idle-close", "200ms", "--ttft", 0, "--itl", 0))
    start = time.monotonic()
    assert c.ask().status == 200
    assert c.read().end == "fin"
    assert time.monotonic() - start >= 0.2


def test_it_ends_by_itself(stoke, mock, connect):
    r = stoke.command("mock", "--port", 0, "--duration", "200ms").wait()
    assert r.code == 0 and "listening on http://127.0.0.1:" in r.out
    server = mock("--max-requests", 2, "--ttft", 0, "--itl", 0)
    c = connect(server)
    c.ask()
    c.ask()
    assert server.process.wait().code == 0


def test_ipv6(mock, ipv6):
    server = mock("--host", "::1")
    assert server.url == f"http://[::1]:{server.port}"
    with socket.create_connection(("::1", server.port)) as s:
        s.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_the_log_tells_of_everything(mock, connect):
    server = mock("--ttft", "5ms", "--itl", "1ms", "--log-headers",
                  "--log-bodies", "--log-tokens")
    c = connect(server)
    c.send("POST", "/v1/chat/completions", CHAT, {"X-Request-Id": "abc"})
    c.read()
    c.get("/health")
    c.ask(status=500)
    gone = connect(server)
    gone.send("POST", "/v1/chat/completions", CHAT, {"x-mock-stall": "1"})
    gone.read(enough=lambda raw: raw.count(b'"content":') == 2)
    gone.close()
    c.ask(cut="1:rst")
    log = server.stop()
    first, health, failed, *_ = log
    assert first["request_id"] == "abc" and first["number"] == 1
    assert json.loads(first["body"]) == CHAT
    assert ["X-Request-Id", "abc"] in first["headers"]
    assert (health["path"], health["number"]) == ("/health", None)
    assert (failed["status"], failed["nth"]) == (500, 3)
    ends = sorted(line["end"] for line in log)
    assert ends == ["aborted", "done", "done", "done", "rst"]
    for line in log:
        order = [line[k] for k in ("recv_ns", "start_ns", "headers_ns",
                                   "first_ns", "last_ns", "end_ns")
                 if line[k]]
        assert order == sorted(order)


def test_blast_pages(mock, connect):
    server = mock("--blast")
    for i in range(2):
        c = connect(server)
        c.send("POST", "/v1/chat/completions", {**CHAT, "max_tokens": 9},
               {"Connection": "close"})
        a = c.read()
        assert a.header("connection") == "close" and len(a.contents) == 9
        c = connect(server)
        a = c.ask({**CHAT, "max_tokens": 9})
        assert a.header("connection") is None and len(a.contents) == 9
    assert len(c.ask({**CHAT, "max_tokens": 2000}).contents) == 2000
    assert c.ask(cut=1).end == "fin"
