"""Scripts from the command line: the ready scenarios, and what a script of
one's own may say and is told."""

import json

import pytest
from harness.raw import delta, stream, text, usage

pytestmark = pytest.mark.asan


@pytest.fixture
def server(raw_server):
    return raw_server(lambda r: stream(text("one "), text("two"),
                                       delta("stop"), usage(3, 2)))


@pytest.fixture
def script(stoke, server, tmp_path):
    """script(lua, *flags) runs it against the server."""

    def run(lua, *flags, **keywords):
        (tmp_path / "case.lua").write_text(lua)
        r = stoke.load(server.url, "case.lua", *flags, **keywords)
        r.server = server
        return r

    return run


def prompts(server):
    return [q.json["messages"][-1]["content"] for q in server.requests]


@pytest.mark.parametrize("name", ["chat", "haiku"])
def test_ready_chat_scenarios(stoke, server, name):
    r = stoke.load(server.url, name, "-n", 8, "-c", 2)
    assert r.outcomes == {"ok": 8}
    assert r.stoke["scenario"]["name"] == name
    assert all(prompts(server)) and len(set(prompts(server))) > 1


def test_ready_completions(stoke, raw_server):
    server = raw_server(lambda r: stream(
        b'data: {"choices":[{"index":0,"text":"x","finish_reason":"stop"}]}\n\n'))
    r = stoke.load(server.url, "completions", "-n", 4)
    assert r.outcomes == {"ok": 4}
    assert {q.path for q in server.requests} == {"/v1/completions"}
    assert all(q.json["prompt"] for q in server.requests)


def test_chat_is_the_default(stoke, server):
    r = stoke.load(server.url, "-n", 1)
    assert r.stoke["scenario"]["name"] == "chat"


def test_prompts_from_a_file(stoke, server, tmp_path):
    (tmp_path / "prompts.txt").write_text("\ufeffFirst one\nSecond one\n",
                                          "utf-8")
    stoke.load(server.url, "chat", "-n", 10, "-P", "file=prompts.txt")
    assert set(prompts(server)) == {"First one", "Second one"}


def test_params_args_and_rng(script):
    lua = """
    return {
      params = { word = { default = "none" }, times = { default = 2 } },
      request = function(ctx)
        return { prompt = ctx.params.word:rep(ctx.params.times)
          .. ctx.args[1] .. ctx.id .. ":" .. ctx.rng:int(1, 1000000) }
      end,
    }"""
    a = script(lua, "-n", 3, "-c", 1, "-P", "word=hey", "-P", "times=3",
               "--seed", 4, "--", "--tail")
    first = prompts(a.server)
    assert [p.split(":")[0] for p in first] == [
        f"heyheyhey--tail{i}" for i in (1, 2, 3)]
    a.server.requests.clear()
    b = script(lua, "-n", 3, "-c", 1, "-P", "word=hey", "-P", "times=3",
               "--seed", 4, "--", "--tail")
    assert prompts(b.server) == first


def test_setup_gives_data_to_every_worker(script):
    r = script("""
    return {
      setup = function(run) return { greeting = "hello", list = { 1, 2 } } end,
      request = function(ctx)
        return { prompt = ctx.data.greeting .. #ctx.data.list }
      end,
    }""", "-n", 4, "--threads", 2)
    assert set(prompts(r.server)) == {"hello2"}


def test_on_response_judges(script):
    r = script("""
    return {
      request = function() return { prompt = "x" } end,
      on_response = function(r)
        if r.text ~= "one two" or r.tokens ~= 2 or not r.ok then return end
        if r.ttft > r.e2el or r.finish_reason ~= "stop" then return end
        return false, "too short"
      end,
    }""", "-n", 3, code=1)
    assert r.outcomes == {"check": 3}
    assert r.stoke["errors"][0]["message"] == "too short"


def test_request_nil_ends_the_run(script):
    r = script("""
    return { request = function(ctx)
      if ctx.id <= 5 then return { prompt = "x" } end
    end }""", "-d", 30)
    assert r.outcomes == {"ok": 5} and r.seconds < 15


def test_summary_goes_to_custom_and_to_the_terminal(script):
    r = script("""
    return {
      request = function() return { prompt = "x" } end,
      summary = function(results) return { answer = 42 } end,
    }""", "-n", 2)
    assert r.stoke["custom"]["answer"] == 42
    r = script("""
    return {
      request = function() return { prompt = "x" } end,
      summary = function(results) return "all " .. results.completed end,
    }""", "-n", 2)
    assert "all 2" in r.out


@pytest.mark.parametrize("lua, words", [
    ("return {", "case.lua:1"),
    ("return 5", "table"),
    ("return {}", "request"),
    ("return { request = 5 }", "request"),
    ("return { requests = function() end }", "requests"),
    ("os.execute('true') return {}", "case.lua:1"),
])
def test_scripts_that_do_not_load_send_nothing(script, lua, words):
    r = script(lua, "-n", 2, code=2)
    assert words in r.err and not r.server.requests


def test_all_wrong_params_are_told_at_once(script):
    r = script("""
    return { params = { size = { default = 1, max = 9 },
                        kind = { default = "a", choices = { "a", "b" } } },
             request = function() return { prompt = "x" } end }""",
               "-P", "size=99", "-P", "kind=c", "-P", "knd=a", code=2)
    for word in ("size", "kind", "knd"):
        assert word in r.err
    assert not r.server.requests


def test_run_time_errors_name_their_place(script):
    r = script("""
    return { request = function(ctx)
      if ctx.id == 2 then error("what now") end
      return { prompt = "x" }
    end }""", "-n", 4)
    assert r.outcomes == {"ok": 3, "script": 1}
    assert "case.lua:3" in r.err and "what now" in r.err
    assert "case.lua:3" in json.dumps(r.stoke["errors"])


def test_a_script_that_always_fails_stops_the_run(script):
    r = script("return { request = function() error('no') end }", "-n", 5000,
               code=1)
    assert r.json["failed"] < 5000 and not r.server.requests


@pytest.mark.parametrize("lua", [
    "io.open('/etc/passwd')", "os.execute('true')", "require('ffi')",
    "debug.getregistry()", "io.popen('true')",
    "loadstring('\\27LJ')()"])
def test_scripts_are_boxed(script, lua):
    r = script(f"""
    return {{ request = function()
      {lua}
      return {{ prompt = "out of the box" }}
    end }}""", "-n", 1, code=None)
    assert not r.server.requests and r.code != 0


def test_memory_of_a_script_has_a_ceiling(script):
    r = script("""
    return { request = function()
      local t = {}
      for i = 1, 1e8 do t[i] = ("x"):rep(1000) .. i end
      return { prompt = "x" }
    end }""", "-n", 1, "--lua-memory", "32M", code=1)
    assert "memory" in r.err


def test_ready_messages_bodies_and_headers(script):
    r = script("""
    return { request = function(ctx)
      if ctx.id == 1 then return { body = '{"raw":true}' } end
      return { messages = { { role = "system", content = "s" },
                            { role = "user", content = "u" } },
               temperature = 0.5, stop = { "x" }, headers = { ["X-A"] = "b" },
               extra = { deep = { er = 1 } } }
    end }""", "-n", 2, "-c", 1)
    raw, cooked = r.server.requests
    assert raw.body == b'{"raw":true}'
    assert [m["role"] for m in cooked.json["messages"]] == ["system", "user"]
    assert cooked.json["temperature"] == 0.5 and cooked.json["stop"] == ["x"]
    assert cooked.json["deep"] == {"er": 1} and cooked.headers["x-a"] == "b"


@pytest.mark.interrupts
@pytest.mark.parametrize("loop", [
    "while true do end",
    "local s = ('a'):rep(40) s:find(('a?'):rep(40) .. ('a'):rep(40))"])
def test_a_hook_that_never_returns_ends_the_run(script, loop):
    r = script("return { request = function(ctx)\n"
               f"if ctx.id == 5 then {loop} end\n"
               "return { prompt = 'x' } end }", "-n", 100000, "-c", 2, code=1)
    assert "case.lua:1: request did not return" in r.err
    assert r.json["completed"] == 4
    assert r.stoke["stop_reason"].startswith("script: ")
