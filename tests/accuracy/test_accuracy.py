"""Our own error, as a number: what stoke says of each request against what
the server wrote into its log about the same one.

The mock is asked for a first token after 50 ms and one each 10 ms; where it
is late itself (it shares two cores with the client) its log says so, and the
log is the truth. `make accuracy` prints the table; tests/README.md keeps one.
The bounds are generous: they catch a wrong clock, not a slow machine."""

import resource
import statistics

import pytest
from harness.stalls import stalls_spoil_a_try, timely

TTFT, ITL = 50, 10
SCENARIO = """
return {
  request = function(ctx)
    return { prompt = "How far off are we?",
             headers = { ["x-request-id"] = tostring(ctx.id) } }
  end,
}
"""


def ms(ns):
    return ns / 1e6


def percentile(values, p):
    values = sorted(values)
    at = p / 100 * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def compare(requests, log):
    """Errors in ms: of every TTFT, and of every gap between tokens."""
    truth = {line["request_id"]: line for line in log if line["request_id"]}
    ttft, gaps, server_ttft, server_gaps = [], [], [], []
    for q in requests:
        line = truth[str(q["id"])]
        events = line["events_ns"]
        own = [ms(b - a) for a, b in zip(events, events[1:])]
        assert len(own) == len(q["itl_ms"])
        first = ms(events[0] - line["recv_ns"])
        ttft.append(q["ttft_ms"] - first)
        server_ttft.append(first)
        gaps += [a - b for a, b in zip(q["itl_ms"], own)]
        server_gaps += own
    return ttft, gaps, server_ttft, server_gaps


HEADINGS = ("streams", "tokens", "TTFT error mean", "p99", "ITL error mean",
            "deviation", "mock: TTFT", "ITL deviation", "client")
ROW = "{:>7}  {:>7}  {:>15}  {:>7}  {:>14}  {:>9}  {:>10}  {:>13}  {}"


@pytest.fixture(scope="module")
def table():
    rows = []
    yield rows
    print("\n\nmilliseconds, stoke against the server's log")
    print(ROW.format(*HEADINGS))
    for row in rows:
        print(ROW.format(*row))


@pytest.mark.parametrize("streams, requests, mean_limit, p99_limit, deviation", [
    (1, 5, 2, 5, 2),
    (100, 200, 5, 25, 5),
    (1000, 1000, 20, 80, 30),
])
@stalls_spoil_a_try
def test_against_the_servers_log(stoke, mock, tmp_path, table, streams,
                                 requests, mean_limit, p99_limit, deviation):
    tokens = 100
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < streams + 100:
        pytest.skip("too few open files are allowed")
    (tmp_path / "numbered.lua").write_text(SCENARIO)
    server = mock("--ttft", f"{TTFT}ms", "--itl", f"{ITL}ms", "--tokens",
                  tokens, "--log-tokens")
    r = stoke.load(server.url, "numbered.lua", "-c", streams, "-n", requests,
                   "--max-tokens", tokens)
    assert r.outcomes == {"ok": requests}
    ttft, gaps, server_ttft, server_gaps = compare(r.requests, server.stop())
    client = r.stoke["client"]
    row = (
        streams, len(gaps) + len(ttft), f"{statistics.fmean(ttft):.3f}",
        f"{percentile(ttft, 99):.3f}", f"{statistics.fmean(gaps):.4f}",
        f"{statistics.pstdev(gaps):.3f}", f"{statistics.fmean(server_ttft):.2f}",
        f"{statistics.pstdev(server_gaps):.3f}", client["verdict"])
    assert min(ttft) > -0.1, "earlier than it was sent: a wrong clock"
    timely(statistics.fmean(ttft) < mean_limit
           and percentile(ttft, 99) < p99_limit
           and abs(statistics.fmean(gaps)) < 1
           and statistics.pstdev(gaps) < deviation, row)
    table.append(row)
