"""Scripts that would take the machine: what ends them while a run goes on.
(What a script can do when it is loaded is tests/lua/box_*.lua.)"""

import pytest
from harness.raw import delta, stream, text

pytestmark = pytest.mark.asan


@pytest.fixture
def box(stoke, raw_server, tmp_path):
    """box(lua, *flags, code=1): a run of the table `{ lua }`."""
    server = raw_server(lambda q: stream(text("a"), delta("stop")))

    def run(lua, *flags, code=1, **keywords):
        (tmp_path / "s.lua").write_text("return {\n" + lua + "\n}\n")
        return stoke.load(server.url, "s.lua", "--lua-memory", "16M", *flags,
                          code=code, **keywords)

    return run


def test_branches_without_end(box):
    """Each is small, and none ever gets to a line of its own in Lua."""
    r = box("""load = { num_sessions = 1 },
      session = function(s)
        local function fork(b) b:parallel { fork, fork } end
        fork(s)
      end""", timeout=120)
    assert r.stoke["sessions"]["failed"] == 1
    assert "not enough memory (the cap is 16 MiB" in r.out


def test_a_session_that_only_waits_for_nothing(box):
    """It lets the others run, and ends with the run."""
    r = box("""load = { max_concurrency = 2, duration = "300ms", drain = "200ms" },
      session = function(s)
        if s.id == 1 then while true do s:sleep(0) end end
        s:request { prompt = "x" }
        s:sleep("10ms")
      end""", code=0)
    assert r.stoke["sessions"]["cut"] == 1
    assert r.stoke["sessions"]["completed"] > 1


def test_what_fills_the_heap_stays_a_script_error(box):
    r = box("""load = { num_requests = 4 },
      request = function(ctx)
        kept = kept or {}
        while ctx.id > 1 do kept[#kept + 1] = { #kept } end
        return { prompt = "x" }
      end""", code=0)
    assert r.outcomes["ok"] == 1 and r.outcomes["script"] == 3
    assert "not enough memory" in r.err


def test_b155_the_heap_of_each_thread_is_told(box):
    r = box("""request = function(ctx)
        kept = kept or ("x"):rep(3e6)
        return { prompt = "x" }
      end""", "-n", 20, "-c", 4, "--threads", 2, code=0)
    heaps = r.stoke["client"]["script"]["heap_peak_bytes"]
    assert len(heaps) == 2
    assert all(3e6 < heap <= 16 << 20 for heap in heaps)


def test_long_words_of_an_error(box):
    r = box("""request = function() error(("x"):rep(2e6)) end""", "-n", 1)
    assert r.outcomes == {"script": 1}
    assert len(r.err) + len(r.out) < 30000


@pytest.mark.parametrize("field, words", [
    ('headers = { ["X-Big"] = ("x"):rep(1e6) }',
     "the value of X-Big is longer than 64 KiB"),
    ('tags = { a = ("x"):rep(1e6) }', "or longer than 256 bytes"),
    ('tags = { [("x"):rep(1e6)] = "a" }', "or longer than 256 bytes"),
])
def test_long_words_of_a_request(box, field, words):
    r = box('request = function() return { prompt = "x", ' + field
            + " } end", "-n", 1)
    assert r.outcomes == {"script": 1} and words in r.err


def test_a_body_that_is_a_tree_of_one_leaf(box):
    r = box("""request = function()
        local tree = { "x" }
        for _ = 1, 40 do tree = { tree, tree } end
        return { messages = { { role = "user", content = tree } } }
      end""", "-n", 1)
    assert r.outcomes == {"script": 1}
    assert "larger than the memory of a script (16 MiB" in r.err


@pytest.mark.parametrize("call, words", [
    ('run:say(("x"):rep(1e5))', "more than 1 MiB was said"),
    ('run:report("n" .. i, ("x"):rep(1e6))', "16 MiB of reports already"),
])
def test_what_control_may_say(box, call, words):
    r = box(f"""request = function() return {{ prompt = "x" }} end,
      control = function(run) for i = 1, 1e5 do {call} end end""")
    assert words in r.err


def test_sessions_that_resume_one_another(box):
    """Nobody gets hold of a coroutine that waits for an answer."""
    r = box("""load = { max_concurrency = 4, num_sessions = 12 },
      session = function(s)
        all = all or {}
        all[#all + 1] = coroutine.running()
        for _ = 1, 3 do
          s:sleep("1ms")
          s:request { prompt = "x" }
          for _, co in ipairs(all) do coroutine.resume(co, { ok = true }) end
          s:parallel { function(b)
            all[#all + 1] = coroutine.running()
            b:request { prompt = "y" }
          end }
        end
      end""", code=0)
    assert r.outcomes == {"ok": 72} and r.stoke["sessions"]["completed"] == 12


def test_bodies_of_branches_are_bounded(box, raw_server):
    r = box("""load = { num_sessions = 1 },
      session = function(s)
        local big, branches = ("x"):rep(2e6), {}
        for i = 1, 500 do
          branches[i] = function(b) b:request { prompt = big } end
        end
        s:parallel(branches)
      end""", timeout=120)
    assert r.stoke["sessions"]["failed"] == 1
    assert "not enough memory for the bodies" in r.out
    # One after the other they may be as many as they like.
    r = box("""load = { num_sessions = 1 },
      session = function(s)
        local big = ("x"):rep(2e6)
        for _ = 1, 20 do s:request { prompt = big } end
      end""", code=0, timeout=120)
    assert r.outcomes == {"ok": 20}


def test_images_count_as_memory(box):
    r = box("""request = function()
        kept = kept or {}
        for i = 1, 200 do kept[#kept + 1] = stoke.noise_image(2000, 1000 + #kept) end
        return { prompt = "x" }
      end""", "-n", 1, timeout=120)
    assert r.outcomes == {"script": 1}
    assert "not enough memory for JSON lists and images" in r.err


@pytest.mark.parametrize("lua, words", [
    ("thresholds = (function() local t = {} for i = 1, 1000 do"
     " t[i] = 'ttft.p99 < 1s' end return t end)()",
     "thresholds: 1000 of them; there may be 256"),
    ("metrics = (function() local t = {} for i = 1, 1000 do"
     " t['m' .. i] = 'trend' end return t end)()",
     "metrics: 1000 of them; there may be 256"),
    ("load = { request_rate = 1e12, duration = 1 }",
     "at most 1000000 a second"),
    ("load = { rate = function() return 9e8 end, duration = '1h' }",
     "load.rate returned 9e+08; it is at most 1000000 a second"),
    ("load = { arrivals = function() return 1e12 end, duration = '1s' }",
     "it must return a number of 0 or more, and below 1e9"),
    ("load = { arrivals = function() return 0 end, duration = '1s' }",
     "more than 1000000 within a second"),
])
def test_more_than_there_can_be(box, lua, words):
    r = box(lua + ", request = function() return { prompt = 'x' } end", code=2,
            timeout=120)
    assert words in r.err


def test_a_rate_that_control_asks_for(box):
    r = box("""request = function() return { prompt = "x" } end,
      control = function(run) run:set { request_rate = 1e300 } end""")
    assert "a rate is at most 1000000 a second" in r.err


def test_nothing_that_a_terminal_obeys(box):
    """Words of a script's in the table and in messages."""
    r = box(r"""load = { num_sessions = 2, max_concurrency = 1 },
      thresholds = { "ttft{a=\27[2J}.p99 < 1s" },
      session = function(s)
        s:request { prompt = "x" }
        s:http { path = "/x", name = "\27[2J" }
        s:check("\27[2J", false)
        if s.id == 1 then error("\27[2J\7") end
        s:fail("\27[2J\7")
      end,
      summary = function() return "\27[2J" end""", code=1)
    assert "?[2J?" in r.err and "?[2J?" in r.out
    for text in (r.err, r.out):
        assert not any(c < " " and c not in "\n\t" for c in text)
