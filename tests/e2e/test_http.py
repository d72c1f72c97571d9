"""s:http: any other exchange, measured apart."""

import json

import pytest
from harness.raw import delta, stream, text, usage, whole
from harness.stalls import stalls_spoil_a_try, timely

pytestmark = pytest.mark.asan


def answer(request):
    if request.path.startswith("/v1/chat"):
        return stream(text("yes"), delta("stop"), usage(3, 1))
    if request.path.startswith("/missing"):
        return [whole({"error": {"message": "not here"}}, "404 Not Found")]
    return [whole({"path": request.path, "got": request.body.decode()})]


@pytest.fixture
def script(stoke, raw_server, tmp_path):
    def run(body, *flags, **keywords):
        (tmp_path / "case.lua").write_text(
            "return { session = function(s)\n" + body + "\nend }")
        server = raw_server(answer)
        r = stoke.load(server.url, "case.lua", *flags, **keywords)
        r.server = server
        return r

    return run


def test_it_is_measured_apart(script):
    r = script("""
    local r = s:http { path = "/search?q=" .. s.id, name = "search" }
    assert(r.ok and r.status == 200 and r:json().path == "/search?q=" .. s.id)
    assert(r.body:find("search") and r.headers["content-type"])
    local t = s:http { path = "/tokenize", body = { text = "x", n = s.id } }
    assert(t:json().got == '{"n":' .. s.id .. ',"text":"x"}', t.body)
    assert(s.turn == 0)
    s:request { prompt = "x" }
    assert(s.turn == 1)
    local m = s:http { path = "/missing" }
    assert(not m.ok and m.status == 404 and m.error, m.error)""",
               "--num-sessions", 3, "-c", 2)
    assert r.outcomes == {"ok": 3} and r.json["completed"] == 3
    http = r.stoke["http"]
    assert set(http) == {"search", "/tokenize", "/missing"}
    assert (http["search"]["count"], http["search"]["failed"]) == (3, 0)
    assert http["search"]["latency"]["count"] == 3
    assert (http["/missing"]["count"], http["/missing"]["failed"]) == (3, 3)
    kinds = [q.get("kind") for q in r.requests]
    assert kinds.count("http") == 9 and kinds.count(None) == 3
    assert {q["name"] for q in r.requests if q.get("kind")} == set(http)
    assert r.stoke["sessions"]["turns_done"] == 3
    assert "search" in r.out


def test_methods_headers_and_bodies(script):
    r = script("""
    s:http { path = "/a" }
    s:http { path = "/b", body = "plain", headers = { ["X-A"] = "1",
             ["Content-Type"] = "text/plain" } }
    s:http { path = "/c", method = "DELETE" }
    s:http { path = "/d", method = "PUT", body = { 1, 2 } }
    s:request { prompt = "x" }""", "--num-sessions", 1, "--api-key", "secret")
    a, b, c, d, chat = r.server.requests
    assert [q.method for q in (a, b, c, d)] == ["GET", "POST", "DELETE", "PUT"]
    assert b.body == b"plain" and d.body == b"[1,2]"
    assert b.headers["x-a"] == "1" and b.headers["content-type"] == "text/plain"
    assert d.headers["content-type"] == "application/json"
    assert all(q.headers["authorization"] == "Bearer secret"
               for q in (a, b, c, d, chat))


def test_the_key_is_for_the_server_alone(script, raw_server):
    other = raw_server(answer)
    r = script(f"""
    local r = s:http {{ url = "{other.url}/find", body = {{ q = 1 }} }}
    assert(r.ok, r.error)
    s:http {{ url = "{other.url}" }}
    s:request {{ prompt = "x" }}""", "--num-sessions", 1, "--api-key",
               "secret", "-H", "X-Mine: 1")
    assert r.outcomes == {"ok": 1} and len(other.requests) == 2
    for q in other.requests:
        assert "authorization" not in q.headers and "x-mine" not in q.headers
    assert other.requests[0].headers["content-type"] == "application/json"
    assert "x-mine" in r.server.requests[0].headers
    assert f"{other.url}/find" in r.stoke["http"]


def test_an_absolute_address_of_the_server_gets_the_key(script, stoke,
                                                        raw_server, tmp_path):
    server = raw_server(answer)
    (tmp_path / "own.lua").write_text(f"""return {{ session = function(s)
      s:http {{ url = "{server.url}/a" }}
      s:http {{ url = "{server.url}0/a" }}
      s:request {{ prompt = "x" }} end }}""")
    stoke.load(server.url, "own.lua", "--num-sessions", 1, "--api-key", "k")
    assert server.requests[0].headers["authorization"] == "Bearer k"


@stalls_spoil_a_try
def test_timeouts_and_nobody_there(script, raw_server):
    slow = raw_server(lambda r: [30, whole({})])
    r = script(f"""
    local r = s:http {{ url = "{slow.url}", timeout = 0.2 }}
    s:log("first: " .. r.outcome)
    r = s:http {{ url = "http://127.0.0.1:1/", timeout = "5s" }}
    assert(r.outcome == "connect", r.outcome)
    s:request {{ prompt = "x" }}""", "--num-sessions", 1)
    assert r.outcomes == {"ok": 1} and r.seconds < 25
    # A stall may leave not even a connection in time.
    timely("first: timeout_connect" not in r.err, r)
    assert "first: timeout_total" in r.err


@pytest.mark.parametrize("table, words", [
    ('{ path = "/a", heders = {} }', "unknown field 'heders'; did you mean"),
    ("{}", "give a url or a path"),
    ('{ path = "/a", url = "http://x/" }', "give a url or a path"),
    ('{ path = "a" }', "path must begin with /"),
    ('{ url = "ftp://x" }', "url must begin with"),
    ('{ path = "/a", method = "get it" }', "method must be"),
    ('"/a"', "takes a table"),
])
def test_wrong_tables_are_told(script, table, words):
    r = script(f"s:http({table})", "--num-sessions", 1, code=1)
    assert "case.lua:2: s:http" in r.err and words in r.err


def test_cancelled_with_its_session(script, raw_server):
    slow = raw_server(lambda r: [30, whole({})])
    r = script(f"""
    s:parallel {{
      function(b) b:http {{ url = "{slow.url}" }} end,
      function(b) b:request {{ prompt = "x" }} b:fail("enough") end }}""",
               "--num-sessions", 1, code=1)
    lines = [q for q in r.requests if q.get("kind")]
    assert [q["outcome"] for q in lines] == ["cancelled"] and r.seconds < 20
    assert json.dumps(r.stoke["sessions"]).count("enough") == 1


@pytest.fixture
def around(stoke, raw_server, tmp_path):
    """A run with setup and teardown of these bodies."""

    def run(setup, teardown="", *flags, server=None, **keywords):
        (tmp_path / "case.lua").write_text(f"""return {{
        setup = function(run) {setup} end,
        teardown = function(run) {teardown} end,
        request = function(ctx) return {{ prompt = ctx.data or "x" }} end }}""")
        server = server or raw_server(answer)
        r = stoke.load(server.url, "case.lua", "-n", 2, *flags, **keywords)
        r.server = server
        return r

    return run


def test_run_http_before_and_after(around):
    r = around("""
    local r = run:http { path = "/load", body = { a = 1 } }
    assert(r.ok and r.status == 200 and r.headers["content-type"])
    return r:json().got""", """
    assert(run:http { path = "/unload", method = "DELETE" }.ok)""",
               "--api-key", "secret")
    first, *chats, last = r.server.requests
    assert (first.method, first.path) == ("POST", "/load")
    assert (last.method, last.path) == ("DELETE", "/unload")
    assert {q.json["messages"][0]["content"] for q in chats} == {'{"a":1}'}
    assert first.headers["authorization"] == "Bearer secret"
    assert r.outcomes == {"ok": 2} and r.stoke["http"] == {}


def test_run_http_failures_do_not_raise(around, raw_server):
    other = raw_server(answer)
    r = around(f"""
    local r = run:http {{ path = "/missing" }}
    assert(not r.ok and r.status == 404 and r.error, r.outcome)
    r = run:http {{ url = "http://127.0.0.1:1/" }}
    assert(r.outcome == "connect" and r.status == nil, r.outcome)
    assert(run:http {{ url = "{other.url}/x" }}.ok)""", "", "--api-key", "k")
    assert r.outcomes == {"ok": 2}
    assert "authorization" not in other.requests[0].headers


def test_run_http_mistakes_stop_before_the_load(around):
    r = around('run:http { pth = "/a" }', code=2)
    assert "case.lua:2: run:http: unknown field 'pth'" in r.err
    assert not r.server.requests
