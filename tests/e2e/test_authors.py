"""What people write: each scenario of tests/data/scenarios as its author
would run it, and what the server got."""

import base64
import hashlib
import hmac
import json
from pathlib import Path

import pytest
from harness.raw import delta, stream, text, usage, whole

pytestmark = pytest.mark.asan

SCENARIOS = Path(__file__).resolve().parents[1] / "data" / "scenarios"


@pytest.fixture
def run(stoke, mock):
    """run(name, *flags, server=[…]) -> the result; `log` and `bodies` are what
    the mock got."""
    def go(name, *flags, server=(), **keywords):
        m = mock("--ttft", "2ms", "--itl", "1ms", "--log-bodies",
                 "--log-headers", *server)
        r = stoke.load(m.url, SCENARIOS / (name + ".lua"), *flags, **keywords)
        r.log = [q for q in m.stop() if q.get("body")]
        r.bodies = [json.loads(q["body"]) for q in r.log]
        return r
    return go


def test_tools_and_retries(run):
    r = run("tools_and_retries", server=["--tool-calls", 2, "--fault",
                                         "status:503@/3"])
    assert r.stoke["sessions"]["completed"] + r.stoke["sessions"][
        "failed"] == 10
    custom = r.stoke["custom"]
    assert custom["retries"]["sum"] >= r.outcomes["http_5xx"] - 10 > 0
    # However often it was tried: one question, and two answers a call.
    for body in r.bodies:
        roles = [m["role"] for m in body["messages"]]
        rounds = len(roles[2:]) // 3
        assert roles == ["system", "user"] + rounds * [
            "assistant", "tool", "tool"]
        assert (body.get("tool_choice") == "none") == (rounds == 3)
    assert r.stoke["thresholds"][0]["ok"] is True


def test_cached_retrieval(run):
    r = run("cached_retrieval")
    hits = r.stoke["custom"]["hits"]
    assert hits["count"] == 30
    assert r.stoke["http"]["search"]["count"] == 30 - hits["passed"]
    tags = r.stoke["tags"]["cache"]
    assert tags["hit"]["completed"] == hits["passed"]
    assert tags["miss"]["completed"] == 30 - hits["passed"]


def test_tenants(run):
    r = run("tenants", "-H", "Authorization: Bearer of-the-run")
    heads = [{k.lower(): v for k, v in q["headers"]} for q in r.log]
    keys = {(h["x-tenant"], h["authorization"]) for h in heads}
    assert keys == {(t, "Bearer sk-" + t)
                    for t in ("acme", "globex", "initech")}
    counts = {k: v["completed"] for k, v in r.stoke["tags"]["tenant"].items()}
    assert sum(counts.values()) == 40
    assert counts["acme"] > counts["initech"]


def test_two_models(run):
    r = run("two_models", "-n", 30, "-c", 3)
    sent = {m: sum(b["model"] == m for b in r.bodies)
            for m in ("small", "large")}
    custom = r.stoke["custom"]
    assert sent["small"] == custom["words_a"]["count"] > 0
    assert sent["large"] == custom["words_b"]["count"] > 0
    assert custom["words_b"]["mean"] > custom["words_a"]["mean"]
    assert "TTFT p50: a " in r.out


def test_interrupts(run):
    r = run("interrupts")
    assert r.outcomes == {"ok": 12, "cancelled": 6}
    assert r.stoke["sessions"]["completed"] == 6
    last = [b["messages"] for b in r.bodies if len(b["messages"]) == 6]
    assert len(last) == 6
    for m in last:
        # Three words of the story, and no more.
        assert m[2]["role"] == "assistant"
        assert 0 < len(m[2]["content"].split()) <= 4


def test_picture(run):
    r = run("picture", "-n", 2)
    picture = base64.b64encode((SCENARIOS / "pixel.gif").read_bytes())
    for body in r.bodies:
        assert body["messages"][0]["content"][1]["image_url"] == {
            "url": "data:image/gif;base64," + picture.decode(),
            "detail": "low"}


def test_search_pipeline(run):
    r = run("search_pipeline")
    assert r.outcomes == {"ok": 12}
    assert set(r.stoke["tags"]["step"]) == {"embed", "rank", "answer"}
    ranked = [b for b in r.bodies if "documents" in b]
    answers = [b["messages"][0]["content"].split("\n")
               for b in r.bodies if "messages" in b]
    assert len(ranked) == len(answers) == 4
    for lines in answers:
        (b,) = [b for b in ranked if b["query"] == lines[-1]]
        assert len(lines) == 3 and set(lines[:2]) <= set(b["documents"])


def test_structured(stoke, raw_server):
    said = ['{"name":"Ada","age":36}', '{"name":"Bob"}', "Sorry."]
    server = raw_server(lambda q: stream(text(said[q.index % 3]),
                                         delta("stop"), usage(3, 9)))
    r = stoke.load(server.url, SCENARIOS / "structured.lua", "-n", 9, code=99)
    assert r.outcomes == {"ok": 3, "check": 6}
    assert r.stoke["custom"]["valid"]["passed"] == 3
    words = {e["message"] for e in r.stoke["errors"]}
    assert words == {"no age", "the answer is not valid JSON (at byte 1)"}
    assert server.requests[0].json["response_format"]["json_schema"][
        "schema"]["required"] == ["name", "age"]


def test_stop_reading(run):
    r = run("stop_reading", "-n", 4, "-P", "enough=5", code=1)
    assert r.outcomes == {"cancelled": 4}
    assert r.stoke["custom"]["read"]["max"] == 5


def test_best_of(run):
    """The losers are hung up on as soon as somebody has won."""
    r = run("best_of")
    assert r.outcomes == {"ok": 6, "cancelled": 18}
    assert r.stoke["sessions"]["completed"] == 6
    assert r.stoke["custom"]["won"]["rate"] == 1
    assert r.stoke["checks"][0]["passed"] == 6
    for q in r.requests:
        if q["outcome"] == "cancelled":
            assert q["error"] == "another branch won"


def test_support_desk(run):
    r = run("support_desk", "-m", "large", server=[
        "--tool-calls", 1, "--fault", "status:503@/3"])
    custom, sessions = r.stoke["custom"], r.stoke["sessions"]
    assert sessions["completed"] + sessions["failed"] == 10
    assert custom["resolved"]["passed"] == sessions["completed"]
    assert custom["retries"]["sum"] > 0
    assert r.stoke["http"]["retrieval"]["count"] == 10
    assert {b["model"] for b in r.bodies} <= {"large", "small"}
    assert custom["fallbacks"]["sum"] == sum(
        b["model"] == "small" for b in r.bodies)
    for b in r.bodies:
        assert [m["role"] for m in b["messages"]][:2] == ["system", "user"]
        assert b["tools"][0]["function"]["name"] == "order_status"


def test_steps(run):
    """A threshold on a rate of the scenario's ends the run, as it should."""
    r = run("steps", server=["--ttft", "3s"], code=1, timeout=60)
    assert "script error" not in r.err
    assert r.stoke["thresholds"][0]["ok"] is False
    assert r.stoke["custom"]["gave_up"]["rate"] > 0.2
    assert r.json["duration"] < 30


def test_check_names_the_stage(stoke):
    r = stoke.command("scenario", "check", SCENARIOS / "steps.lua").wait()
    assert r.code == 0 and '"content":"up: ' in r.out, r


def test_signed(stoke, raw_server):
    tokens = iter(range(100))
    left = {}

    def answer(q):
        if q.path == "/token":
            n = next(tokens)
            left[f"t{n}"] = 4
            return [whole({"access_token": f"t{n}", "uses": 4})]
        left[q.headers["authorization"].split()[1]] -= 1
        return stream(text("a"), delta("stop"))

    server = raw_server(answer)
    r = stoke.load(server.url, SCENARIOS / "signed.lua", "-P", "secret=shh")
    assert r.outcomes == {"ok": 6} and sorted(left.values()) == [0, 2]
    for q in server.requests:
        if q.path != "/token":
            date = q.headers["x-date"].encode()
            key = hmac.digest(b"shh", date, "sha256")
            words = (b"POST\n" + date + b"\n" +
                     hashlib.sha256(q.body).hexdigest().encode())
            assert base64.b64decode(q.headers["x-signature"]) == hmac.digest(
                key, words, "sha256")


def test_hashes_of_any_bytes(stoke, raw_server, tmp_path):
    server = raw_server(lambda q: stream(text("a"), delta("stop")))
    (tmp_path / "s.lua").write_text(r"""
    local long = ("\0\255k"):rep(100)
    return { request = function() return { prompt = table.concat({
      stoke.hex(""), stoke.hex("\0\171\255"), stoke.hex(stoke.sha256("")),
      stoke.hex(stoke.sha256(long)), stoke.hex(stoke.hmac("", "")),
      stoke.hex(stoke.hmac(long, long)) }, " ") } end }""")
    stoke.load(server.url, "s.lua", "-n", 1)
    long = b"\0\xffk" * 100
    assert server.requests[-1].json["messages"][0]["content"].split(" ") == [
        "", "00abff", hashlib.sha256(b"").hexdigest(),
        hashlib.sha256(long).hexdigest(),
        hmac.digest(b"", b"", "sha256").hex(),
        hmac.digest(long, long, "sha256").hex()]


def test_acme(stoke, raw_server):
    def answer(q):
        def event(**fields):
            return b"data: " + json.dumps(fields).encode() + b"\n\n"

        if q.json["input"]["text"] == "Hi 4":
            return stream(event(kind="oops", problem={"message": "no more"}))
        return stream(event(kind="delta", piece={"text": "he"}),
                      event(kind="delta", piece={"text": "y"}),
                      event(kind="done", why="stop", stats={"in": 3, "out": 7}))

    server = raw_server(answer)
    r = stoke.load(server.url, SCENARIOS / "acme.lua", "-m", "e1",
                   env={"OPENAI_API_KEY": "sk-acme"})
    assert r.outcomes == {"ok": 3, "api_error": 1}
    assert r.json["total_output_tokens"] == 21
    assert r.requests[0]["finish_reason"] == "stop"
    q = server.requests[-1]
    assert q.path == "/acme/v3/write" and q.json == {
        "input": {"text": "Hi 4"}, "engine": "e1", "limit": 5, "live": True}
    assert q.headers["acme-version"] == "3"
    assert q.headers["x-acme-key"] == "sk-acme"
    assert "authorization" not in q.headers


def test_batch_again(run, tmp_path):
    rows = [("/v1/chat/completions", {"messages": [
                {"role": "user", "content": "a"}], "temperature": 1, "seed": 5}),
            ("/v1/completions", {"prompt": "b"})]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(
        {"custom_id": f"r{i}", "method": "POST", "url": url,
         "body": {"model": "gpt", "max_tokens": 4, **body}}) + "\n"
        for i, (url, body) in enumerate(rows)))
    r = run("batch_again", "-P", "file=b.jsonl", "-c", 1)
    assert [q["path"] for q in r.log[-2:]] == [url for url, _ in rows]
    assert r.bodies[-2]["messages"] == rows[0][1]["messages"]
    assert r.bodies[-1]["prompt"] == "b"
    for b in r.bodies[-2:]:
        assert b["temperature"] == 0.2 and b["seed"] is None
        assert b["model"] == "gpt" and b["stream"] is True
    assert r.stoke["tags"]["custom_id"]["r1"]["completed"] == 1


def test_from_csv(run):
    r = run("from_csv", "-n", 4)
    assert [(b["messages"][0]["content"], b["max_tokens"])
            for b in r.bodies] == [("Hello, world", 5), ('Say "hi"', 6),
                                   ("Bonjour", 7), ("Hello, world", 5)]
    assert r.stoke["tags"]["lang"]["fr"]["completed"] == 1


# ---- what they stumbled over ----


def test_numbers_of_a_csv_are_texts(stoke, raw_server, tmp_path):
    server = raw_server([])
    (tmp_path / "s.lua").write_text(
        "return { request = function()"
        " return { prompt = 'x', max_tokens = '5' } end }")
    r = stoke.load(server.url, "s.lua", "-n", 1, code=1)
    assert ("max_tokens must be a number, not string (tonumber makes one of "
            "it)") in r.err


@pytest.mark.parametrize("time, good", [
    ("0.001", True), ("'1ms'", True), ("'0.001'", True),
    ("'uniform(1ms, 2ms)'", True), ("stoke.dist 'exp(1ms)'", True),
    ("-5", True), ("'soon'", False), ("{}", False), ("nil", False),
    ("1e10", False), ("0/0", False), ("s.rng", False), ("'exp(1ms'", False),
])
def test_times_to_wait(stoke, raw_server, tmp_path, time, good):
    server = raw_server([])
    (tmp_path / "s.lua").write_text(
        "return { load = { num_sessions = 1 }, session = function(s)"
        f" s:sleep({time}) s:think({time}) end }}")
    r = stoke.load(server.url, "s.lua", code=0 if good else 1)
    assert r.stoke["sessions"]["failed"] == (0 if good else 1), r
    if not good:
        assert 'a time is seconds, "250ms", or a distribution' in r.err


@pytest.mark.parametrize("hook", ["summary", "teardown", "exit"])
def test_a_fault_at_the_end_is_a_fault(stoke, raw_server, tmp_path, hook):
    server = raw_server(lambda q: stream(text("a"), delta("stop")))
    (tmp_path / "s.lua").write_text(
        "return { request = function() return { prompt = 'x' } end, "
        f"{hook} = function(results) error('oops') end }}")
    r = stoke.load(server.url, "s.lua", "-n", 1, code=1)
    assert r.outcomes == {"ok": 1} and "s.lua:1: oops" in r.err


def test_a_run_without_a_session_that_succeeded_failed(stoke, raw_server,
                                                       tmp_path):
    server = raw_server(lambda q: stream(text("a"), delta("stop")))
    (tmp_path / "s.lua").write_text(
        "return { load = { num_sessions = 4 }, session = function(s)"
        " s:request { prompt = 'x' } if s.id > N then s:fail('no') end end }")
    script = (tmp_path / "s.lua").read_text()
    (tmp_path / "s.lua").write_text(script.replace("N", "1"))
    stoke.load(server.url, "s.lua")
    (tmp_path / "s.lua").write_text(script.replace("N", "0"))
    r = stoke.load(server.url, "s.lua", code=1)
    assert r.outcomes == {"ok": 4}


def test_sessions_of_plain_http_succeed(stoke, mock, tmp_path):
    m = mock()
    (tmp_path / "s.lua").write_text("""return {
      load = { num_sessions = 5 },
      session = function(s)
        s:check("models", s:http { path = "/v1/models" }.ok)
      end }""")
    r = stoke.load(m.url, "s.lua")
    assert r.json["completed"] == 0
    assert r.stoke["sessions"]["completed"] == 5
    assert r.stoke["checks"][0]["passed"] == 5


def test_check_knows_an_api_by_its_end(stoke, tmp_path):
    (tmp_path / "s.lua").write_text("""return {
      backends = {
        azure = { path = "/openai/deployments/x/chat/completions",
                  body = "chat", dialect = "chat", key_header = "api-key" },
        odd = { path = "/odd", body = "chat", dialect = "chat" },
      },
      request = function(ctx)
        return { endpoint = ctx.id == 1 and "azure" or "odd", prompt = "x" }
      end }""")
    r = stoke.command("scenario", "check", "s.lua", "-n", 2).wait()
    assert "1. POST /openai/deployments/x/chat/completions" in r.out
    assert "-> 200" in r.out and "1 ok" in r.out
    assert "-> 404 (the server inside this program knows no" in r.out


def test_a_load_of_sessions_is_told_in_sessions(stoke, raw_server, tmp_path):
    server = raw_server(lambda q: stream(text("a"), delta("stop")))
    (tmp_path / "s.lua").write_text("""return {
      load = { num_sessions = 5, max_concurrency = 1 },
      session = function(s)
        if s.id == 3 then return s:stop("enough") end
        s:request { prompt = "x" } s:request { prompt = "y" }
      end }""")
    r = stoke.load(server.url, "s.lua")
    assert "1 session at a time, 5 sessions" in r.err
    assert "Stopped early (script: enough): 2 of 5 sessions began." in r.out
    load = r.stoke["load"]
    assert load["num_sessions"] == 5 and load["num_requests"] is None
    assert r.json["num_prompts"] == r.json["completed"] == 4


def test_a_hook_sees_the_request_and_the_run(stoke, raw_server, tmp_path):
    server = raw_server(lambda q: stream(text("a"), delta("stop")))
    (tmp_path / "s.lua").write_text("""return {
      params = { p = { default = 5 } },
      setup = function() return { d = 6 } end,
      request = function(ctx)
        return { prompt = "x", tags = ctx.id == 1 and { a = "1", b = "x y" } or nil }
      end,
      on_response = function(r)
        assert(r.params.p == 5 and r.data.d == 6)
        assert(r.id > 1 or r.tags.a == "1" and r.tags.b == "x y")
        assert(r.id == 1 or next(r.tags) == nil)
      end }""")
    r = stoke.load(server.url, "s.lua", "-n", 2)
    assert r.outcomes == {"ok": 2}


def test_an_embeddings_answer_is_its_body(stoke, raw_server, tmp_path):
    answer = {"data": [{"embedding": [0.5, 1]}], "usage": {"prompt_tokens": 1}}
    server = raw_server(lambda q: [whole(answer)])
    (tmp_path / "s.lua").write_text("""return {
      request = function() return { endpoint = "embeddings", prompt = "x" } end,
      on_response = function(r)
        assert(r:json().data[1].embedding[1] == 0.5 and #r.body > 10)
      end }""")
    r = stoke.load(server.url, "s.lua", "-n", 2)
    assert r.outcomes == {"ok": 2}


@pytest.mark.parametrize("words, good", [("1", True), ("uniform(0, 2)", True),
                                         ("0", False), ("uniform(0, 0)", False)])
@pytest.mark.parametrize("name, parameter", [
    ("completions", "words"), ("embeddings", "words"),
    ("long_context", "words"), ("rag", "words"), ("prefix_cache", "words")])
def test_b097_no_prompt_is_empty(stoke, mock, name, parameter, words, good):
    if name in ("rag", "prefix_cache") and "uniform" in words:
        pytest.skip("a whole number")
    m = mock("--ttft", "1ms", "--itl", "1ms", "--log-bodies")
    r = stoke.run(name, "-u", m.url, "-m", "m", "--no-preflight", "-n", 4,
                  "-P", f"{parameter}={words}", code=0 if good else 2)
    if not good:
        assert "must be at least 1" in r.err
    for q in m.stop():
        body = json.loads(q["body"])
        said = body.get("prompt") or body.get("input") or body["messages"]
        assert said and said[-1]


@pytest.mark.parametrize("lua, words", [
    ("s.request { prompt = 'x' }", "is it called with a colon"),
    ("s.rng.words(3)", "is it called with a colon"),
    ("s:conversation {}.ask('x')", "ask is called with a colon"),
    ("s:conversation {}.ask()", "ask is called with a colon"),
    ("coroutine.yield()", "the session yielded by itself"),
    ("s:parallel { function() coroutine.yield() end }",
     "the session yielded by itself"),
    ("s:request { messages = { role = 'user', content = 'x' } }",
     "messages must be a list, and has names as keys"),
    ("s:request { prompt = 'x', tools = { type = 'function' } }",
     "tools must be a list, and has names as keys"),
    ("s:request { prompt = 'x', endpoint = '/v1/chat completions' }",
     "has a blank or a control character"),
    ("s:request { prompt = 'x', endpoint = '/v1/x\\r\\nA: b' }",
     "has a blank or a control character"),
    ("s:http { path = '/a b' }", "has a blank or a control character"),
    ("s:http { url = 'http://h/a\\0b' }", "has a blank or a control character"),
    ("s:request { prompt = 'x', prompt_tokens = -1 }",
     "prompt_tokens must be from 0 to"),
    ("s:request { prompt = 'x', tags = { stage = 'a' } }",
     "'stage' is a word of thresholds"),
])
def test_mistakes_say_what_to_do(stoke, raw_server, tmp_path, lua, words):
    """With their place, once; and the run ends, though nothing is ever sent
    that -n could count."""
    server = raw_server([])
    (tmp_path / "s.lua").write_text(
        "return { session = function(s)\n  " + lua + "\nend }")
    r = stoke.load(server.url, "s.lua", "-n", 1, code=1)
    assert r.err.count("script error in session: s.lua:2: ") == 1
    assert words in r.err
    assert r.stoke["stop_reason"] == "script: more than 10 script errors"
    assert r.stoke["sessions"]["failed"] == 11 and not server.requests


def test_no_patience_is_to_hang_up_at_once(stoke, raw_server, tmp_path):
    """Before there is a connection as well, which is no time-out."""
    server = raw_server(lambda q: [60, *stream(text("a"), delta("stop"))])
    (tmp_path / "s.lua").write_text(
        "return { request = function()"
        " return { prompt = 'x', cancel_after = { seconds = 0 } } end }")
    r = stoke.load(server.url, "s.lua", "-n", 2, code=1)
    assert r.outcomes == {"cancelled": 2}


def test_a_request_without_a_return_is_told(stoke, raw_server, tmp_path):
    server = raw_server([])
    (tmp_path / "s.lua").write_text(
        "return { request = function() local t = { prompt = 'x' } end }")
    r = stoke.load(server.url, "s.lua", "-d", "30s", code=1)
    assert "nothing to send; is a return missing?" in r.out


@pytest.mark.parametrize("lua", [
    "error({})", "error('no place', 0)", "s:conversation { history = 3 }",
    "s:conversation {}:add(3)", "s:conversation {}:ask('x', { tokens = 3 })",
    "local x = require('more')\n x.fail()",
])
def test_every_error_has_the_line_of_its_call(stoke, raw_server, tmp_path,
                                              lua):
    """Not that of the hook's beginning, which all of them would share."""
    server = raw_server([])
    (tmp_path / "more.lua").write_text(
        "local M = {}\nfunction M.fail() error({}) end\nreturn M")
    (tmp_path / "s.lua").write_text(
        "return { session = function(s)\n\n  " + lua + "\nend }")
    r = stoke.load(server.url, "s.lua", "-n", 1, code=1)
    place = "more.lua:2: " if "more" in lua else "s.lua:3: "
    assert "script error in session: " + place in r.err
