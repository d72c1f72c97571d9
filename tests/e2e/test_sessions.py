"""Session scenarios: every call of `s`, from the command line to the bytes
that the server receives."""

import re

import pytest
from harness.raw import delta, stream, text, usage, whole
from harness.stalls import stalls_spoil_a_try, timely

pytestmark = pytest.mark.asan


@pytest.fixture
def server(raw_server):
    return raw_server(lambda r: stream(text("one "), text("two"),
                                       delta("stop"), usage(3, 2)))


@pytest.fixture
def script(stoke, server, tmp_path):
    """script(body, *flags) runs session(s) with this body."""

    def run(body, *flags, hooks="", url=None, **keywords):
        (tmp_path / "case.lua").write_text(
            "return { session = function(s)\n" + body + "\nend,\n" + hooks
            + "}")
        r = stoke.load(url or server.url, "case.lua", *flags, **keywords)
        r.server = server
        return r

    return run


def by_turn(r, session):
    return sorted((q for q in r.requests if q["session"] == session),
                  key=lambda q: q["turn"])


def test_turns_follow_each_other(script):
    r = script("""
    for i = 1, 3 do
      local r = s:request { prompt = s.id .. "/" .. i }
      assert(r.ok and r.text == "one two" and r.tokens == 2, r.error)
    end""", "--num-sessions", 4, "-c", 2)
    assert r.outcomes == {"ok": 12}
    sent = [q.json["messages"][0]["content"] for q in r.server.requests]
    assert sorted(sent) == [f"{s}/{i}" for s in range(1, 5)
                            for i in range(1, 4)]
    for session in range(1, 5):
        turns = by_turn(r, session)
        assert [q["turn"] for q in turns] == [1, 2, 3]
        assert {q["branch"] for q in turns} == {0}
        for a, b in zip(turns, turns[1:]):
            assert a["done_s"] <= b["due_s"] <= b["sent_s"]
    assert len({q["id"] for q in r.requests}) == 12


def test_slots_hold_sessions_not_requests(script):
    r = script("""
    s:parallel {
      function(b) b:request { prompt = "a" } end,
      function(b) b:request { prompt = "b" } end }""",
               "--num-sessions", 3, "-c", 1)
    assert r.outcomes == {"ok": 6}
    for session in (1, 2, 3):
        assert {q["branch"] for q in by_turn(r, session)} == {1, 2}
    ends = {s: max(q["done_s"] for q in by_turn(r, s)) for s in (1, 2, 3)}
    starts = {s: min(q["due_s"] for q in by_turn(r, s)) for s in (1, 2, 3)}
    assert ends[1] <= starts[2] and ends[2] <= starts[3]


def test_branches_are_on_the_wire_together(script, stoke, raw_server):
    import threading
    gate = threading.Barrier(5)

    def answer(request):
        gate.wait(20)
        return stream(text("x"), delta("stop"))

    server = raw_server(answer)
    r = script("""
    local calls = {}
    for i = 1, 5 do
      calls[i] = function(b) return b:request { prompt = "n" .. i }.text end
    end
    local t = s:parallel(calls)
    assert(table.concat(t) == "xxxxx")""", "--num-sessions", 1, url=server.url)
    assert r.outcomes == {"ok": 5} and server.peak == 5


def test_failed_requests_do_not_raise(script, raw_server):
    server = raw_server([whole({"error": {"message": "busy"}},
                               "503 Service Unavailable")])
    r = script("""
    local r = s:request { prompt = "x" }
    if r.ok or r.status ~= 503 or r.error ~= "busy" then error(r.error) end
    return s:fail(r.outcome)""", "--num-sessions", 3, url=server.url, code=1)
    assert r.outcomes == {"http_5xx": 3}
    assert "script error" not in r.err


def test_think_and_sleep_pass_time(script):
    r = script("""
    s:request { prompt = "a" }
    s:think(0.2)
    s:request { prompt = "b" }
    s:sleep("100ms")
    s:request { prompt = "c" }""", "--num-sessions", 2, "-c", 2)
    for session in (1, 2):
        a, b, c = by_turn(r, session)
        assert b["due_s"] - a["done_s"] >= 0.199
        assert c["due_s"] - b["done_s"] >= 0.099


@stalls_spoil_a_try
def test_sleep_before_the_first_request_is_nobody_s_delay(script):
    r = script("""
    s:sleep(0.3)
    s:request { prompt = "a" }""", "--num-sessions", 3, "-c", 3)
    assert all(q["due_s"] > 0.29 for q in r.requests)
    timely(all(q["queue_ms"] < 200 for q in r.requests), r)


def test_what_a_session_knows(script):
    r = script("""
    assert(s.data.word == "set up" and s.args[1] == "--tail")
    assert(s.turn == 0 and s.branch == 0 and s:now() >= 0)
    s:request { prompt = s.params.word .. s.id .. ":" .. s.rng:int(1, 1e6) }
    assert(s.turn == 1)
    """, "--num-sessions", 3, "-c", 1, "-P", "word=hey", "--seed", 4, "--",
               "--tail", hooks="""
    params = { word = { default = "none" } },
    setup = function() return { word = "set up" } end,
    """)
    assert r.outcomes == {"ok": 3}
    sent = [q.json["messages"][0]["content"] for q in r.server.requests]
    assert [p.split(":")[0] for p in sent] == ["hey1", "hey2", "hey3"]


def test_threads_change_nothing(script):
    seen = []
    for threads in (1, 3):
        r = script("""
        for i = 1, 2 do
          s:request { prompt = s.id .. ":" .. s.rng:int(1, 1e6) }
        end
        s:parallel { function(b)
          b:request { prompt = "b" .. b.rng:int(1, 1e6) }
        end }""", "--num-sessions", 6, "-c", 3,
                   "--seed", 9, "--threads", threads)
        seen.append(sorted(q.json["messages"][0]["content"]
                           for q in r.server.requests))
        r.server.requests.clear()
    assert seen[0] == seen[1] and len(seen[0]) == 18


def test_an_error_fails_its_session_with_its_place(script):
    r = script("""
    s:request { prompt = "a" }
    if s.id == 2 then
      s:parallel { function(b)
        b:request { prompt = "b" }
        error("what now")
      end, function(b) b:sleep(20) end }
    end""", "--num-sessions", 3, "-c", 1)
    assert r.outcomes == {"ok": 4}
    assert "case.lua:7: what now" in r.err and "traceback" in r.err
    assert r.seconds < 15


def test_errors_past_the_limit_stop_the_run(script):
    r = script("error('always')", "--num-sessions", 100000, "-c", 4, code=1)
    assert not r.server.requests
    assert "script" in r.stoke["stop_reason"]


def test_stop_ends_the_run(script):
    r = script("""
    s:request { prompt = "x" }
    if s.id == 3 then s:stop("seen enough") end""", "-d", 30, "-c", 1)
    assert r.seconds < 20 and "seen enough" in r.stoke["stop_reason"]


def test_log_is_whole_lines(script):
    r = script("""s:log("at", s.id, nil, true)""", "--num-sessions", 3,
               "-c", 3, "--threads", 2, code=None)
    lines = [q for q in r.err.splitlines() if q.startswith("session ")]
    assert sorted(lines) == [f"session {i}: at\t{i}\tnil\ttrue"
                             for i in (1, 2, 3)]


def test_b161_started_sessions_run_to_their_end(script):
    """Three conversations of four turns in two slots are twelve requests."""
    r = script("""
    s:plan(4)
    for i = 1, 4 do s:request { prompt = i .. "" } end""",
               "--num-sessions", 3, "-c", 2)
    assert len(r.server.requests) == 12 and r.outcomes == {"ok": 12}


def test_drain_cuts_what_is_left(script, raw_server):
    server = raw_server(lambda r: stream(text("x"), 30, delta("stop")))
    r = script("""
    s:parallel { function(b) b:request { prompt = "x" } end,
                 function(b) b:sleep(30) end }""",
               "-d", 1, "--drain", "200ms", "-c", 2, url=server.url, code=1)
    assert r.outcomes == {"cancelled": 2} and r.seconds < 20


@pytest.mark.parametrize("how, tokens", [("tokens = 3", 3),
                                         ("seconds = 0.3", None)])
@stalls_spoil_a_try
def test_cancel_after(script, raw_server, how, tokens):
    pieces = [p for i in range(50) for p in (text(f"{i} "), 0.05)]
    server = raw_server(lambda r: stream(*pieces, delta("stop")))
    r = script(f"""
    local r = s:request {{ prompt = "x", cancel_after = {{ {how} }} }}
    assert(not r.ok and r.outcome == "cancelled", r.outcome)
    s:log("<" .. r.text)""", "--num-sessions", 2, "-c", 2,
               url=server.url, code=1)
    assert r.outcomes == {"cancelled": 2}
    for q in r.requests:
        assert q["chunks"] == (tokens or q["chunks"])
        timely(3 <= q["chunks"] < 49, q)
    assert len(re.findall("<0 1 2 ", r.err)) == 2


def test_b167_what_a_limit_counts_comes_to_its_end(script, raw_server):
    """The second session's second branch may send nothing; the request of its
    first one is the fourth of four."""
    server = raw_server(lambda r: stream(text("a"), 0.2, text("b"),
                                         delta("stop"), usage(1, 2)))
    r = script("""
    local function ask(b) b:request { prompt = "x" } end
    s:parallel { ask, ask, ask }""", "-n", 4, "-c", 1, url=server.url)
    assert r.outcomes == {"ok": 4}
    s = r.stoke["sessions"]
    assert (s["completed"], s["cut"], s["turns_done"]) == (1, 1, 4)


def test_b167_the_drain_ends_what_a_limit_left(script, raw_server):
    server = raw_server(lambda r: stream(text("a"), 30, delta("stop")))
    r = script("""
    local function ask(b) b:request { prompt = "x" } end
    s:parallel { ask, ask }""", "-n", 1, "-d", 1, "-c", 1, "--drain", "200ms",
               url=server.url, code=1)
    assert r.outcomes == {"cancelled": 1} and r.seconds < 20


def test_b167_a_limit_of_requests_bounds_sessions(script):
    r = script("for i = 1, 3 do s:request { prompt = 'x' } end",
               "-n", 6, "-c", 1, "--num-sessions", 50)
    assert r.outcomes == {"ok": 6}
    assert {q["session"] for q in r.requests} == {1, 2}
    assert len(r.server.requests) == 6
