"""stoke compare and stoke trend: what of a difference is noise."""

import json
import random

import pytest


def write(path, ttft, *, seed=0, day=1, n=400, failed=0, limited=False, name="chat",
          concurrency=8):
    """Results as a run writes them, of latencies that are known."""
    draw = random.Random(seed)
    values = [ttft * draw.lognormvariate(0, 0.2) for _ in range(n)]
    buckets = [[int(v * 1e6), 1000, 1] for v in sorted(values)]
    hist = {"unit": "ns", "bits": 10, "count": n, "overflow": 0, "buckets": buckets}
    at = lambda p: sorted(values)[min(n - 1, int(p * n))]
    figures = {"mean": sum(values) / n, "p50": at(0.5), "p99": at(0.99), "count": n}
    rate = 1000 / ttft * concurrency
    path.write_text(json.dumps({
        "completed": n, "failed": failed, "model_id": "m",
        "total_input_tokens": 20 * n, "total_output_tokens": 10 * n,
        "latencies": [v / 1e3 for v in values],
        "stoke": {
            "kind": "run", "started_at": f"2026-01-{day:02d}T00:00:00Z", "seed": 0,
            "interrupted": False, "outcomes": {"timeout_total": 0},
            "scenario": {"name": name, "sha256": name, "params": {}},
            "load": {"loop": "closed", "max_concurrency": concurrency},
            "tokens": {"prompt": 20 * n, "cached": 0},
            "figures": {"completed": n, "failed": failed,
                        "request_throughput": rate, "output_throughput": 10 * rate},
            "client": {"verdict": "limited" if limited else "ok",
                       "reasons": ["send_lag p99 20 ms"] if limited else []},
            "latency": {"ttft": figures}, "hist": {"ttft": hist},
            "series": {"interval_s": 1, "done": [], "tokens": []}}}))
    return path.name


def command(stoke, name, *args, code=0):
    r = stoke.command(name, *args).wait(60)
    assert r.code == code, r
    return r


def verdicts(stoke, *files, code=0, args=()):
    r = command(stoke, "compare", *files, "-o", "-", *args, code=code)
    pair = json.loads(r.out)["comparisons"][0]
    return {k: v["verdict"] for k, v in pair["figures"].items()}, pair


def test_equal_runs_are_not_worse(stoke, tmp_path):
    a, b = (write(tmp_path / f"{i}.json", 50, seed=i, n=3000) for i in (1, 2))
    found, pair = verdicts(stoke, a, b, args=("--fail-on", "ttft.p99 > +10%"))
    assert found["ttft.mean"] == "same"
    assert set(found.values()) <= {"same", "can't tell"}
    assert pair["doubts"] == []


@pytest.mark.asan
def test_a_slower_run_is_worse_and_fails(stoke, tmp_path):
    a = write(tmp_path / "a.json", 50, seed=1, n=2000)
    b = write(tmp_path / "b.json", 60, seed=2, n=2000)
    found, _ = verdicts(stoke, a, b)
    assert found["ttft.p50"] == found["ttft.p99"] == "worse"
    found, _ = verdicts(stoke, b, a)
    assert found["ttft.p50"] == "better"
    r = command(stoke, "compare", a, b, "--fail-on", "ttft.p50 > +10%", code=99)
    assert "fails" in r.err and "worse" in r.out
    command(stoke, "compare", a, b, "--fail-on", "ttft.p50 > +50%")
    command(stoke, "compare", b, a, "--fail-on", "ttft.p50 > +10%")


def test_tiny_runs_cannot_tell(stoke, tmp_path):
    a = write(tmp_path / "a.json", 50, n=4)
    b = write(tmp_path / "b.json", 100, seed=1, n=4)
    found, _ = verdicts(stoke, a, b)
    assert found["ttft.p99"] == found["ttft.mean"] == "can't tell"
    r = command(stoke, "compare", a, b, "--fail-on", "ttft.p99 > +10%")
    assert "too few requests" in r.err


def test_runs_of_different_things_are_doubted(stoke, tmp_path):
    a = write(tmp_path / "a.json", 50)
    b = write(tmp_path / "b.json", 50, name="haiku", concurrency=16, limited=True)
    r = command(stoke, "compare", a, b)
    assert "scenario: chat against haiku" in r.out
    assert "max_concurrency: 8 against 16" in r.out
    assert "the client was the limit: send_lag" in r.out


def test_b131_several_runs_in_one_file(stoke, tmp_path):
    lines = [(tmp_path / write(tmp_path / f"{i}.json", 50, seed=i)).read_text()
             for i in (1, 2, 3)]
    (tmp_path / "all.jsonl").write_text("\n".join(lines) + "\n")
    r = command(stoke, "compare", "all.jsonl", "-o", "-")
    pairs = json.loads(r.out)["comparisons"]
    assert [(p["a"], p["b"]) for p in pairs] == [
        ("all.jsonl:1", "all.jsonl:2"), ("all.jsonl:1", "all.jsonl:3")]


@pytest.mark.asan
def test_real_runs_with_request_lines(stoke, mock, tmp_path):
    fast, slow = (mock("--ttft", ttft, "--itl", "1ms") for ttft in ("10ms", "150ms"))
    for name, server in (("a", fast), ("b", slow)):
        r = stoke.command("run", "-u", server.url, "-m", "m", "-n", 40, "-c", 4,
                          "--max-tokens", 3, "-o", f"{name}.json", "--requests-out",
                          f"{name}.jsonl", "-q").wait(60)
        assert r.code == 0, r
    found, pair = verdicts(stoke, "a.json", "b.json", code=99,
                           args=("--fail-on", "ttft.p50 > +20%"))
    assert found["ttft.p50"] == "worse"
    assert found["error_rate"] in ("same", "can't tell")
    # Too short for a sample a second; too few lines for finer ones.
    assert found["request_throughput"] == "can't tell"
    assert pair["figures"]["ttft.p50"]["change"] > 1


def run_of(stoke, server, name, *flags, code=0):
    r = stoke.command("run", "-u", server.url, "-m", "m", "--no-preflight", "-q", "-o",
                      f"{name}.json", *flags).wait(60)
    assert r.code == code, r
    return f"{name}.json"


def test_a_short_run_has_rates_from_its_lines(stoke, mock):
    fast, slow = (mock("--ttft", ttft) for ttft in ("10ms", "100ms"))
    files = [run_of(stoke, server, name, "-n", 240, "-c", 8, "--max-tokens", 1,
                    "--requests-out", f"{name}.jsonl")
             for name, server in (("a", fast), ("b", slow))]
    found, _ = verdicts(stoke, *files)
    assert found["request_throughput"] == found["output_throughput"] == "worse"


def test_what_is_not_comparable_is_said(stoke, mock):
    server, broken = mock("--ttft", "1ms", "--itl", "1ms"), mock("--fault", "status:500")
    flags = ("-n", 20, "-c", 4, "--max-tokens", 3)
    a = run_of(stoke, server, "a", *flags)
    whole = run_of(stoke, server, "whole", *flags, "--no-stream")
    none = run_of(stoke, broken, "none", *flags, code=1)
    assert "both are the run of" in command(stoke, "compare", a, a).out
    assert "are streamed" in command(stoke, "compare", a, whole).out
    assert "none.json: nothing succeeded" in command(stoke, "compare", a, none).out
    # What has no such figure does not pass, whichever lacks it.
    limit = ("--fail-on", "ttft.p99 > +10%")
    for pair in ((a, none), (none, a), (a, whole)):
        r = command(stoke, "compare", *pair, *limit, code=99)
        assert "ttft.p99 > +10%: fails: none in" in r.err
    command(stoke, "compare", none, a, "--fail-on", "ttft.p99 > 60s")
    command(stoke, "compare", a, none, "--fail-on", "error_rate > 1%", code=99)


def test_b131_a_half_written_line_is_left_out(stoke, tmp_path):
    one, two, three = ((tmp_path / write(tmp_path / f"{i}.json", 50, seed=i)).read_text()
                       for i in (1, 2, 3))
    (tmp_path / "cut.jsonl").write_text(f"{one}\n{two}\n{three[:900]}")
    r = command(stoke, "compare", "cut.jsonl", "-o", "-")
    assert "cut.jsonl:3: cut off in the middle" in r.err
    assert len(json.loads(r.out)["comparisons"]) == 1
    # In the middle of the file it is none.
    (tmp_path / "bad.jsonl").write_text(f"{one}\n{three[:900]}\n{two}\n")
    assert "bad.jsonl:2: not JSON" in command(stoke, "compare", "bad.jsonl", code=2).err


@pytest.mark.parametrize("args, says", [
    ((), "two results files"),
    (("none.json", "a.json"), "No such file"),
    (("bad.json", "a.json"), "bad.json:1: not JSON"),
    (("sweep.json", "a.json"), "whole sweep"),
    (("vllm.json", "a.json"), 'no "stoke" in it'),
    (("half.json", "a.json"), 'no "latency" in its "stoke"'),
    (("a.json", "a.json", "--fail-on", "ttft.p99 > +10"), "in %"),
    (("a.json", "a.json", "--fail-on", "ttft.p77 > +10%"), "no figure"),
])
def test_mistakes(stoke, tmp_path, args, says):
    write(tmp_path / "a.json", 50)
    (tmp_path / "bad.json").write_text("{]")
    (tmp_path / "vllm.json").write_text('{"completed": 3, "mean_ttft_ms": null}')
    (tmp_path / "half.json").write_text('{"stoke": {"figures": {}, "latency": null}}')
    (tmp_path / "sweep.json").write_text('{"kind": "sweep", "levels": []}')
    assert says in command(stoke, "compare", *args, code=2).err


@pytest.mark.asan
def test_trend_marks_what_left_the_band(stoke, tmp_path):
    names = [write(tmp_path / f"{i}.json", 80 if i == 3 else 50, seed=i, day=9 - i)
             for i in range(1, 8)]
    r = command(stoke, "trend", *names)
    lines = r.out.splitlines()[1:-1]
    assert [line.split()[-1] for line in lines] == [f"{i}.json" for i in range(7, 0, -1)]
    assert ["!" in line for line in lines] == [n == "3.json" for n in reversed(names)]
    # The latest one decides.
    write(tmp_path / "8.json", 90, seed=8, day=20)
    command(stoke, "trend", *names, "8.json", code=99)
    # One before it, only when that is asked.
    assert "3.json" in names[2] and command(stoke, "trend", *names).code == 0
    command(stoke, "trend", *names, "--fail-on-any", code=99)


def vllm_result(path, ttft_s, *, day=1, n=300, seed=0, detailed=True, **more):
    """As `vllm bench serve --save-result` writes it."""
    draw = random.Random(seed)
    ttfts = [ttft_s * draw.lognormvariate(0, 0.2) for _ in range(n)]
    result = {
        "date": f"202601{day:02d}-120000", "endpoint_type": "openai",
        "backend": "openai", "label": None, "model_id": "m", "num_prompts": n,
        "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8,
        "duration": n * 1.0, "completed": n, "failed": 0,
        "total_input_tokens": 20 * n, "total_output_tokens": n,
        "request_throughput": 1.0, "request_goodput": None,
        "output_throughput": 1.0, "total_token_throughput": 21.0,
        "latencies": ttfts, "queue_times": [0.0] * n,
        "mean_ttft_ms": 1e3 * sum(ttfts) / n, "p99_ttft_ms": 1e3 * max(ttfts),
        "median_ttft_ms": 1e3 * sorted(ttfts)[n // 2],
        "mean_tpot_ms": 0.0, "median_tpot_ms": 0.0, "p99_tpot_ms": 0.0}
    if detailed:
        result |= {"ttfts": ttfts, "output_lens": [1] * n, "errors": [""] * n,
                   "start_times": [100.0 + i for i in range(n)]}
    path.write_text(json.dumps(result | more))
    return path.name


def test_results_of_vllm_are_read(stoke, tmp_path):
    a = vllm_result(tmp_path / "a.json", 0.05, seed=1)
    b = vllm_result(tmp_path / "b.json", 0.08, seed=2, day=2)
    found, pair = verdicts(stoke, a, b)
    assert found["ttft.mean"] == "worse" and pair["doubts"] == []
    # Its 0 means that there was none.
    assert "tpot.mean" not in found and "tpot.p99" not in found
    # Without the arrays there is nothing to judge noise by.
    b = vllm_result(tmp_path / "b.json", 0.08, seed=2, detailed=False)
    found, _ = verdicts(stoke, a, b)
    assert found["ttft.mean"] == "can't tell"


def test_results_of_vllm_beside_ours(stoke, tmp_path):
    a = vllm_result(tmp_path / "a.json", 0.05, day=1)
    b = write(tmp_path / "b.json", 50, day=2)
    _, pair = verdicts(stoke, a, b)
    assert any("definitions of figures" in x for x in pair["doubts"])
    # What was not saved is not taken for none.
    command(stoke, "compare", b, a, "--fail-on", "timeout_rate > 1%", code=99)
    del_failed = vllm_result(tmp_path / "old.json", 0.05, failed=None)
    found, _ = verdicts(stoke, a, del_failed)
    assert "error_rate" not in found
    r = command(stoke, "trend", a, b)
    lines = r.out.splitlines()
    assert lines[1].startswith("2026-01-01 12:00:00") and lines[2].startswith("2026-01-02")


def test_other_json_is_refused(stoke, tmp_path):
    (tmp_path / "x.json").write_text('{"completed": 3}')
    a = vllm_result(tmp_path / "a.json", 0.05)
    r = command(stoke, "compare", a, "x.json", code=2)
    assert "x.json: not the results of `stoke run`" in r.err


def odd(path, **changes):
    """Results with something else in a place: {"stoke.hist.ttft": 5}."""
    write(path, 50)
    whole = json.loads(path.read_text())
    for place, value in changes.items():
        *folders, last = place.split(".")
        part = whole
        for folder in folders:
            part = part[folder]
        part[last] = value
    path.write_text(json.dumps(whole))
    return path.name


@pytest.mark.parametrize("place, value, says", [
    ("stoke.schema", 9, "its schema is 9; this version of stoke reads 1"),
    ("stoke.latency.ttft", {"p99": "fast"}, "its stoke.latency.ttft is not"),
    ("stoke.latency.ttft", 7, "its stoke.latency.ttft is not"),
    ("stoke.figures.completed", "all", "its stoke.figures.completed is not"),
    ("completed", None, "its completed is not"),
    ("stoke.hist.ttft", {"x": [1, 2]}, "its stoke.hist.ttft is not"),
    ("stoke.hist.ttft", {"count": 1, "buckets": [[1, 2]]}, "its stoke.hist.ttft"),
    ("stoke.series.done", 5, "its stoke.series.done is not"),
    ("stoke.started_at", None, "its stoke.started_at is not"),
    ("stoke.started_at", 5, "its stoke.started_at is not"),
])
def test_results_that_nobody_wrote_are_refused(stoke, tmp_path, place, value, says):
    a = write(tmp_path / "a.json", 50)
    b = odd(tmp_path / "b.json", **{place: value})
    for name in ("compare", "trend"):
        r = command(stoke, name, a, b, code=2)
        assert f"b.json: {says}" in r.err and "traceback" not in r.err


@pytest.mark.parametrize("text, says", [
    ("", "x.json: is empty"), ("\n \n", "x.json: is empty"),
    ("null", "x.json:1: not the results of a run"),
    ("[]", "x.json: not the results"),
])
def test_files_without_a_run_are_refused(stoke, tmp_path, text, says):
    (tmp_path / "x.json").write_text(text)
    a = write(tmp_path / "a.json", 50)
    for name in ("compare", "trend"):
        r = command(stoke, name, a, "x.json", code=2)
        assert says in r.err


def test_a_figure_of_any_size_keeps_to_its_column(stoke, tmp_path):
    a = write(tmp_path / "a.json", 50)
    b = odd(tmp_path / "b.json", **{"stoke.latency.ttft": {"mean": 1e300}})
    assert "1e+300" in command(stoke, "compare", a, b).out


def test_b130_results_of_vllm_with_python_numbers(stoke, tmp_path):
    a = vllm_result(tmp_path / "a.json", 0.05)
    b = vllm_result(tmp_path / "b.json", 0.05, seed=1, day=2,
                    request_rate=float("inf"), p99_tpot_ms=float("nan"))
    assert "Infinity" in (tmp_path / "b.json").read_text()
    found, pair = verdicts(stoke, a, b)
    assert "ttft.mean" in found and pair["doubts"] == []
    r = command(stoke, "trend", a, b)
    assert "not the same" not in r.err
