"""Field cases of section b: what the figures mean, from the whole program.
The formulas have unit tests; here they must survive the way to the files."""

import json

import pytest
from harness.raw import DONE, RST, delta, stream, text, usage, whole
from harness.stalls import stalls_spoil_a_try, timely

pytestmark = pytest.mark.asan


def ok(request=None):
    return stream(text("fine"), delta("stop"), usage(3, 1))


@pytest.fixture
def one(stoke, raw_server):
    def run(answer, *flags, **keywords):
        server = raw_server(answer)
        r = stoke.load(server.url, *flags, "-n", 1, **keywords)
        return r.requests[0], r

    return run


@stalls_spoil_a_try
def test_b034_several_tokens_a_chunk(one):
    steps = []
    for _ in range(10):
        steps += [0.009, text("a b c")]
    q, r = one(lambda r: stream(*steps, delta("stop"), usage(5, 30)))
    assert len(q["itl_ms"]) == 9
    # What waits to be read while we stall becomes one segment.
    timely(min(q["itl_ms"]) > 7, q)
    assert q["tpot_ms"] == pytest.approx(
        (q["e2el_ms"] - q["ttft_ms"]) / 29, abs=0.01)
    assert q["chunks"] == 10 and q["tokens"] == 30


def test_b035_peak_is_never_below_the_mean(stoke, mock):
    server = mock("--ttft", "50ms", "--itl", "9ms", "--tokens-per-chunk", 3)
    r = stoke.load(server.url, "-n", 20, "-c", 5, "--max-tokens", 120)
    assert r.json["max_output_tokens_per_s"] >= r.json["output_throughput"]


def test_b036_chunks_are_counted_when_usage_is_absent(one):
    q, _ = one(lambda r: stream(*[text(" ")] * 15, delta("stop")))
    assert q["tokens"] == 15 and q["token_source"] == "chunks"


def test_b037_one_token_has_no_tpot(stoke, raw_server):
    server = raw_server(ok)
    r = stoke.load(server.url, "-n", 5)
    assert r.json["completed"] == 5 and r.json["mean_tpot_ms"] is None
    assert r.json["mean_ttft_ms"] > 0
    assert r.stoke["latency"]["tpot"]["count"] == 0
    assert r.stoke["latency"]["ttft"]["count"] == 5


def test_b040_failures_stand_beside_the_latencies(stoke, raw_server):
    server = raw_server(lambda r: ok() if r.index % 2 else [whole(
        {"error": {"message": "busy"}}, "503 Service Unavailable")])
    r = stoke.load(server.url, "-n", 20)
    assert r.outcomes == {"ok": 10, "http_5xx": 10}
    assert r.json["failed"] == 10
    assert [e["status"] for e in r.stoke["errors"]] == [503]
    assert "Failed requests:                         10 " in r.out


def test_b041_nothing_is_retried(stoke, raw_server):
    server = raw_server(lambda r: ok() if r.index else [whole(
        "{}", "503 Service Unavailable")])
    r = stoke.load(server.url, "-n", 1, code=1)
    assert len(server.requests) == 1 and r.json["failed"] == 1


def test_b042_every_kind_of_failure_is_told(stoke, raw_server):
    def answer(request):
        if request.index in (10, 20, 30):
            return stream()
        if request.index in (40, 50):
            return [RST]
        # Kept connections that die are tried again; this one is not kept.
        return stream(text("fine"), delta("stop"), lines=["Connection: close"])

    r = stoke.load(raw_server(answer).url, "-n", 100, "-c", 1)
    assert r.outcomes == {"ok": 95, "empty": 3, "reset": 2}, r
    below = r.out.split("=" * 50)[-1] + r.err
    assert "empty" in below and "reset" in below
    for e in r.stoke["errors"]:
        assert e["message"] or e["hint"], e


def test_b045_timeout_0_is_none(one):
    q, r = one(lambda r: stream(0.05, text("x"), delta("stop")),
               "--timeout", 0)
    assert r.outcomes == {"ok": 1}


@stalls_spoil_a_try
def test_b046_absurd_rate_is_told_as_it_was(stoke, mock):
    server = mock()
    r = stoke.load(server.url, "-R", 1e6, "-d", 1, "-c", 8, "--max-tokens", 1,
                   timeout=90)
    timely(r.json["duration"] == pytest.approx(1, abs=0.4), r)
    assert r.json["request_throughput"] <= (
        r.json["completed"] / r.json["duration"] * 1.001)
    assert r.stoke["figures"]["unsent"] > 9e5
    assert "never sent" in r.out


def test_b047_no_sample_is_invented(stoke, raw_server):
    server = raw_server(lambda r: stream(
        1.0 if r.index == 20 else 0.001, text("x"), delta("stop")))
    r = stoke.load(server.url, "-n", 100, "-c", 1)
    assert r.stoke["latency"]["ttft"]["count"] == 100
    assert r.stoke["latency"]["ttft"]["max"] > 1000
    assert r.json["median_ttft_ms"] < 500


@pytest.mark.parametrize("answer", [
    [whole("")], [whole("", content_type="text/event-stream")],
    [whole(DONE, content_type="text/event-stream")]],
    ids=["empty", "empty stream", "done"])
def test_b050_unset_is_null_and_never_negative(one, answer):
    q, r = one(answer, code=1)
    assert q["outcome"] != "ok" and q["ttft_ms"] is None
    assert r.json["mean_ttft_ms"] is None


@stalls_spoil_a_try
def test_b051_tokens_in_the_window_are_told_apart(stoke, mock):
    server = mock("--itl", "100ms", "--tokens", 60)
    r = stoke.load(server.url, "-d", 3, "-c", 1, "--drain", 0, code=None)
    assert r.json["completed"] == 0 and r.outcomes == {"cancelled": 1}
    assert r.json["output_throughput"] == 0
    timely(r.stoke["figures"]["window_output_throughput"] == pytest.approx(10, abs=2.5), r)


@stalls_spoil_a_try
def test_b052_stalls_show_in_itl_not_only_in_tpot(one):
    steps = [text("t"), *[0.01, text("t")] * 10, 0.5, text("t"),
             *[0.01, text("t")] * 10]
    q, r = one(lambda r: stream(*steps, delta("stop")))
    assert r.stoke["latency"]["itl"]["count"] == 21
    timely(r.stoke["latency"]["itl"]["max"] >= 500, r)
    timely(20 < q["tpot_ms"] < 300, q)


def test_b053_waiting_for_a_slot_is_queueing(stoke, raw_server):
    server = raw_server(lambda r: stream(0.1, text("x"), delta("stop")))
    r = stoke.load(server.url, "-R", 100, "--arrival", "constant", "-c", 1,
                   "-n", 20)
    queue = [q["queue_ms"] for q in sorted(r.requests, key=lambda q: q["id"])]
    assert queue[19] > 1600 and queue == sorted(queue)
    assert server.peak == 1
    for q in r.requests:
        assert q["e2el_due_ms"] == pytest.approx(
            q["queue_ms"] + q["e2el_ms"], abs=0.01)


def test_b055_everything_refused(stoke, refused):
    r = stoke.load(refused, "-n", 3, code=1)
    assert r.outcomes == {"connect": 3}
    assert r.json["request_throughput"] in (0, None)


def test_b057_content_beside_the_finish_reason(one):
    q, _ = one(lambda r: stream(delta("length", content="x")))
    assert q["outcome"] == "ok" and q["chunks"] == 1
    assert q["tpot_ms"] is None and q["finish_reason"] == "length"


def test_b061_usage_before_text_in_plain_answers(one):
    message = {"role": "assistant", "content": "ten words",
               "reasoning_content": "five hundred words"}
    q, _ = one([whole({"choices": [{"index": 0, "message": message,
                                    "finish_reason": "stop"}],
                       "usage": {"prompt_tokens": 9,
                                 "completion_tokens": 512}})], "--no-stream")
    assert q["tokens"] == 512 and q["token_source"] == "usage"


def test_b062_no_text_is_no_token(one):
    q, r = one(lambda r: stream(delta(role="assistant"), delta("stop"),
                                usage(5, 0)), "--max-tokens", 128, code=1)
    assert q["ttft_ms"] is None and not q["tokens"]
    assert r.json["total_output_tokens"] == 0


@stalls_spoil_a_try
def test_b066_waiting_for_the_timetable_is_no_latency(stoke, raw_server):
    server = raw_server(lambda r: stream(0.1, text("x"), delta("stop")))
    r = stoke.load(server.url, "-R", 10, "-c", 100, "-n", 20)
    timely(r.stoke["latency"]["e2el"]["p50"] < 250, r)


@pytest.mark.parametrize("tail, expected", [
    ([], (3, "chunks")), ([usage(4, 2)], (2, "usage"))])
def test_b070_counting_chunks_is_called_so(one, tail, expected):
    q, r = one(lambda r: stream(text("Hel"), text("lo"), text(" world"),
                                delta("stop"), *tail))
    assert (q["tokens"], q["token_source"]) == expected


def test_b071_prefill_speed_needs_a_stream(one):
    _, r = one([whole({"choices": [{"index": 0, "finish_reason": "stop",
                                    "message": {"content": "x"}}],
                       "usage": {"prompt_tokens": 900,
                                 "completion_tokens": 1}})], "--no-stream")
    figures = json.dumps(r.json)
    assert '"prefill_tokens_per_s": null' in figures or \
        "prefill_tokens_per_s" not in figures


def test_formulas_of_vllm(stoke, mock):
    server = mock("--ttft", "30ms", "--itl", "5ms", "--tokens", 10)
    r = stoke.load(server.url, "-n", 12, "-c", 4)
    j = r.json
    assert j["completed"] == 12 and j["total_output_tokens"] == 120
    assert j["request_throughput"] == pytest.approx(12 / j["duration"])
    assert j["output_throughput"] == pytest.approx(120 / j["duration"])
    assert j["total_token_throughput"] == pytest.approx(
        (120 + j["total_input_tokens"]) / j["duration"])
    assert j["max_concurrent_requests"] == 4
    ttfts = [q["ttft_ms"] for q in r.requests]
    assert j["mean_ttft_ms"] == pytest.approx(sum(ttfts) / 12, abs=0.001)


# ---- --plot ----

def fake_gnuplot(directory):
    """It says what it was told. Alone on PATH."""
    fake = directory / "bin" / "gnuplot"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text("#!/bin/sh\nwhile read line; do echo \"G $line\"; done\n")
    fake.chmod(0o755)
    return {"PATH": str(fake.parent)}


def points(text):
    """What gnuplot was given, a list of (x, y) for each plot."""
    plots, inside = [], False
    for line in text.splitlines():
        if line.startswith("G plot "):
            plots.append([])
            inside = True
        elif line == "G e":
            inside = False
        elif inside:
            plots[-1].append(tuple(float(x) for x in line.split()[1:]))
    return plots


@stalls_spoil_a_try
def test_a_plot_of_ttft_by_gnuplot(stoke, mock, tmp_path):
    server = mock("--ttft", "normal:30ms:5ms", "--tokens", 2)
    env = fake_gnuplot(tmp_path)
    r = stoke.load(server.url, "-n", 100, "-c", 20, "--plot", env=env)
    assert "G set xlabel 'TTFT, ms'" in r.out and "G plot '-' with histeps" in r.out
    (bins,) = points(r.out)
    drawn = sum(n for _, n in bins)
    assert 95 <= drawn <= 100
    # A tail of stalls makes the bins wide.
    timely(r.json["stoke"]["latency"]["ttft"]["min"] == pytest.approx(bins[0][0], abs=5), bins)
    # JSON has the standard output for itself.
    r = stoke.command("run", "-u", server.url, "-m", "m", "-n", 5, "--plot", "-o", "-",
                      env=env).wait()
    assert json.loads(r.out)["completed"] == 5 and "G plot" in r.err


def test_a_plot_without_gnuplot_is_a_line_of_blocks(stoke, mock, tmp_path):
    server = mock("--ttft", "normal:30ms:5ms", "--tokens", 2)
    r = stoke.load(server.url, "-n", 50, "-c", 10, "--plot", env={"PATH": str(tmp_path)})
    (line,) = [x for x in r.out.splitlines() if "gnuplot would draw it" in x]
    assert line.startswith("requests by TTFT ") and len(set(line) & set("▁▂▃▄▅▆▇█")) >= 2


def test_nothing_to_plot_is_no_error(stoke, mock, tmp_path):
    server = mock("--fault", "status:500")
    r = stoke.load(server.url, "-n", 2, "--plot", env=fake_gnuplot(tmp_path), code=1)
    assert "G plot" not in r.out


def test_the_real_gnuplot_draws(stoke, mock):
    server = mock("--ttft", "normal:30ms:5ms", "--tokens", 2)
    r = stoke.load(server.url, "-n", 50, "-c", 10, "--plot")
    assert "requests by TTFT" in r.out and "+-----" in r.out and "gnuplot" not in r.out


def test_find_plots_its_curve(stoke, mock, tmp_path):
    server = mock("--ttft", "2ms", "--tokens", 1)
    r = stoke.run("-u", server.url, "-m", "m", "--no-preflight", "--of", "concurrency",
                  "--most", 2, "--window", "200ms", "--plot", verb="find",
                  env=fake_gnuplot(tmp_path))
    throughput, ttft = points(r.out)
    assert [x for x, _ in throughput] == [x for x, _ in ttft] == [1, 2]
    assert all(y >= 1.9 for _, y in ttft) and "G set xlabel 'concurrency'" in r.out
