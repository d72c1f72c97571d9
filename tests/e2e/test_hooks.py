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


def seen(r, mark="<"):
    """What the hooks printed behind the mark."""
    return [q[len(mark):] for q in (r.out + r.err).splitlines()
            if q.startswith(mark)]


# Events of one read are collected before the hooks see them.
@pytest.mark.parametrize("stop", [1, 2, 7, 399])
def test_what_came_behind_a_hang_up_has_not_come(run, stop):
    r = run(f"""
    on_chunk = function(r, t) if r.chunks == {stop} then return false end end,
    on_response = function(r)
      print("<" .. #r.text .. " " .. r.chunks .. " " .. tostring(r.usage)
            .. " " .. tostring(r.finish_reason) .. " " .. r.outcome)
    end""", [b"".join(text("ab") for _ in range(400)) + delta("stop")
             + usage(3, 400)], "-n", 1, code=1)
    assert seen(r) == [f"{2 * stop} {stop} nil nil cancelled"]
    assert r.requests[0]["chunks"] == stop
    assert len(r.requests[0]["itl_ms"]) == stop - 1


def test_hooks_know_no_more_than_had_come(run):
    """Though usage and more stand in the same read."""
    r = run("""
    on_chunk = function(r, t)
      print("<" .. t .. "|" .. r.text .. "|" .. r.reasoning .. "|"
            .. tostring(r.finish_reason) .. "|"
            .. tostring(r.usage and r.usage.completion_tokens))
    end""", [delta(reasoning_content="hm") + delta(reasoning_content="!")
             + text("a") + text("b") + usage(3, 2) + text("c")
             + delta("stop") + text("d")], "-n", 1)
    assert seen(r) == ["hm||hm|nil|nil", "!||hm!|nil|nil", "a|a|hm!|nil|nil",
                       "b|ab|hm!|nil|nil", "c|abc|hm!|nil|2",
                       "d|abcd|hm!|nil|2"]


def test_several_choices_in_one_read(run):
    r = run("""request = function() return { prompt = "x", extra = { n = 2 } } end,
    on_chunk = function(r, t) print("<" .. t .. "|" .. r.text) end""",
            [b"".join(text(f"{c}{i} ", index=c) for i in range(3)
                      for c in (0, 1)) + delta("stop") + delta("stop", index=1)],
            "-n", 1, work="name = 'two'")
    assert seen(r) == ["00 |00 ", "10 |00 ", "01 |00 01 ", "11 |00 01 ",
                       "02 |00 01 02 ", "12 |00 01 02 "]


@pytest.mark.parametrize("after, texts, whole", [
    ("\\ud83d", ["a", "", "c"], ["a", "a", "a\ufffdc"]),
    ("\\n", ["a", "\n", "c"], ["a", "a\n", "a\nc"]),
])
def test_escapes_within_one_read(run, after, texts, whole):
    r = run("""
    on_chunk = function(r, t) print("<" .. stoke.json.encode{ t, r.text }) end
    """, [event(b"a") + event(after.encode()) + event(b"c") + delta("stop")],
            "-n", 1)
    if texts[1] == "":
        texts = ["a", "", "\ufffdc"]
    assert [json.loads(q) for q in seen(r)] == [list(p) for p in
                                                zip(texts, whole)]


def test_an_error_within_one_read_is_told_with_its_event(run):
    r = run("""
    on_chunk = function(r, t)
      local function inner() if t == "7 " then error("seven") end end
      inner()
    end""", [b"".join(text(f"{i} ") for i in range(1, 100)) + delta("stop")],
            "-n", 2, "-c", 1, code=1)
    assert r.outcomes == {"script": 2}
    assert [q["chunks"] for q in r.requests] == [7, 7]
    assert "case.lua:4: seven" in r.err and "in function 'on_chunk'" in r.err
    assert "(stoke)" not in r.err


def test_an_error_that_blames_its_caller(run):
    r = run("on_chunk = function(r, t) error('yours', 2) end",
            [text("a") + text("b") + delta("stop")], "-n", 1, code=1)
    assert r.outcomes == {"script": 1}
    assert "case.lua:2: yours" in r.requests[0]["error"]


@pytest.mark.parametrize("parameters, got", [
    ("", 0), ("r", 1), ("r, text", 2), ("...", 2), ("r, ...", 2)])
def test_hooks_take_what_they_like(run, parameters, got):
    names = [p for p in ("r", "text") if p in parameters]
    values = "..." if "..." in parameters else ", ".join(names) or ""
    if parameters == "r, ...":
        values = "r, ..."
    r = run(f"on_chunk = function({parameters}) "
            f"print('<' .. select('#'{', ' if values else ''}{values})) end",
            [text("a") + text("b") + text("c") + delta("stop")], "-n", 1)
    assert seen(r) == [str(got)] * 3


def test_an_unboxed_script_keeps_its_own_ffi(run):
    r = run("""
    on_chunk = function(r, t) pair.n = pair.n + #t end,
    on_response = function() print("<" .. pair.n .. " " .. tostring(
      require("ffi").istype("struct pair", pair))) end""",
            [text("ab") + text("cd") + delta("stop")], "-n", 1, "--unsafe",
            work="""request = function()
              local ffi = require "ffi"
              ffi.cdef "struct pair { double x; int n; };"
              pair = ffi.new("struct pair")
              return { prompt = "x" }
            end""")
    assert seen(r) == ["4 true"]


@pytest.mark.parametrize("field, value", [
    ("chunks", "1 2 3"), ("id", "1 1 1"), ("turn", "1 1 1"),
    ("text", "a ab abc"), ("finish_reason", "nil nil nil")])
@pytest.mark.parametrize("parameters", ["r", "r, t"])
def test_fields_within_one_read(run, parameters, field, value):
    r = run(f"on_chunk = function({parameters}) "
            f"print('<' .. tostring(r.{field})) end",
            [text("a") + text("b") + text("c") + delta("stop")], "-n", 1)
    assert " ".join(seen(r)) == value


def test_a_field_that_does_not_exist_is_blamed_on_its_line(run):
    r = run("""
    on_chunk = function(r)
      local n = 0
      n = r.chunk
    end""", [text("a") + text("b") + delta("stop")], "-n", 1, code=1)
    assert "case.lua:5: a response has no field 'chunk'" in r.err
    assert "(stoke)" not in r.err


def test_the_script_may_spoil_its_string_library(run):
    r = run("on_chunk = function(r, t) print('<' .. t) end",
            [text("a") + text("b") + delta("stop")], "-n", 1,
            work="""request = function()
              string.sub = function() return "mine" end
              return { prompt = "x" }
            end""")
    assert seen(r) == ["a", "b"]


def test_cancel_after_counts_within_one_read(run):
    r = run("on_chunk = function(r, t) print('<' .. t) end",
            [b"".join(text(f"{i} ") for i in range(9)) + delta("stop")],
            "-n", 1, code=1, work="request = function() return { prompt = 'x',"
            " cancel_after = { tokens = 3 } } end")
    assert r.outcomes == {"cancelled": 1} and r.requests[0]["chunks"] == 3
    assert seen(r) == ["0 ", "1 ", "2 "]


def test_chunks_beyond_what_is_kept(run):
    r = run("on_chunk = function(r, t) print('<' .. #t .. ' ' .. #r.text) end",
            [b"".join(text(c * 500) for c in "abcd") + delta("stop")],
            "-n", 1, "--max-answer", "1024")
    assert seen(r) == ["500 500", "500 1000", "500 1000", "500 1000"]


def test_hoarding_meets_the_memory_cap(run):
    r = run("""
    on_chunk = function(r, t)
      hoard = hoard or {}
      for i = 1, 100 do hoard[#hoard + 1] = t .. #hoard .. ("x"):rep(900) end
    end""", [b"".join(text(f"{i} ") for i in range(400)) + delta("stop")],
            "-n", 4, "-c", 1, "--lua-memory", "16M", code=1, timeout=60)
    assert "script" in r.outcomes and "not enough memory" in r.err


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


def test_first_token_alone_sees_the_first_event(run):
    """And the others of its read are counted as ever."""
    r = run("""
    on_first_token = function(r)
      print("first", r.id, r.chunks, r.text, r.tokens)
    end""", [b"".join(text(f"{i} ") for i in range(1, 400)) + delta("stop")],
            "-n", 2, "-c", 1)
    assert r.outcomes == {"ok": 2}
    lines = [q for q in (r.out + r.err).splitlines() if q.startswith("first")]
    assert lines == ["first\t1\t1\t1 \tnil", "first\t2\t1\t1 \tnil"]
    assert {q["chunks"] for q in r.requests} == {399}


def test_first_token_beside_on_response_keeps_the_text(run):
    r = run("""
    on_first_token = function(r) print("first", r.chunks, r.text) end,
    on_response = function(r) print("last", r.chunks, r.text) end""",
            [text("a") + text("b"), delta("stop")], "-n", 1)
    lines = [q for q in (r.out + r.err).splitlines() if "\t" in q]
    assert lines == ["first\t1\ta", "last\t2\tab"]


def test_a_hook_that_takes_no_text_reads_it_all_the_same(run):
    r = run("""
    on_chunk = function(r) print(r.chunks .. "|" .. r.text .. "|") end""",
            [text("a") + event(b"\\ud83d") + event(b"\\ude00!"), 0.02,
             text("b"), delta("stop")], "-n", 1)
    assert r.outcomes == {"ok": 1}
    lines = [q for q in (r.out + r.err).splitlines() if q.count("|") == 2]
    assert lines == ["1|a|", "2|a|", "3|a\U0001f600!|",
                     "4|a\U0001f600!b|"]


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


def test_a_slow_on_chunk_is_not_one_that_hangs(stoke, mock, tmp_path):
    """300 events that come at once and take 20 ms each: 6 s in all, where one
    call may take 5."""
    script = tmp_path / "slow.lua"
    script.write_text("""return {
      request = function() return { prompt = "x", max_tokens = 300 } end,
      on_chunk = function()
        local till = os.clock() + 0.02
        while os.clock() < till do end
      end,
    }""")
    r = stoke.load(mock("--blast").url, str(script), "-n", 1)
    assert r.outcomes == {"ok": 1}
