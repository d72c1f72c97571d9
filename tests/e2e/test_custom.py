"""What scenarios measure by themselves: metrics, checks, tags, sessions by
turn; and thresholds, which decide the exit status."""

import re

import pytest

pytestmark = pytest.mark.asan


@pytest.fixture
def script(stoke, mock, tmp_path):
    """script(lua, *flags) runs the table `{ lua }` against the mock."""
    server = mock("--ttft", "5ms", "--itl", "1ms")

    def run(lua, *flags, **keywords):
        (tmp_path / "case.lua").write_text("return {\n" + lua + "\n}\n")
        return stoke.load(server.url, "case.lua", "--force", *flags,
                          **keywords)

    return run


REQUEST = """request = function(ctx)
    return { prompt = "x", max_tokens = 4 }
  end,"""


def after_the_table(r):
    return r.out.split("=" * 50)[-1]


def verdicts(r):
    return {t["expr"]: t["ok"] for t in r.stoke["thresholds"]}


# ---- metrics and checks ----

@pytest.mark.parametrize("threads", [0, 1, 4])
def test_b145_counts_in_a_response_add_up(script, threads):
    r = script("""metrics = { responses = "counter", asked = "counter" },
      request = function(ctx)
        ctx:record("asked")
        return { prompt = "x", max_tokens = 2 }
      end,
      on_response = function(r) stoke.record("responses", 1) end,
      summary = function(results)
        return { seen = results.custom.responses.sum }
      end""", "-n", 1000, "-c", 32, "--threads", threads)
    custom = r.stoke["custom"]
    assert custom["responses"]["sum"] == 1000 and custom["seen"] == 1000
    assert custom["asked"]["count"] == 1000


def test_kinds_of_metrics(script):
    r = script("""metrics = {
        calls = "counter", depth = "gauge", done = "rate", wait = "trend",
        never = "trend" },
      setup = function(run) run:record("calls", 0.5) end,
      request = function(ctx)
        ctx:record("calls", 2)
        ctx:record("depth", 10 - ctx.id)
        ctx:record("done", ctx.id % 4 ~= 0)
        ctx:record("wait", -0.25 * ctx.id)
        return { prompt = "x", max_tokens = 2 }
      end,""", "-n", 20, "-c", 1)
    c = r.stoke["custom"]
    assert c["calls"]["sum"] == 40.5 and c["calls"]["rate"] > 0
    assert c["depth"] == {"kind": "gauge", "count": 20, "value": -10,
                          "min": -10, "max": 9}
    assert c["done"]["passed"] == 15 and c["done"]["rate"] == 0.75
    assert c["wait"]["min"] == -5 and c["wait"]["max"] == -0.25
    assert c["wait"]["mean"] == -2.625
    assert c["wait"]["p50"] == pytest.approx(-2.625, rel=1e-3)
    assert c["never"]["count"] == 0 and c["never"]["p50"] is None
    assert re.search(r"never +n/a", after_the_table(r))


@pytest.mark.asan
@pytest.mark.parametrize("threads", [0, 2])
def test_parts_of_metrics_in_thresholds(script, threads):
    """By the stage and the tags of the request, or of the call itself."""
    exprs = {"calls{stage=one}.sum == 10": True,
             "calls{stage=one}.rate > 0": True,
             'calls{stage="two"}.count == 20': True,
             "calls{stage=three}.count < 1": False,  # there is none
             "calls{x=y}.count < 1": True,  # nor was anything counted
             "calls.sum == 30": True,
             "wait{kind=even}.max == 30s": True,
             "wait{kind=odd,stage=one}.count == 5": True,
             "wait{tag=odd}.max == 29": True,
             "done{kind=odd,stage=two}.rate == 0": True,
             "done{kind=even}.rate > 99%": True,
             "chunks{kind=odd}.sum == 30": True,
             "firsts{kind=odd,stage=two}.count == 10": True}
    r = script("""metrics = { calls = "counter", wait = "trend", done = "rate",
        chunks = "counter", firsts = "counter" },
      load = { stages = {
        { num_requests = 10, max_concurrency = 2, label = "one" },
        { num_requests = 20, max_concurrency = 4, label = "two" } } },
      request = function(ctx)
        local kind = ctx.id % 2 == 0 and "even" or "odd"
        ctx:record("calls")
        ctx:record("wait", ctx.id, { kind = kind })
        return { prompt = "x", max_tokens = 2, tags = { kind = kind, id = ctx.id } }
      end,
      on_chunk = function(r) stoke.record("chunks") end,
      on_first_token = function(r) stoke.record("firsts") end,
      on_response = function(r) stoke.record("done", r.tags.kind == "even") end,""",
               "--threads", threads,
               *[f for e in exprs for f in ("--threshold", e)], code=99)
    assert verdicts(r) == exprs
    custom = r.stoke["custom"]
    assert custom["wait{kind=odd,stage=one}"]["count"] == 5
    assert custom["calls{stage=one}"] == {
        "kind": "counter", "count": 10, "sum": 10, "rate": None}
    assert custom["chunks{kind=odd}"]["rate"] > 0
    assert custom["calls"]["sum"] == 30
    assert re.search(r"calls\{stage=two\} +20\n", after_the_table(r))


@pytest.mark.asan
def test_parts_of_metrics_in_sessions(script):
    exprs = {"wait{tool=find}.max < 2s": True, "wait{tool=read}.count == 8": True,
             "wait{stage=late}.count == 8": True,
             "wait{stage=late,tool=read}.p50 >= 2": True,
             "wait{tool=find,class=x}.count == 4": True}
    r = script("""metrics = { wait = "trend" },
      load = { stages = {
        { num_sessions = 4, max_concurrency = 2, label = "early" },
        { num_sessions = 4, max_concurrency = 2, label = "late" } } },
      session = function(s)
        local class = s.stage == "early" and "x" or "y"
        s:request { prompt = "x", max_tokens = 1 }
        s:record("wait", 1, { tool = "find", class = class })
        s:parallel { function(s) s:record("wait", 2, { tool = "read" }) end }
      end,""", *[f for e in exprs for f in ("--threshold", e)])
    assert verdicts(r) == exprs


def test_an_abort_by_a_part(script):
    r = script("""metrics = { bad = "counter" },
      request = function(ctx)
        ctx:record("bad", 1, { why = "x" })
        return { prompt = "x", max_tokens = 1 }
      end,""", "--duration", "60s", "-c", 1,
               "--threshold", "bad{why=x}.count < 1 abort", code=99)
    assert r.stoke["stop_reason"].startswith("threshold: bad{why=x}")


@pytest.mark.parametrize("tags, why", [
    ("'x'", "record: tags must be a table"),
    ("{ 'x' }", "record: tags must have names"),
    ("{ a = 'b,c' }", "record: tags: 'b,c' must not be empty"),
    ("{ a = {} }", "record: tags.a must be a string")])
def test_tags_of_a_record_are_looked_at(script, tags, why):
    r = script("""metrics = { n = "counter" },
      request = function(ctx)
        ctx:record("n", 1, %s)
        return { prompt = "x" }
      end,""" % tags, "-n", 1, code=1)
    assert why in r.err and r.outcomes == {"script": 1}


def test_the_warmup_and_the_sample_are_not_counted(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms", "--tokens", 1)
    (tmp_path / "case.lua").write_text("""return {
      metrics = { n = "counter" },
      request = function(ctx)
        ctx:record("n") ctx:check("c", true)
        return { prompt = "x" }
      end }""")
    r = stoke.run("case.lua", "-u", server.url, "-m", "m", "-n", 5,
                  "--warmup", 7)
    assert len(server.stop()) == 13
    assert r.stoke["custom"]["n"]["sum"] == 5
    assert r.stoke["checks"] == [
        {"name": "c", "passed": 5, "failed": 0, "rate": 1}]


def test_checks_fail_nothing_but_are_told(script):
    lua = REQUEST + """
      on_response = function(r)
        stoke.check("status is 200", r.status == 200)
        stoke.check("is odd", r.id % 2 == 1)
      end"""
    r = script(lua, "-n", 10)
    assert r.outcomes == {"ok": 10}
    assert r.stoke["checks"] == [
        {"name": "is odd", "passed": 5, "failed": 5, "rate": 0.5},
        {"name": "status is 200", "passed": 10, "failed": 0, "rate": 1}]
    assert re.search("✗ is odd +5 of 10 passed", r.out)
    assert re.search("✓ status is 200 +10 of 10 passed", r.out)
    r = script(lua, "-n", 10, env={"LC_ALL": "C"})
    assert re.search("FAIL +is odd", r.out) and "✗" not in r.out


@pytest.mark.parametrize("call, words", [
    ('ctx:record("wayt", 1)', "'wayt' is not declared; did you mean wait?"),
    ('ctx:record("nix")', "add it to the scenario's metrics"),
    ('ctx:record("wait")', "wants a number, not a no value"),
    ('ctx:record("wait", "1")', "wants a number, not a string"),
    ('ctx:record("wait", 0/0)', "must be finite"),
    ('ctx:record("done", 1)', "wants a boolean, not a number"),
    ('ctx:record("calls", -1)', "only goes up"),
    ('ctx:record()', "must be a name"),
    ('ctx:check("x")', "did it pass?"),
    ('ctx:check(true)', "must be a name"),
    ('ctx.record("wait", 1)', "must be a name"),
])
def test_wrong_records_are_errors_with_their_place(script, call, words):
    r = script("""metrics = { wait = "trend", done = "rate", calls = "counter" },
      request = function(ctx)
        %s
        return { prompt = "x" }
      end""" % call, "-n", 2, code=1)
    assert r.outcomes == {"script": 2}
    assert re.search(r"case\.lua:4: \w+: .*" + re.escape(words), r.err), r


def test_records_from_the_hooks_of_a_stream(script):
    r = script("""metrics = { first = "trend", chunks = "counter" },
      on_first_token = function(r) stoke.record("first", r.ttft or 0) end,
      on_chunk = function(r, text)
        stoke.record("chunks")
        stoke.check("has text", #text > 0)
      end,""" + REQUEST, "-n", 10, "-c", 2, "--threads", 2)
    assert r.stoke["custom"]["first"]["count"] == 10
    chunks = sum(q["chunks"] for q in r.requests)
    assert r.stoke["custom"]["chunks"]["sum"] == chunks == 40
    assert r.stoke["checks"][0]["passed"] == 40


def test_nothing_is_recorded_while_loading(script):
    r = script('description = stoke.record("x") or "", ' + REQUEST, "-n", 1,
               code=2)
    assert "nothing can be recorded while the script is loaded" in r.err


def test_names_of_figures_are_taken(script):
    r = script('metrics = { ttft = "trend", checks = "rate" },' + REQUEST,
               "-n", 1, code=2)
    assert "metrics.ttft: stoke has a figure of that name" in r.err
    assert "metrics.checks" in r.err


# ---- tags ----

TAGGED = """request = function(ctx)
    local long = ctx.id % 5 == 0
    return { prompt = "x", max_tokens = long and 40 or 4,
             tags = { class = long and "long" or "short", n = 1 } }
  end,"""


def test_figures_by_tag(script):
    r = script(TAGGED, "-n", 50, "-c", 4, "--threads", 2,
               "--threshold", "e2el{class=long}.min > 40ms",
               "--threshold", "e2el{class=short}.p50 < 40ms",
               "--threshold", "itl{class=long}.count == 390",
               "--threshold", "completed{tag=1} == 50", code=None)
    tags = r.stoke["tags"]
    assert {k: v["completed"] for k, v in tags["class"].items()} == {
        "long": 10, "short": 40}
    assert tags["n"]["1"]["output_tokens"] == 10 * 40 + 40 * 4
    assert tags["class"]["long"]["latency"]["itl"]["count"] == 390
    long = [q["e2el_ms"] for q in r.requests if q["tokens"] == 40]
    assert tags["class"]["long"]["latency"]["e2el"]["max"] == pytest.approx(
        max(long), abs=1e-3)
    assert list(verdicts(r).values())[2:] == [True, True]
    assert re.search(r"class=long +10 succeeded, 0 failed", r.out)


def test_failures_by_tag(script):
    r = script(TAGGED + """on_response = function(r)
        if r.tokens == 40 then return false, "too long" end
      end""", "-n", 20)
    long = r.stoke["tags"]["class"]["long"]
    assert long["outcomes"] == {"check": 4} and long["completed"] == 0
    assert long["latency"]["ttft"]["count"] == 0


def test_too_many_tags_are_told(script):
    r = script("""request = function(ctx)
        return { prompt = "x", max_tokens = 1, tags = { id = ctx.id } }
      end""", "-n", 200, "-c", 8)
    ids = r.stoke["tags"]["id"]
    assert sum(v["completed"] for v in ids.values()) == 200
    assert len(ids) == 65 and ids["(other)"]["completed"] == 136
    assert "too many different tags: 136 requests" in r.out


# ---- sessions and turns ----

SESSION = """session = function(s)
    s:plan(%d)
    for turn = 1, %d do
      s:request { prompt = "x", max_tokens = turn }
      s:think(0.02)
    end
  end"""


def test_b161_more_sessions_than_slots(script):
    r = script(SESSION % (4, 4), "--num-sessions", 3, "-c", 2)
    s = r.stoke["sessions"]
    assert (s["started"], s["completed"]) == (3, 3)
    assert (s["turns_planned"], s["turns_done"], s["turns_skipped"]) == (
        12, 12, 0)
    assert [(t["turn"], t["completed"], t["output_tokens"])
            for t in r.stoke["turns"]] == [
                (1, 3, 3), (2, 3, 6), (3, 3, 9), (4, 3, 12)]
    assert s["think_s"] >= 3 * 4 * 0.02
    assert s["duration"]["mean"] - s["active"]["mean"] == pytest.approx(
        1000 * s["think_s"] / 3, abs=1e-3)
    assert "Sessions: 3 started, 3 completed, 0 failed, 0 cut" in r.out


def test_b167_a_limit_of_requests_and_whole_sessions(script):
    r = script(SESSION % (3, 3), "--num-sessions", 2, "-n", 6, "-c", 2,
               "--threads", 2)
    s = r.stoke["sessions"]
    assert (s["started"], s["completed"], s["max_turns"]) == (2, 2, 3)
    assert r.json["completed"] == 6


def test_b167_cut_sessions_say_so(script):
    r = script(SESSION % (3, 3), "-n", 7, "-c", 2)
    s = r.stoke["sessions"]
    assert r.json["completed"] == 7 and s["cut"] >= 1
    assert s["turns_planned"] == s["turns_done"] + s["turns_skipped"]
    assert {"end": "cut", "reason": "the limit of requests was reached",
            "count": s["cut"]} in s["reasons"]


def test_failed_sessions_have_reasons(script):
    r = script("""metrics = { n = "counter" },
      session = function(s)
        s:plan(2)
        s:record("n") s:check("even", s.id % 2 == 0)
        s:request { prompt = "x", max_tokens = 1 }
        if s.id % 2 == 1 then s:fail("no tool call") end
        s:request { prompt = "x", max_tokens = 1 }
      end""", "--num-sessions", 6, "-c", 3, "--threads", 3,
               "--threshold", "sessions.failed == 3",
               "--threshold", "ttft{turn=2}.count == 3",
               "--threshold", "sessions.duration.p99 < 30s")
    s = r.stoke["sessions"]
    assert s["reasons"] == [
        {"end": "failed", "reason": "no tool call", "count": 3}]
    assert s["turns_skipped"] == 3 and s["duration"]["count"] == 3
    assert r.stoke["custom"]["n"]["sum"] == 6
    assert "3 failed: no tool call" in r.out


def test_request_scenarios_have_no_sessions(script):
    r = script(REQUEST, "-n", 2)
    assert r.stoke["sessions"] is None and r.stoke["turns"] == []
    assert "Sessions:" not in r.out


# ---- thresholds ----

def test_thresholds_from_everywhere(script, tmp_path):
    (tmp_path / "slo.txt").write_text(
        "# what users were promised\nttft.p99 < 30s # or so\n\nfailed == 0\n")
    r = script('thresholds = { "error_rate < 1%", "completed > 100" },'
               + REQUEST, "-n", 5, "--thresholds", "slo.txt",
               "--threshold", "request_throughput > 0",
               "--threshold", "e2el.mean > 10s", code=99)
    assert verdicts(r) == {
        "error_rate < 1%": True, "completed > 100": False,
        "ttft.p99 < 30s": True, "failed == 0": True,
        "request_throughput > 0": True, "e2el.mean > 10s": False}
    t = r.stoke["thresholds"][5]
    assert t["unit"] == "s" and t["limit"] == 10 and not t["no_data"]
    assert t["value"] == pytest.approx(
        r.stoke["latency"]["e2el"]["mean"] / 1e3)
    assert "✓ error_rate < 1%" in r.out and "✗ completed > 100" in r.out


def test_all_that_hold_are_success(script):
    r = script(REQUEST, "-n", 3, "--threshold", "failed == 0")
    assert verdicts(r) == {"failed == 0": True}


def test_no_data_is_broken_and_said(script):
    r = script('metrics = { wait = "trend" },' + REQUEST, "-n", 3,
               "--threshold", "wait.p50 < 1",
               "--threshold", "ttft{class=nix}.p50 < 1s", code=99)
    assert all(t["no_data"] and t["value"] is None and not t["ok"]
               for t in r.stoke["thresholds"])
    assert r.out.count("no data") == 2


def test_mistakes_are_told_all_at_once(script, tmp_path):
    (tmp_path / "slo.txt").write_text("ttft.p99 < 1s\nttft.p99 < 1\n")
    r = script('thresholds = { "failed == 0", "ttf.p9 < 1s" },' + REQUEST,
               "-n", 1, "--thresholds", "slo.txt",
               "--threshold", "error_rate < 5", "--thresholds=slo.txt", code=2)
    assert "case.lua: thresholds[2] 'ttf.p9 < 1s'" in r.err
    assert "slo.txt:2 'ttft.p99 < 1'" in r.err
    assert "--threshold 'error_rate < 5'" in r.err
    r = script(REQUEST, "-n", 1, "--thresholds", "nix.txt", code=2)
    assert "--thresholds nix.txt" in r.err


def test_nothing_succeeded_goes_before_a_broken_threshold(script):
    r = script(REQUEST + 'on_response = function() return false, "no" end',
               "-n", 3, "--threshold", "error_rate < 1%", code=1)
    assert verdicts(r) == {"error_rate < 1%": False}


BROKEN_LATER = """on_response = function(r)
    if stoke.worker and r.id > 20 then return false, "worse" end
  end,"""


def test_abort_on_fail_ends_the_run(script):
    r = script("""thresholds = { { "error_rate < 5%", abort_on_fail = true,
        grace = "1s" } },""" + REQUEST + BROKEN_LATER,
               "-d", 30, "-c", 4, "--threads", 2, code=99)
    assert r.stoke["stop_reason"] == (
        "threshold: error_rate < 5% abort after 1s")
    assert 1 <= r.json["duration"] < 20
    t, = r.stoke["thresholds"]
    assert t["ended_run"] and not t["ok"] and t["value"] > 5
    assert "which ended the run" in r.out


@pytest.mark.parametrize("threads", [0, 2])
def test_abort_from_the_command_line(script, threads):
    r = script('metrics = { n = "counter" },'
               'request = function(ctx) ctx:record("n")'
               ' return { prompt = "x", max_tokens = 2 } end', "-d", 30,
               "--threshold", "ttft.p50 < 30s abort",
               "--threshold", "n < 3 abort", "--threads", threads,
               code=99)
    assert r.stoke["stop_reason"] == "threshold: n < 3 abort"
    assert [t["ended_run"] for t in r.stoke["thresholds"]] == [False, True]
    assert r.json["duration"] < 20


def test_thresholds_of_a_stage(script):
    r = script("""load = { stages = {
        { duration = "1s", max_concurrency = 1, label = "calm" },
        { duration = "1s", max_concurrency = 4, label = "spike" } } },
      thresholds = { "completed{stage=calm} > 0", "failed{stage=spike} == 0",
        "ttft{stage=spike}.p99 < 30s", "ttft{stage=nix}.p99 < 30s" },"""
               + REQUEST, code=99)
    values = {t["expr"]: t["value"] for t in r.stoke["thresholds"]}
    assert list(verdicts(r).values()) == [True, True, True, False]
    by_stage = {s["label"]: s for s in r.stoke["stages"]}
    assert values["completed{stage=calm} > 0"] == (
        by_stage["calm"]["figures"]["completed"])


def test_summary_sees_all_of_it(script):
    r = script("""metrics = { n = "counter" }, thresholds = { "n > 0" },
      session = function(s)
        s:record("n") s:check("c", true)
        s:request { prompt = "x", max_tokens = 2, tags = { class = "a" } }
      end,
      summary = function(r)
        return { sessions = r.sessions.completed, n2 = r.custom.n.sum,
                 tag = r.tags.class.a.completed, held = r.thresholds[1].ok,
                 turn = r.turns[1].latency.ttft.count,
                 check = r.checks[1].passed, n = 5 }
      end""", "--num-sessions", 3)
    assert r.stoke["custom"] == {"sessions": 3, "n2": 3, "tag": 3,
                                 "held": True, "turn": 3, "check": 3, "n": 5}


def test_what_holds_aborts_nothing(script):
    r = script(REQUEST, "-d", 3, "--threshold", "error_rate < 50% abort",
               "--threshold", "ttft{class=nix}.p50 < 1s abort", code=99)
    assert r.stoke["stop_reason"] == "duration"
    assert [t["no_data"] for t in r.stoke["thresholds"]] == [False, True]


def test_interrupts_go_before_thresholds(stoke, mock):
    server = mock("--ttft", "5ms")
    p = stoke.start("-u", server.url, "-m", "m", "-d", 60,
                    "--threshold", "completed > 1000000")
    while not p.requests_out.exists() or not p.requests_out.stat().st_size:
        assert p.popen.poll() is None
    p.signal()
    r = p.wait()
    assert r.code == 130 and list(verdicts(r).values()) == [False]


# ---- for control(run) ----

def test_a_measurement_is_judged(script):
    r = script(REQUEST + """control = function(run)
        run:set { max_concurrency = 2 }
        local m = run:measure { label = "a", duration = "1s" }
        local good, value = m:holds("error_rate < 1%")
        run:report("good", good)
        run:report("value", value)
        run:report("slow", (m:holds("ttft.p99 > 100s")))
        run:report("err", select(2, pcall(m.holds, m, "ttft{a=b}.p9 < 1s")))
      end""", "--threads", 2)
    c = r.stoke["custom"]
    assert c["good"] is True and c["value"] == 0 and c["slow"] is False
    assert "takes no braces" in c["err"]
