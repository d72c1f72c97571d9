"""Hooks that run while an answer streams in."""

import json

import pytest
from harness.raw import FIN, delta, stream, text, usage

pytestmark = pytest.mark.asan


def event(raw_json_string):
    return (b'data: {"choices":[{"index":0,"delta":{"content":"'
            + raw_json_string + b'"}}]}\n\n')


@pytest.fixture
def run(stoke, raw_server, tmp_path):
    """run(hooks, steps, *flags): a request scenario with these hooks."""

    def go(hooks, steps, *flags, work=None, **keywords):
        server = raw_server(lambda r: stream(*steps))
        work = work or "request = function() return { prompt = 'x' } end"
        (tmp_path / "case.lua").write_text(
            f"local said = print return {{ {work},\n{hooks} }}")
        r = stoke.load(server.url, "case.lua", *flags, **keywords)
        r.server = server
        return r

    return go


THREE = [text("one "), 0.02, text("two "), 0.02, text("three"), delta("stop"),
         usage(3, 3)]


def test_every_chunk_in_order(run):
    r = run("""
    on_chunk = function(r, text)
      print(r.chunks .. "|" .. text .. "|" .. r.text .. "|" .. r.status)
    end""", THREE, "-n", 1)
    assert r.outcomes == {"ok": 1}
    lines = [q for q in (r.out + r.err).splitlines() if q.count("|") == 3]
    assert lines == ["1|one |one |200", "2|two |one two |200",
                     "3|three|one two three|200"]


def test_events_of_one_read_are_told_apart(run):
    r = run("""
    on_chunk = function(r, text)
      local n = tonumber(text:match("%d+"))
      if n ~= r.chunks or r.text ~= r.text then error("at " .. text) end
    end""", [b"".join(text(f"{i} ") for i in range(1, 400)), delta("stop")],
            "-n", 4, "-c", 2)
    assert r.outcomes == {"ok": 4}
    assert {q["chunks"] for q in r.requests} == {399}


@pytest.mark.parametrize("pieces, texts", [
    ([b"a\\\"b\\n", b"c"], ['a"b\n', "c"]),
    ([b"\\ud83d", b"\\ude00!"], ["", "\U0001f600!"]),
    (["\u4f60\u597d".encode(), b"\\u4f60"], ["\u4f60\u597d", "\u4f60"]),
    ([b"\\ud83d", b"x"], ["", "\ufffdx"]),
])
def test_chunks_are_whole_characters(run, pieces, texts):
    r = run("""
    on_chunk = function(r, text) print("<" .. stoke.json.encode(text)) end
    """, [event(p) for p in pieces] + [delta("stop")], "-n", 1)
    assert r.outcomes == {"ok": 1}
    seen = [json.loads(q[1:]) for q in (r.out + r.err).splitlines()
            if q.startswith("<")]
    assert seen == texts


def test_false_hangs_up(run):
    steps = [p for i in range(100) for p in (text(f"{i} "), 0.02)]
    r = run("on_chunk = function(r) return r.chunks < 3 end",
            steps + [delta("stop")], "-n", 3, "-c", 3, code=1)
    assert r.outcomes == {"cancelled": 3}
    for q in r.requests:
        assert q["chunks"] == 3 and "hung up" in q["error"]
    assert r.seconds < 20


def test_hanging_up_at_the_last_moment_is_hanging_up(run):
    r = run("on_chunk = function(r, t) if t == 'b' then return false end end",
            [text("a") + text("b") + delta("stop")], "-n", 2, code=1)
    assert r.outcomes == {"cancelled": 2}


def test_first_token_once(run):
    r = run("""
    on_first_token = function(r)
      print("first", r.id, r.turn, r.chunks, r.ttft > 0, r.ttft < 5,
            r.headers["content-type"])
    end,
    on_response = function(r) print("last", r.id) end""", THREE, "-n", 3)
    assert r.outcomes == {"ok": 3}
    lines = [q for q in (r.out + r.err).splitlines()
             if q.startswith(("first", "last"))]
    assert lines == [q for i in (1, 2, 3) for q in (
        f"first\t{i}\t1\t1\ttrue\ttrue\ttext/event-stream", f"last\t{i}")]


@pytest.mark.parametrize("hook, words", [
    ("on_chunk = function(r, t) error('no ' .. t) end", "case.lua:2: no one "),
    ("on_first_token = function(r) local x = nil; x.y = 1 end", "case.lua:2:"),
    ("on_chunk = function(r) return 5 end", "on_chunk returned a number"),
])
def test_errors_of_hooks_fail_their_request(run, hook, words):
    r = run(hook, THREE, "-n", 3, code=1)
    assert r.outcomes == {"script": 3}
    assert words in r.err and r.err.count("script error in") == 1
    assert all(words in q["error"] for q in r.requests)


def test_errors_past_the_limit_stop_the_run(run):
    r = run("on_chunk = function() error('no') end", THREE, "-n", 5000,
            "-c", 8, code=1)
    assert "script" in r.stoke["stop_reason"] and r.json["failed"] < 200


def test_a_response_is_gone_after_its_hook(run):
    r = run("""
    on_first_token = function(r) kept = r end,
    on_response = function(r)
      local ok, why = pcall(function() return kept.text end)
      if not ok then return false, why end
    end""", THREE, "-n", 1, code=None)
    assert r.outcomes in ({"ok": 1}, {"check": 1})


def test_hooks_in_sessions(run):
    r = run("on_chunk = function(r, t) return not t:find('two') end", THREE,
            "--num-sessions", 2, code=1,
            work="""session = function(s)
              for i = 1, 2 do
                local r = s:request { prompt = "x" }
                if r.outcome ~= "cancelled" or r.text ~= "one two " then
                  error(r.outcome .. r.text)
                end
              end
              s:parallel { function(b) b:request { prompt = "y" } end }
            end""")
    assert r.outcomes == {"cancelled": 6}


def test_a_last_event_without_its_end(run):
    r = run("on_chunk = function(r, t) print('<' .. t) end",
            [text("a"), text("b")[:-2], FIN], "-n", 1, code=None)
    assert "<a" in r.out + r.err


def test_stop_from_a_hook(run):
    r = run("on_chunk = function() stoke.stop('seen enough') end", THREE,
            "-d", 30)
    assert r.seconds < 20 and "seen enough" in r.stoke["stop_reason"]


@pytest.mark.interrupts
def test_a_hook_that_never_returns_ends_the_run(run):
    r = run("on_chunk = function() while true do end end", THREE, "-n", 10,
            code=1, timeout=60)
    assert "did not return" in r.err
