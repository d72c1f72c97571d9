"""Load that is steered: stages, ramps, curves, gaps, and control(run)."""

import math

import pytest
from harness.program import PATIENCE

ASK = 'request = function(ctx) return { prompt = "hi", max_tokens = 2 } end'


def scenario(tmp_path, text):
    path = tmp_path / "case.lua"
    path.write_text(text)
    return path


def due_times(result):
    return sorted(q["due_s"] for q in result.requests)


def test_stages_follow_each_other(stoke, mock):
    server = mock("--ttft", "5ms", "--tokens", 2)
    r = stoke.load(server.url,
                   "--stage", "1s rate=10..90 constant linear label=ramp",
                   "--stage", "500ms c=3 label=closed")
    due = due_times(r)
    ramp = [t for t, q in zip(due, sorted(r.requests, key=lambda q: q["due_s"]))
            if q["stage"] == 0]
    # With one arrival a unit, the integral 10 t + 40 t^2 counts them.
    assert len(ramp) == 50
    for n, t in enumerate(ramp):
        assert 10 * t + 40 * t * t == pytest.approx(n, abs=0.01)
    stages = r.json["stoke"]["stages"]
    assert [s["label"] for s in stages] == ["ramp", "closed"]
    assert stages[0]["target"]["request_rate"] == [10.0, 90.0]
    assert stages[1]["target"]["max_concurrency"] == 3.0
    assert sum(s["figures"]["sent"] for s in stages) == len(r.requests)
    assert stages[1]["start_s"] == pytest.approx(1, abs=0.1 * PATIENCE)
    assert "ramp" in r.out and "closed" in r.out


@pytest.mark.parametrize("threads", [2, 4])
def test_stages_do_not_depend_on_threads(stoke, mock, threads):
    server = mock("--ttft", "1ms", "--tokens", 1)
    stages = ("--stage", "400ms rate=20..200 exponential",
              "--stage", "300ms rate=100 gamma burstiness=0.3")
    runs = [stoke.load(server.url, *stages, "--threads", n)
            for n in (1, threads)]
    one, many = ([(q["id"], q["due_s"], q["stage"]) for q in
                  sorted(r.requests, key=lambda q: q["id"])] for r in runs)
    assert one == many


def test_a_scenario_may_ramp_its_concurrency(stoke, mock, tmp_path):
    server = mock("--ttft", "50ms", "--tokens", 1)
    path = scenario(tmp_path, "return { %s, load = { duration = '1s', "
                    "max_concurrency = { 1, 8 } } }" % ASK)
    r = stoke.load(server.url, path)
    assert r.json["max_concurrent_requests"] in (7, 8)
    assert len([q for q in r.requests if q["sent_s"] < 0.1]) <= 3


def test_a_curve_of_the_scenario(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms", "--tokens", 1)
    path = scenario(tmp_path, "return { %s, load = { duration = '2s', "
                    "arrival = 'constant', rate = function(t) return 100 * "
                    "(1 + math.sin(math.pi * t)) end } }" % ASK)
    r = stoke.load(server.url, path)
    due = due_times(r)
    assert len(due) == pytest.approx(200, abs=1)
    for n, t in enumerate(due):
        area = 100 * (t + (1 - math.cos(math.pi * t)) / math.pi)
        assert area == pytest.approx(n, abs=0.2)


def test_gaps_of_the_scenario(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms", "--tokens", 1)
    path = scenario(tmp_path, "return { %s, load = { num_requests = 5, arrivals "
                    "= function(i, rng) return i * 0.01 end } }" % ASK)
    r = stoke.load(server.url, path, "--threads", 2)
    assert due_times(r) == pytest.approx([0.01, 0.03, 0.06, 0.1, 0.15],
                                         abs=1e-6)


@pytest.mark.parametrize("function, said", [
    ("rate = function(t) return -1 end, duration = 1", "0 or more"),
    ("rate = function(t) return 'x' end, duration = 1", "string"),
    ("rate = function(t) return 0 end, duration = 1", "not a single arrival"),
    ("rate = function(t) return 1 end", "needs a duration"),
    ("arrivals = function(i) error('oops') end, num_requests = 2", "oops"),
    ("rate = function() end, request_rate = 2", "exclude each other"),
])
def test_a_wrong_curve_sends_nothing(stoke, raw_server, tmp_path, function,
                                     said):
    server = raw_server(lambda request: [])
    path = scenario(tmp_path, "return { %s, load = { %s } }" % (ASK, function))
    r = stoke.load(server.url, path, code=2)
    assert said in r.err and not server.requests


def test_overflow_drop_counts_and_forgets(stoke, mock):
    server = mock("--ttft", "200ms", "--tokens", 1)
    r = stoke.load(server.url, "-R", 50, "--arrival", "constant", "-d", "1s",
                   "-c", 2, "--overflow", "drop")
    figures = r.json["stoke"]["figures"]
    assert figures["sent"] + figures["unsent"] == 50
    assert 8 <= figures["sent"] <= 12
    assert max(q["queue_ms"] for q in r.requests) < 50 * PATIENCE


def test_pacing_spaces_the_starts_of_a_slot(stoke, mock):
    server = mock("--ttft", "5ms", "--tokens", 1)
    r = stoke.load(server.url, "-c", 1, "-n", 6, "--pacing", "100ms")
    due = due_times(r)
    for a, b in zip(due, due[1:]):
        assert b - a == pytest.approx(0.1, abs=0.02 * PATIENCE)


CONTROL = """
return {
  %s,
  control = function(run)
    for _, rate in ipairs { 20, 60 } do
      run:set { request_rate = rate, arrival = "constant" }
      local m = run:measure { label = rate .. " rps", settle = "200ms",
                              duration = "500ms" }
      run:report("at" .. rate, { completed = m.completed, p99 = m.ttft.p99,
        rate = m.request_throughput, errors = m.error_rate })
    end
    %s
  end,
}
"""


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_control_sets_measures_and_reports(stoke, mock, tmp_path, threads):
    server = mock("--ttft", "20ms", "--tokens", 2)
    path = scenario(tmp_path, CONTROL % (ASK, ""))
    r = stoke.load(server.url, path, "--threads", threads)
    custom, stages = r.json["stoke"]["custom"], r.json["stoke"]["stages"]
    assert r.json["stoke"]["stop_reason"] == "control"
    assert [s["label"] for s in stages] == ["20 rps", "60 rps"]
    assert custom["at20"]["completed"] == pytest.approx(10, abs=2 * PATIENCE)
    assert custom["at60"]["rate"] == pytest.approx(60, rel=0.15 * PATIENCE)
    assert 0.015 < custom["at60"]["p99"] < 0.1 * PATIENCE
    assert custom["at60"]["errors"] == 0
    assert stages[0]["duration_s"] == pytest.approx(0.5, abs=0.1 * PATIENCE)


def test_control_may_stop_with_a_reason(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms", "--tokens", 1)
    path = scenario(tmp_path, CONTROL % (
        ASK, 'run:stop("good enough") run:sleep("60s")'))
    r = stoke.load(server.url, path)
    assert r.json["stoke"]["stop_reason"] == "script: good enough"


def test_a_control_that_fails_keeps_what_was_measured(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms", "--tokens", 1)
    path = scenario(tmp_path, CONTROL % (ASK, "run:set { request_rat = 1 }"))
    r = stoke.load(server.url, path, code=1)
    assert "request_rat" in r.err and "case.lua" in r.err
    assert len(r.json["stoke"]["stages"]) == 2
    assert r.json["completed"] > 0


def test_control_ends_with_the_duration(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms", "--tokens", 1)
    path = scenario(tmp_path, CONTROL % (ASK, 'run:sleep("60s")'))
    r = stoke.load(server.url, path, "-d", "2s")
    assert r.json["stoke"]["stop_reason"] == "duration"
    assert r.seconds < 10 * PATIENCE


def test_the_burst_scenario_bursts(stoke, mock):
    server = mock("--ttft", "1ms", "--tokens", 1)
    r = stoke.load(server.url, "burst", "-d", "2s", "--arrival", "constant", "-P", "base=5",
                   "-P", "peak=100", "-P", "every=1", "-P", "length=0.25")
    times = due_times(r)
    burst = [t for t in times if t % 1 >= 0.75]
    assert len(burst) == pytest.approx(50, abs=2)
    assert len(times) - len(burst) == pytest.approx(7.5, abs=2)
    assert {q["tags"]["when"] for q in r.requests} == {"burst", "quiet"}


@pytest.mark.parametrize("curve", ["linear", "exponential"])
def test_the_ramp_scenario_ramps(stoke, mock, curve):
    server = mock("--ttft", "1ms", "--tokens", 1)
    r = stoke.load(server.url, "ramp", "-d", "1500ms", "--arrival", "constant", "-P", "from=10",
                   "-P", "to=100", "-P", "rise=1", "-P", "curve=" + curve)
    rising = 55 if curve == "linear" else 90 / math.log(10)
    times = due_times(r)
    assert len([t for t in times if t < 1]) == pytest.approx(rising, abs=1.5)
    assert len([t for t in times if t >= 1]) == pytest.approx(50, abs=1.5)
