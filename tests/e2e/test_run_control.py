"""Starting, pacing, ending: section c of the field cases, interrupts, exit
statuses, and what goes to which output."""

import json
import os
import signal
import statistics
import time

import pytest
from harness.program import PATIENCE
from harness.raw import delta, stream, text, whole
from harness.stalls import stalls_spoil_a_try, timely


def answer_after(seconds):
    return lambda request: stream(seconds, text("x"), delta("stop"))


UNAUTHORIZED = [whole({"error": {"message": "Incorrect API key"}},
                      "401 Unauthorized")]


# ---- pace ----

@stalls_spoil_a_try
def test_b074_open_loop_keeps_its_timetable(stoke, mock):
    server = mock("--ttft", "5ms", "--tokens", 1)
    r = stoke.load(server.url, "-R", 200, "--arrival", "constant", "-n", 600)
    due = sorted(q["due_s"] for q in r.requests)
    assert due[-1] - due[0] == pytest.approx(599 / 200, abs=0.001)
    assert r.json["request_rate"] == 200
    late = sorted(q["queue_ms"] for q in r.requests)
    timely(late[-1] < 1000 and late[len(late) // 2] < 50 * PATIENCE, late)
    timely(r.json["duration"] == pytest.approx(3, abs=0.3), r)


def test_b075_no_slots_is_refused(stoke, raw_server):
    server = raw_server(answer_after(0))
    for bad in ("0", "-1"):
        r = stoke.load(server.url, "-n", 1, f"--max-concurrency={bad}", code=2)
        assert "max-concurrency" in r.err
    assert not server.requests


def test_b076_fractional_rates(stoke, raw_server):
    server = raw_server(answer_after(0))
    r = stoke.load(server.url, "-R", "2.5", "--arrival", "constant", "-n", 4)
    due = sorted(q["due_s"] for q in r.requests)
    assert due[3] - due[0] == pytest.approx(3 / 2.5, abs=0.001)


@stalls_spoil_a_try
def test_b081_slots_are_refilled_at_once(stoke, mock):
    server = mock("--ttft", "100ms", "--tokens", 1)
    r = stoke.load(server.url, "-n", 80, "-c", 4)
    assert r.json["duration"] >= 2.0
    timely(r.json["duration"] < 2.5 * PATIENCE, r)
    ends = sorted(q["sent_s"] * 1000 + q["e2el_ms"] for q in r.requests)
    starts = sorted(q["sent_s"] * 1000 for q in r.requests)[4:]
    gaps = [b - a for a, b in zip(ends, starts)]
    timely(statistics.median(gaps) < 10 * PATIENCE, gaps)


def test_b082_warmup_is_apart(stoke, raw_server):
    server = raw_server(answer_after(0.05))
    r = stoke.load(server.url, "--warmup", 12, "-c", 4, "-n", 20)
    assert len(server.requests) == 32 and server.peak <= 4
    assert r.json["completed"] == 20
    measured = [q for q in r.requests if q["phase"] == "measure"]
    warm = [q for q in r.requests if q["phase"] == "warmup"]
    assert (len(warm), len(measured)) == (12, 20)
    last_warm = max(q["sent_s"] * 1000 + q["e2el_ms"] for q in warm)
    assert last_warm <= min(q["sent_s"] for q in measured) * 1000 + 0.01


def test_b086_concurrency_on_the_wire(stoke, raw_server):
    import threading
    gate = threading.Barrier(150)

    def answer(request):
        gate.wait(60)
        return stream(text("x"), delta("stop"))

    server = raw_server(answer)
    r = stoke.load(server.url, "-c", 150, "-n", 150)
    assert server.peak == 150 and r.json["max_concurrent_requests"] == 150


@stalls_spoil_a_try
def test_b091_a_stalled_stream_fails_alone(stoke, raw_server):
    server = raw_server(lambda r: stream(
        text("x"), 30 if r.index == 1 else 0.01, text("y"), delta("stop")))
    r = stoke.load(server.url, "-n", 3, "-c", 3, "--idle-timeout", "500ms")
    timely(r.outcomes == {"ok": 2, "timeout_idle": 1}, r)
    assert r.seconds < 25


@pytest.mark.parametrize("flag, pause, outcome", [
    ("--timeout", (0, 30), "timeout_total"),
    ("--ttft-timeout", (30, 0), "timeout_ttft")])
@stalls_spoil_a_try
def test_b091_deadlines(stoke, raw_server, flag, pause, outcome):
    server = raw_server(lambda r: stream(
        pause[0], text("x"), pause[1], text("y"), delta("stop")))
    r = stoke.load(server.url, "-n", 2, "-c", 2, flag, "400ms", code=1)
    # A stall may leave not even a connection in time.
    timely("timeout_connect" not in r.outcomes, r)
    assert r.outcomes == {outcome: 2} and r.seconds < 25


@stalls_spoil_a_try
def test_b092_duration_drains(stoke, raw_server):
    server = raw_server(answer_after(0.7))
    r = stoke.load(server.url, "-d", 1, "-c", 2, "-n", 100)
    assert r.stoke["stop_reason"] == "duration"
    assert r.outcomes == {"ok": len(server.requests)}
    timely(len(server.requests) == 4, r)


@stalls_spoil_a_try
def test_b092_duration_cancels_without_drain(stoke, raw_server):
    server = raw_server(answer_after(0.7))
    r = stoke.load(server.url, "-d", 1, "-c", 2, "-n", 100, "--drain", 0)
    timely(r.outcomes == {"ok": 2, "cancelled": 2}, r)


def schedule(requests):
    return [(q["id"], round(q["due_s"], 6))
            for q in sorted(requests, key=lambda q: q["id"])]


def test_threads_change_nothing_that_is_sent(stoke, raw_server):
    seen = []
    for threads in (0, 1, 2, 4):
        server = raw_server(answer_after(0))
        r = stoke.load(server.url, "-R", 100, "-n", 60, "--seed", 7,
                       "--threads", threads)
        bodies = sorted(q.body for q in server.requests)
        seen.append((schedule(r.requests), bodies))
    assert all(s == seen[0] for s in seen[1:])


def test_seed_decides_what_is_sent(stoke, raw_server):
    bodies = []
    for seed in (1, 1, 2):
        server = raw_server(answer_after(0))
        stoke.load(server.url, "-n", 20, "--seed", seed, "-c", 1)
        bodies.append([q.body for q in server.requests])
    assert bodies[0] == bodies[1] != bodies[2]


# ---- ends ----

@pytest.mark.asan
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM,
                                    signal.SIGHUP])
def test_b132_interrupted_run_is_written(stoke, raw_server, number):
    server = raw_server(answer_after(0.2))
    p = stoke.start("-u", server.url, "-m", "m", "-d", 60, "-c", 2,
                    "--no-preflight")
    wait_until(lambda: len(server.requests) > 4)
    p.signal(number)
    r = p.wait(20)
    assert r.code == 130, r
    assert r.stoke["stop_reason"] == "interrupted"
    assert r.json["completed"] >= 3
    assert "Serving Benchmark Result" in r.out


def silent_tls(raw_server):
    """Connects, and never says a word of TLS."""
    server = raw_server(answer_after(0))
    return server, server.url.replace("http:", "https:")


@pytest.mark.parametrize("threads", [0, 2])
def test_b132_interrupted_before_the_first_request(stoke, raw_server, threads):
    server, url = silent_tls(raw_server)
    p = stoke.start("-u", url, "-m", "m", "-n", 200, "-c", 100,
                    "--no-preflight", "--threads", threads)
    wait_until(lambda: server.connections > 60)
    p.signal()
    r = p.wait(15)
    assert r.code == 130 and r.stoke["stop_reason"] == "interrupted", r
    assert r.json["completed"] == r.json["failed"] == 0
    assert "could not be opened" not in r.err


def test_b091_opening_takes_no_longer_than_an_answer_may(stoke, raw_server):
    _, url = silent_tls(raw_server)
    r = stoke.load(url, "-n", 1, "--timeout", "0.5s", code=1)
    assert r.outcomes == {"timeout_connect": 1} and r.seconds < 15


def test_b132_second_signal_cancels_the_drain(stoke, raw_server):
    server = raw_server(answer_after(60))
    p = stoke.start("-u", server.url, "-m", "m", "-c", 2, "-n", 4,
                    "--no-preflight")
    wait_until(lambda: len(server.requests) == 2)
    p.signal()
    time.sleep(0.3)
    assert p.popen.poll() is None
    p.signal()
    r = p.wait(10)
    assert r.code == 130 and r.outcomes == {"cancelled": 2}


def test_b132_killed_run_keeps_its_requests(stoke, raw_server):
    server = raw_server(answer_after(0.05))
    p = stoke.start("-u", server.url, "-m", "m", "-d", 60, "-c", 2,
                    "--no-preflight")
    wait_until(lambda: p.requests_out.exists()
               and p.requests_out.stat().st_size > 0)
    p.signal(signal.SIGKILL)
    r = p.wait()
    assert r.code == -signal.SIGKILL and r.requests and r.json is None


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds * PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.mark.asan
def test_b133_exit_statuses(stoke, raw_server):
    good = raw_server(answer_after(0)).url
    one_bad = raw_server(lambda r: UNAUTHORIZED if r.index == 5 else stream(
        text("x"), delta("stop"))).url
    stoke.load(good, "-n", 10, code=0)
    stoke.load(one_bad, "-n", 100, code=0)
    stoke.load(raw_server(UNAUTHORIZED).url, "-n", 10, code=1)
    stoke.load(good, "-n", "ten", code=2)
    stoke.load(good, "--no-such-flag", code=2)
    stoke.load(good, "no-such-scenario", code=2)


def test_b140_unknown_flag_suggests(stoke):
    r = stoke.run("--max-concurency", 4, code=2)
    assert "--max-concurrency" in r.err and not r.out


# ---- outputs ----

def test_b130_results_are_strict_json(stoke, raw_server):
    server = raw_server(UNAUTHORIZED)
    r = stoke.load(server.url, "-n", 1, "-R", "inf", code=1)
    assert r.json["request_rate"] == "inf"


@pytest.mark.asan
def test_b135_output_refuses_to_overwrite(stoke, raw_server, tmp_path):
    server = raw_server(answer_after(0))
    old = tmp_path / "old.json"
    old.write_text("precious")
    r = stoke.command("run", "-u", server.url, "-m", "m", "-n", 1, "-o",
                      old).wait()
    assert r.code == 2 and old.read_text() == "precious"
    assert "--force" in r.err and not server.requests
    r = stoke.command("run", "-u", server.url, "-m", "m", "-n", 1, "-o", old,
                      "--force", "--no-preflight").wait()
    assert r.code == 0 and json.loads(old.read_text())["completed"] == 1


def test_b136_same_results_with_and_without_a_terminal(stoke, raw_server):
    server = raw_server(answer_after(0.02))
    ways = [
        {},
        {"prefix": ["script", "-qec"], "shell_words": True},
        {"env": {"TERM": "dumb", "COLUMNS": None}},
    ]
    kept = []
    for way in ways:
        if way.pop("shell_words", False):
            p = terminal(stoke, server.url)
        else:
            p = stoke.start("-u", server.url, "-m", "m", "-n", 10, "-c", 2,
                            "--no-preflight", **way)
        r = p.wait()
        assert r.code == 0, r
        kept.append((r.json["completed"], sorted(r.json), sorted(r.stoke)))
        assert "Serving Benchmark Result" in r.out
        if "prefix" not in way:
            assert "\x1b" not in r.out + r.err
    assert kept[0] == kept[1] == kept[2]


def terminal(stoke, url):
    """The same run with a terminal of its own as stdout and stderr."""
    import shlex
    from harness.program import BINARY, Process
    output = stoke.directory / "terminal.json"
    line = shlex.join([BINARY, "run", "-u", url, "-m", "m", "-n", "10", "-c",
                       "2", "--no-preflight", "-o", str(output)])
    return Process(["script", "-qec", line, "/dev/null"], output=output,
                   env={"TERM": "xterm"}, cwd=stoke.directory)


def test_b137_json_on_stdout_is_alone(stoke, raw_server):
    server = raw_server(answer_after(0.01))
    r = stoke.command("run", "-u", server.url, "-m", "m", "-n", 3,
                      "--no-preflight", "-o", "-").wait()
    assert r.code == 0 and json.loads(r.out)["completed"] == 3


def test_quiet_says_nothing_on_the_way(stoke, raw_server):
    server = raw_server(answer_after(0.01))
    r = stoke.load(server.url, "-n", 3, "-q")
    assert r.err == ""
    assert "Successful requests:                     3         \n" in r.out


def test_secrets_are_in_no_output(stoke, raw_server):
    server = raw_server(answer_after(0))
    key = "sk-very-secret-0123456789"
    r = stoke.load(server.url, "-n", 2, "--api-key", key)
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert key not in json.dumps(r.json) + r.out + r.err
    assert key not in json.dumps(r.requests)
    assert "process list" in r.err


# ---- limits of this machine ----

def test_b111_few_files_are_refused_before_the_run(stoke, raw_server):
    server = raw_server(answer_after(0))
    r = stoke.start(
        "-u", server.url, "-m", "m", "-c", 200, "-n", 200, "--no-preflight",
        prefix=["sh", "-c", "ulimit -n 64; exec \"$0\" \"$@\""]).wait()
    assert r.code == 2 and "64" in r.err and not server.requests


def test_b111_soft_limit_is_raised(stoke, raw_server):
    server = raw_server(answer_after(0.05))
    r = stoke.start(
        "-u", server.url, "-m", "m", "-c", 100, "-n", 100, "--no-preflight",
        prefix=["sh", "-c", "ulimit -Sn 64; exec \"$0\" \"$@\""]).wait()
    assert r.code == 0 and r.outcomes == {"ok": 100}


@stalls_spoil_a_try
def test_busy_streams_keep_nobody_from_starting(stoke, mock):
    """Requests start in bursts; what is being read must not starve the next."""
    server = mock("--blast")
    r = stoke.load(server.url, "-c", 200, "-n", 200, "--max-tokens", 20000)
    assert r.outcomes == {"ok": 200}
    timely(r.json["max_concurrent_requests"] == 200, r)
