"""stoke find: the saturation point of a server that is known to have one."""

import statistics

import pytest
from harness.program import PATIENCE

ASK = """
return {
  request = function(ctx) return { prompt = "hi there", max_tokens = %d } end,
}
"""


def find(stoke, server, directory, tokens, *flags, **keywords):
    (directory / "case.lua").write_text(ASK % tokens)
    keywords.setdefault("timeout", 150 * PATIENCE)
    return stoke.run("case.lua", "-u", server.url, "-m", "m", "--no-preflight",
                     *flags, verb="find", **keywords)


# Capacity in answers a second: slots / (tokens x step); a step "A+B" takes
# A + B x slots.
@pytest.mark.parametrize("slots, step, tokens, start, capacity", [
    (8, "10ms", 4, 60, 200),
    (16, "12ms+500us", 4, 50, 200),
    (8, "20ms", 2, 30, 200),
])
def test_the_knee_is_where_the_mock_says(stoke, mock, tmp_path, slots, step,
                                         tokens, start, capacity):
    server = mock("--slots", slots, "--step", step)
    r = find(stoke, server, tmp_path, tokens, "--arrival", "constant",
             "--from", start, "--window", "500ms")
    found = r.json["stoke"]["custom"]["find"]
    # A busy machine steps late: what it did under too much load is the truth
    # then, and a client that says itself that it was starved is held to less.
    done = statistics.median(p["request_throughput"] for p in found["curve"]
                             if not p["ok"] and p.get("request_throughput"))
    starved = r.json["stoke"]["client"]["verdict"] != "ok"
    assert found["best"] == pytest.approx(min(done, capacity),
                                          rel=0.25 if starved else 0.03)
    assert found["best"] < found["fails_at"] <= found["best"] * 1.021
    assert all(p["ok"] == (p["x"] <= found["best"]) for p in found["curve"])
    assert "Highest request_rate that holds" in r.out


def test_concurrency_until_an_slo_breaks(stoke, mock, tmp_path):
    server = mock("--slots", 4, "--step", "10ms")
    r = find(stoke, server, tmp_path, 10, "--of", "concurrency",
             "--window", "500ms", "--slo", "ttft.p90 < 60ms")
    found = r.json["stoke"]["custom"]["find"]
    # Up to the slots nobody waits; a fifth waits for an answer of 100 ms.
    assert found["best"] in (4, 5)
    assert "ttft.p90" in found["curve"][-1]["why"]


def test_nothing_holds(stoke, mock, tmp_path):
    server = mock("--ttft", "50ms")
    r = find(stoke, server, tmp_path, 2, "--slo", "ttft.p50 < 1ms", "--from",
             40, "--window", "300ms", code=1)
    assert "Not even request_rate 40 holds" in r.out


def test_a_scenario_that_drives_itself_is_refused(stoke, tmp_path):
    (tmp_path / "case.lua").write_text(
        "return { request = function() end, control = function(run) end }")
    r = stoke.run("case.lua", "-m", "m", verb="find", code=2)
    assert "control function of its own" in r.err
