"""Field cases of section a, reading streams: one answer each, sent byte by
byte by a server that shares nothing with the program. Pauses are in seconds,
so a figure may come out larger than what is written here, on a busy machine.
It comes out smaller when we stall: what waits is then read as one."""

import gzip
import json
import zlib

import pytest
from harness.raw import (DONE, END, FIN, RST, chunk, delta, event, head,
                         stream, text, usage, whole)
from harness.stalls import stalls_spoil_a_try, timely

pytestmark = pytest.mark.asan
SLACK = 400  # ms that a busy machine may add


@pytest.fixture
def one(stoke, raw_server):
    """one(answer, *flags) -> (the request's line, the result)"""

    def run(answer, *flags, **keywords):
        server = raw_server(answer)
        r = stoke.load(server.url, *flags, "-n", 1, code=None, **keywords)
        assert r.requests and len(r.requests) == 1, r
        r.server = server
        return r.requests[0], r

    return run


@pytest.fixture
def read(one, tmp_path):
    """read(answer, expression) runs one request and holds the response `r`
    against a Lua expression."""

    def run(answer, expression, request='{ prompt = "x" }'):
        (tmp_path / "read.lua").write_text(f"""
            return {{
              request = function() return {request} end,
              on_response = function(r)
                if not r.ok then return end
                if {expression} then return end
                return false, "text is <" .. r.text .. ">"
              end,
            }}""")
        q, r = one(answer, "read.lua")
        assert q["outcome"] == "ok", r
        return q

    return run


def near(value, expected):
    assert value >= expected
    timely(value < expected + SLACK, value, expected)


@stalls_spoil_a_try
def test_b001_role_chunk_is_no_token(one):
    q, _ = one(lambda r: stream(
        delta(role="assistant", content=None), 0.2, text("Hi"), 0.01,
        text("!")))
    assert len(q["itl_ms"]) == 1
    near(q["ttft_ms"], 200)
    timely(q["itl_ms"][0] < 10 + SLACK / 2, q)


@stalls_spoil_a_try
def test_b002_empty_content_is_no_token(one):
    q, _ = one(lambda r: stream(
        0.05, delta(role="assistant", content=""), 0.25, text("A"), 0.02,
        text("B")))
    assert len(q["itl_ms"]) == 1
    near(q["ttft_ms"], 300)
    assert q["ttfb_ms"] >= 50
    timely(q["ttfb_ms"] < q["ttft_ms"] - 200, q)


def test_b003_split_at_every_byte(read):
    body = text("a b") + DONE
    q = read(lambda r: stream(*(body[i:i + 1] for i in range(len(body))),
                              done=False), 'r.text == "a b"')
    assert q["chunks"] == 1


def test_b005_character_split_over_reads(read):
    body = text("中")
    at = body.index("中".encode()) + 1
    read(lambda r: stream(body[:at], 0.05, body[at:]),
         'r.text == "\\228\\184\\173"')


@pytest.mark.parametrize("error", [
    {"message": "EngineCore died", "code": 500}, "EngineCore died"])
def test_b006_error_in_the_stream(one, error):
    q, r = one(lambda r: stream(text("a"), text("b"), event({"error": error})))
    assert q["outcome"] == "api_error" and r.code == 1
    assert "EngineCore died" in r.out + r.err
    assert r.json["mean_ttft_ms"] is None and r.json["completed"] == 0


def test_b007_flat_error_event(one):
    q, r = one(lambda r: stream(event(
        {"message": "overloaded", "code": 529}, name="error"), done=False))
    assert q["outcome"] == "api_error"
    assert "overloaded" in json.dumps(r.stoke["errors"])


def test_b010_event_ends_at_an_empty_line_only(read):
    a = text("a", x=1).replace(b"\n", b"\r\n")
    done = DONE.replace(b"\n", b"\r\n")
    cut = a.index(b',"x"') if b',"x"' in a else len(a) // 2
    q = read(lambda r: stream(a[:cut], 0.02, a[cut:-3], 0.02, a[-3:-1], 0.02,
                              a[-1:] + done, done=False), 'r.text == "a"')
    assert q["chunks"] == 1


def test_b011_data_lines_are_joined(read):
    q = read(lambda r: stream(
        b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"x"}}]}\n\n'),
        'r.text == "x"')
    assert q["chunks"] == 1


def test_b012_usage_without_choices(one):
    q, r = one(lambda r: stream(text("x"), delta("stop"), usage(5, 1)))
    assert q["outcome"] == "ok" and q["itl_ms"] == []
    assert (q["tokens"], q["prompt_tokens"]) == (1, 5)
    assert q["token_source"] == "usage"


@stalls_spoil_a_try
def test_b013_reasoning_counts_and_answers_are_told_apart(one):
    q, _ = one(lambda r: stream(
        0.1, delta(reasoning_content="think"), 0.1, delta(reasoning="more"),
        0.1, text("ans"), delta("stop")))
    assert len(q["itl_ms"]) == 2
    near(q["ttft_ms"], 100)
    near(q["ttfat_ms"], 300)
    timely(min(q["itl_ms"]) > 50, q)


def tool(index, **function):
    call = {"index": index, "function": function}
    if "name" in function:
        call.update(id=f"c{index}", type="function")
    return delta(tool_calls=[call])


def test_b015_tool_calls_are_tokens(one):
    q, _ = one(lambda r: stream(
        tool(0, name="f", arguments=""), 0.01, tool(0, arguments='{"a":'),
        0.01, tool(0, arguments="1}"), delta("tool_calls"), usage(9, 17)))
    assert q["ttft_ms"] is not None and len(q["itl_ms"]) == 2
    assert q["tokens"] == 17 and q["outcome"] == "ok"


def test_b016_tool_calls_are_merged_by_index(read):
    read(lambda r: stream(
        tool(0, name="f", arguments='{"a"'), tool(1, name="g", arguments='{'),
        tool(0, arguments=":1}"), tool(1, arguments="}"),
        delta("tool_calls")),
        '#r.tool_calls == 2 and r.tool_calls[1].arguments == \'{"a":1}\''
        ' and r.tool_calls[2].name == "g" and r.tool_calls[2].arguments'
        ' == "{}"')


@pytest.mark.parametrize("end", [FIN, RST], ids=["fin", "rst"])
def test_b017_cut_stream_is_no_success(one, end):
    q, r = one([head(), chunk(text("a")), 0.02, chunk(text("b")), 0.02,
                chunk(text("c")), 0.05, end])
    assert q["outcome"] in {FIN: ("truncated",),
                            RST: ("reset", "truncated")}[end]
    assert q["status"] == 200 and q["chunks"] == 3
    assert r.stoke["latency"]["e2el"]["mean"] is None


def test_b017_proper_end_without_done_or_finish(one):
    q, _ = one(lambda r: stream(text("a"), text("b"), done=False))
    assert q["outcome"] == "truncated"


@pytest.mark.parametrize("mark", [
    DONE, delta("stop") + usage(3, 2) + DONE], ids=["done", "finish"])
@stalls_spoil_a_try
def test_b091_nothing_is_missing_behind_the_end_mark(one, mark):
    """The answer is whole, but its HTTP message never ends."""
    q, r = one(lambda r: [head(), chunk(text("a") + mark), 1.5],
               "--idle-timeout", "0.3s")
    assert q["outcome"] == "ok", r
    timely(q["e2el_ms"] < 300 + SLACK, r)
    timely(r.seconds < 1.5 + SLACK / 1000, r)


def test_b030_junk_behind_the_gzip_is_no_hang_up_of_ours(one):
    """It was called cancelled, which counts as nobody's fault."""
    body = gzip.compress(text("a")) + b"junk"
    q, r = one([whole(body, "200 OK", "text/event-stream",
                      "Content-Encoding: gzip")])
    assert q["outcome"] == "malformed" and "gzip" in q["error"], q
    assert r.json["failed"] == 1


def test_b062_no_more_is_cached_than_there_is(one):
    _, r = one(lambda r: stream(text("a"), usage(
        3, 1, prompt_tokens_details={"cached_tokens": 99})))
    assert "100.0 % of the prompt tokens" in r.out + r.err


def test_b020_one_bad_answer_spoils_one_request(stoke, raw_server):
    bad = event({"object": "error", "message": "x"})
    server = raw_server(lambda r: stream(
        bad if r.index == 50 else text("fine"), done=r.index != 50))
    r = stoke.load(server.url, "-n", 100, "-c", 4)
    assert r.outcomes["ok"] == 99 and r.json["failed"] == 1, r


def test_b021_proper_end_without_payload(one):
    q, r = one(lambda r: stream(
        delta(role="assistant"), delta(content=None), delta("stop")))
    assert q["outcome"] == "empty" and q["ttft_ms"] is None


@stalls_spoil_a_try
def test_b022_late_finish_is_no_gap(one):
    q, _ = one(lambda r: stream(
        text("a"), 0.01, text("b"), 0.4, delta("stop")))
    assert len(q["itl_ms"]) == 1
    timely(q["itl_ms"][0] < 300 and q["e2el_ms"] < 400, q)


def test_b025_usage_in_chunks_is_cumulative(one):
    def part(s, n):
        return event({"choices": [{"index": 0, "delta": {"content": s}}],
                      "usage": {"prompt_tokens": 4, "completion_tokens": n}})

    q, _ = one(lambda r: stream(part("a", 1), part("b c d", 4),
                                part("e f", 6), delta("stop")))
    assert q["tokens"] == 6 and q["chunks"] == 3


@pytest.mark.parametrize("falsy", [None, False, "", {}])
def test_b026_falsy_error_is_none(one, falsy):
    q, _ = one(lambda r: stream(event({
        "choices": [{"index": 0, "delta": {"content": "a"}}],
        "error": falsy})))
    assert q["outcome"] == "ok"


@pytest.mark.parametrize("lost", [b"event: ERROR\ndata: worker lost\n\n",
                                  b"event: ERROR\n: worker lost\n\n"])
def test_b026_named_error_event(one, lost):
    q, r = one(lambda r: stream(text("a"), lost))
    assert q["outcome"] == "api_error"
    assert "worker lost" in json.dumps(r.stoke["errors"])


def plain(content="Hello there", **more):
    message = {"role": "assistant", "content": content, **more}
    return {"object": "chat.completion",
            "choices": [{"index": 0, "message": message,
                         "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 512}}


def test_b027_plain_answer_has_no_ttft(one):
    q, r = one([whole(plain())], "--no-stream")
    assert q["outcome"] == "ok" and q["ttft_ms"] is None
    assert q["tpot_ms"] is None and not q["itl_ms"]
    assert q["e2el_ms"] > 0 and q["tokens"] == 512
    assert r.server.requests[0].json.get("stream") in (None, False)


def test_b027_server_that_does_not_stream_is_told(one):
    q, r = one([whole(plain())])
    assert q["outcome"] == "ok" and q["ttft_ms"] is None
    assert "application/json" in r.err + r.out


@stalls_spoil_a_try
def test_b030_compressed_in_spite_of_identity(one):
    def answer(request):
        pack = zlib.compressobj(wbits=31)
        yield head("200 OK", "text/event-stream", "Content-Encoding: gzip")
        for piece in (text("a"), text("b"), DONE):
            yield chunk(pack.compress(piece) + pack.flush(zlib.Z_SYNC_FLUSH))
            yield 0.05
        yield chunk(pack.flush()) + END

    q, r = one(answer)
    assert r.server.requests[0].headers.get("accept-encoding",
                                            "identity") == "identity"
    assert q["outcome"] == "ok" and q["chunks"] == 2
    timely(q["itl_ms"][0] > 30, q)


def test_b030_unknown_encoding_is_no_empty_success(one):
    q, r = one([whole(gzip.compress(text("a") + DONE), "200 OK",
                      "text/event-stream", "Content-Encoding: br")])
    assert q["outcome"] not in ("ok", "empty")


@stalls_spoil_a_try
def test_b031_choices_side_by_side(one):
    steps = []
    for k in range(6):
        steps += [0.03, delta(index=k % 2, content="x")]
    q, _ = one(lambda r: stream(*steps, delta("stop"), delta("stop", index=1)),
               "--extra-body", '{"n": 2}')
    assert q["chunks"] == 6 and len(q["itl_ms"]) == 4
    timely(min(q["itl_ms"]) >= 50, q)


def test_b031_rising_index_is_one_choice(one):
    q, _ = one(lambda r: stream(
        *(delta(index=k, content="x") for k in (1, 2, 3))))
    assert q["chunks"] == 3 and len(q["itl_ms"]) == 2


def test_b032_large_event(one):
    q, r = one(lambda r: stream(text("x" * 5_000_000), delta("stop")))
    assert q["outcome"] == "ok" and q["chunks"] == 1


def test_b032_too_large_event(one):
    piece = b"x" * 1_000_000
    q, r = one(lambda r: [head(), chunk(b"data: "),
                          *[chunk(piece)] * 30, END])
    assert q["outcome"] == "malformed"
