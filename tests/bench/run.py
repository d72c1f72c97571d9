#!/usr/bin/env python3
"""run.py BUILD [PART…]: what stoke costs, beside raw readers and wrk.

Everything runs against the bench's own stream sender (sender.c), which is
pinned to core 1 and reports how late it was itself: where it fell behind, the
row says `void` and means nothing. Clients are pinned to core 0 and measured
in alternation, so that a noisy neighbour hits all of them; a row is the
median of ROUNDS. Targets are ratios, taken in the same run.

PARTs: decode blast paced clock memory start short fair lua (default: all)."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / sys.argv[1]
PARTS = sys.argv[2:]
ROUNDS = int(os.environ.get("ROUNDS", 3))
SECONDS = int(os.environ.get("SECONDS_EACH", 2))
CLIENT_CORE, SERVER_CORE = (0, 1) if os.cpu_count() > 1 else (0, 0)
STOKE = str(BUILD / "stoke")


def pin(core):
    return lambda: os.sched_setaffinity(0, {core})


class Sender:
    def __init__(self):
        self.process = subprocess.Popen(
            [BUILD / "bench" / "sender"], stdout=subprocess.PIPE, text=True,
            preexec_fn=pin(SERVER_CORE))
        self.port = int(self.process.stdout.readline().split()[1])

    def lag(self):
        """How late it sent since the last call: the p99 in us."""
        url = f"http://127.0.0.1:{self.port}/lag"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["lag"].get("p99_us", 0)


def run(args, fine=(0,)):
    """(stdout, CPU seconds, maximal RSS in KB, wall seconds) on the client's
    core."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.monotonic()
        child = subprocess.Popen([str(a) for a in args], stdout=out,
                                 stderr=subprocess.PIPE, cwd=BUILD,
                                 preexec_fn=pin(CLIENT_CORE))
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
        if os.waitstatus_to_exitcode(status) not in fine:
            sys.exit(f"{' '.join(map(str, args))}: status {status}\n"
                     + child.stderr.read().decode())
        child.stderr.close()
        out.seek(0)
        return (out.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss,
                wall)


def program(name, sender, path, conns, *more):
    """One of our bench programs; they print a JSON object."""
    out, *_ = run([BUILD / "bench" / name, "--port", sender.port, "--path",
                   path, "--conns", conns, "--seconds", SECONDS, *more])
    return json.loads(out)


def stoke(sender, path, conns, *more, seconds=SECONDS):
    """A run of the program: its results, with what the process used."""
    with tempfile.TemporaryDirectory() as home:
        file = os.path.join(home, "results.json")
        # 1: every answer was still under way when time was up.
        _, cpu, rss, wall = run(fine=(0, 1), args=[
            STOKE, "run", *more, "-u", f"http://127.0.0.1:{sender.port}",
            "-m", "m", "--endpoint", path, "-c", conns, "-d", seconds,
            "--drain", 0, "--no-preflight", "-q", "-o", file])
        with open(file) as f:
            results = json.load(f)
    results.update(cpu_s=cpu, rss_kb=rss, wall_s=wall)
    return results


def tokens(results):
    """All that arrived, those of answers that were cut at the end too."""
    figures = results["stoke"]["figures"]
    return figures["window_output_throughput"] * figures["window_s"]


ROW = "{:<46} {:>12} {:>12} {:>8}  {:<14} {}"


def row(what, ours, theirs, ratio, target, note=""):
    print(ROW.format(what, ours, theirs, ratio, target, note), flush=True)


def rounds(*functions):
    """Each in turn, ROUNDS times; a list of results for each."""
    results = [[] for _ in functions]
    for _ in range(ROUNDS):
        for kept, function in zip(results, functions):
            kept.append(function())
    return results


def rotating_rounds(n, *functions):
    """n rounds, of which each begins with another one."""
    results = [[] for _ in functions]
    for i in range(n):
        for j in range(len(functions)):
            k = (i + j) % len(functions)
            results[k].append(functions[k]())
    return results


def median(results, of):
    return statistics.median(map(of, results))


def decode(_):
    """Reading events without sockets, beside cJSON for each."""
    out, *_ = run([BUILD / "bench" / "bench_wire"])
    rate = dict(re.findall(r"^(\w+(?: \w+)?) +([\d.]+) M events/s", out, re.M))
    for name in ("wire", "wire walk"):
        row(f"decode, M events / s: {name}", rate[name], rate["cjson"],
            f"{float(rate[name]) / float(rate['cjson']):.1f}", "",
            "beside: cJSON for each event")


def blast(sender):
    for conns in (64, 1024):
        path = "/blast?tokens=1000"
        raw, transport, whole = rounds(
            lambda: program("reader", sender, path, conns),
            lambda: program("bench_xfer", sender, path, conns),
            lambda: stoke(sender, path, conns))
        reader = median(raw, lambda r: r["events_per_cpu_s"])
        xfer = median(transport, lambda r: r["events_per_cpu_s"])
        ours = median(whole, lambda r: tokens(r) / r["cpu_s"])
        name = f"blast, {conns} streams, M events / CPU s"
        row(name + ": net/xfer", f"{xfer / 1e6:.2f}", f"{reader / 1e6:.1f}",
            f"{xfer / reader:.3f}", "")
        row(name, f"{ours / 1e6:.2f}", f"{reader / 1e6:.1f}",
            f"{ours / reader:.3f}", ">= 0.10, >= 4")


def paced_path(itl):
    """Answers of two seconds: the raw reader has to see one beforehand."""
    return (f"/paced?tokens={int(2000 / itl)}&ttft_us=50000"
            f"&itl_us={int(itl * 1000)}")


def marginal(sender, path, conns):
    """CPU us a token in a run that goes on: of two runs of different length
    the difference. The raw reader leaves its connecting out as well."""
    few = stoke(sender, path, conns)
    many = stoke(sender, path, conns, seconds=3 * SECONDS)
    return (many["cpu_s"] - few["cpu_s"]) / (tokens(many) - tokens(few)) * 1e6


def paced(sender):
    for conns, itl in ((1000, 10), (4096, 50), (10000, 125)):
        path = paced_path(itl)
        sender.lag()
        raw, costs = rounds(
            lambda: program("reader", sender, path, conns),
            lambda: marginal(sender, path, conns))
        lag = sender.lag()
        reader = median(raw, lambda r: r["cpu_s"] / r["events_per_s"]
                        / r["wall_s"] * 1e6)
        ours = statistics.median(costs)
        row(f"paced, {conns} x {1000 // itl}/s, CPU s / M tokens",
            f"{ours:.2f}", f"{reader:.2f}", f"{ours / reader:.2f}", "<= 1.8",
            "void" if lag > itl * 1000 else f"sender p99 {lag:.0f} us late")


def clock(sender):
    """Our instant of an event against the sender's, just before its send."""
    for conns, itl in ((1000, 12.5), (10000, 125)):
        path = paced_path(itl) + "&stamp=1"
        kernel, callback = rounds(
            lambda: program("bench_xfer", sender, path, conns),
            lambda: program("bench_xfer", sender, path, conns,
                            "--kernel-times", 0))
        for key, target in (("p50_us", ""), ("p99_us", "<= 10"),
                            ("p999_us", "<= 50")):
            ours = median(kernel, lambda r: r["receive_error"][key])
            theirs = median(callback, lambda r: r["receive_error"][key])
            row(f"receive time error, {conns} streams, {key[:-3]}, us",
                f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.3f}",
                target, "beside: a clock in the callback")


def memory(sender):
    path = paced_path(125)
    few = stoke(sender, path, 10)
    many = stoke(sender, path, 10000)
    each = (many["rss_kb"] - few["rss_kb"]) / 9990
    row("memory a stream at 10,000, KB", f"{each:.1f}", "", "", "<= 20",
        f"{few['rss_kb'] / 1024:.0f} MB with 10 streams")


def start(sender):
    def once():
        return run([STOKE, "run", "-u", f"http://127.0.0.1:{sender.port}",
                    "-m", "m", "--endpoint", "/one", "-n", 1,
                    "--no-preflight", "-q"])
    times = [once()[3] for _ in range(10)]
    row("start to end of a run of one request, ms",
        f"{statistics.median(times) * 1000:.0f}", "", "", "", "")


def wrk(sender, conns):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write('wrk.method = "POST"\nwrk.body = \'{"model":"m"}\'\n')
        script.flush()
        out, *_ = run(["wrk", "-t1", f"-c{conns}", f"-d{SECONDS}s", "-s",
                       script.name, f"http://127.0.0.1:{sender.port}/one"])
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))


def short(sender):
    base = None
    for conns in (64, 1024, 4096):
        theirs, whole = rounds(lambda: wrk(sender, conns),
                               lambda: stoke(sender, "/one", conns))
        ours = median(whole, lambda r: r["request_throughput"])
        reference = statistics.median(theirs)
        note = f"{ours / base:.2f} of 64" if base else ""
        row(f"one-token answers, {conns} connections, req/s", f"{ours:.0f}",
            f"{reference:.0f}", f"{ours / reference:.2f}",
            ">= 0.35" if conns == 64 else ">= 0.4 of 64" if conns == 4096
            else "", note or "beside: wrk")
        base = base or ours


def fair(sender):
    """With every stream at full speed, how long does one wait for a turn?"""
    whole = [stoke(sender, "/blast?tokens=1000", 64) for _ in range(ROUNDS)]
    ttft = median(whole, lambda r: r["median_ttft_ms"])
    worst = median(whole, lambda r: r["p99_itl_ms"])
    row("blast, 64 streams, TTFT p50, ms", f"{ttft:.2f}", "", "", "<= 11", "")
    row("blast, 64 streams, ITL p99, ms", f"{worst:.3f}", "", "", "", "")


def scripts(home, **hooks):
    """A scenario file for each, beside one without hooks."""
    request = "request = function() return { prompt = 'x' } end"
    files = {}
    for name, hook in {"bare": "", **hooks}.items():
        files[name] = Path(home, name + ".lua")
        files[name].write_text(f"local n = 0 return {{ {request}, {hook} }}")
    return files


def hook_costs(sender, path, unit, per, **hooks):
    """A row for each hook: CPU time beside a run without one, as the median of
    the ratios of neighbours. They differ by less than two runs of the same do,
    so there are more rounds, in which each stands in every place. Yields
    (name, hooked, bare, ratio)."""
    with tempfile.TemporaryDirectory() as home:
        files = scripts(home, **{h: text for h, (_, text) in hooks.items()})
        results = rotating_rounds(
            3 * ROUNDS, *(lambda f=f: stoke(sender, path, 64, f)
                          for f in files.values()))
    bare, *hooked = [[r["cpu_s"] / per(r) * unit for r in kept]
                     for kept in results]
    for name, costs in zip(hooks, hooked):
        yield (name, statistics.median(costs), statistics.median(bare),
               statistics.median(a / b for a, b in zip(costs, bare)))


def lua(sender):
    """What hooks cost beside none, and a script's part of a request."""
    per_token = {
        "on_chunk(r)": ("<= 1.05", "on_chunk = function(r) n = n + 1 end"),
        "on_chunk(r, text)": (
            "<= 1.05", "on_chunk = function(r, text) n = n + #text end"),
        "on_chunk(r), r.chunks": (
            "", "on_chunk = function(r) return r.chunks < 1e9 end"),
        "on_first_token(r)": ("", "on_first_token = function(r) n = n + 1 end"),
    }
    for name, hooked, bare, ratio in hook_costs(
            sender, "/blast?tokens=1000", 1e9, tokens, **per_token):
        row(f"{name}, CPU ns a token, beside none", f"{hooked:.0f}",
            f"{bare:.0f}", f"{ratio:.3f}", per_token[name][0])
    per_answer = {"on_response(r)": ("<= 1.06", "on_response = function(r) "
                                     "if r.tokens == 7 then return false, 'no'"
                                     " end end")}
    for name, hooked, bare, ratio in hook_costs(
            sender, "/one", 1e6, lambda r: r["completed"], **per_answer):
        row(f"{name}, CPU us an answer, beside none", f"{hooked:.2f}",
            f"{bare:.2f}", f"{ratio:.3f}", per_answer[name][0])
    out, *_ = run([BUILD / "bench" / "bench_lua"])
    cost = dict(re.findall(r"^(\S+) +(\d+) ns", out, re.M))
    for kind, what in (("prompt", "a prompt of 1 KB"),
                       ("messages", "6 messages and a tool"),
                       ("json", "a JSON body of 1 KB")):
        row(f"request(ctx) with {what}, us", f"{int(cost[kind]) / 1e3:.1f}",
            "", "", "<= 15", "")


def main():
    parts = [decode, blast, paced, clock, memory, start, short, fair, lua]
    print(ROW.format("", "stoke", "reference", "ratio", "target", ""))
    for part in parts:
        if PARTS and part.__name__ not in PARTS:
            continue
        sender = Sender()
        try:
            part(sender)
        finally:
            sender.process.kill()
            sender.process.wait()


main()
