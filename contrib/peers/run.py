#!/usr/bin/env python3
"""stoke beside other clients, on the same load against the same server.

    python3 contrib/peers/run.py --tokenizer DIR [--streams 1,100] [--rounds 3]

Each round runs every client that is there, in turn and in another order, each
against a fresh `stoke mock` whose log knows when every request came and every
token left. README.md beside this file says what the columns are, and which
clients are looked for where.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
MODEL = "mock"


# ---- the server, whose log is the truth ----

class Mock:
    def __init__(self, stoke, args, home):
        self.log_path = home / "truth.jsonl"
        self.popen = subprocess.Popen(
            [stoke, "mock", "--port", "0", "--models", MODEL, "--ttft",
             f"{args.ttft}ms", "--itl", f"{args.itl}ms", "--log",
             str(self.log_path)], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        for line in self.popen.stdout:
            found = re.search(r"http://[\w.:]+", line)
            if found:
                self.url = found.group()
                threading.Thread(target=self.popen.stdout.read,
                                 daemon=True).start()
                return
        sys.exit("the mock did not start")

    def stop(self, n):
        """The last `n` streams: what came before them was warming up."""
        self.popen.terminate()
        self.popen.wait()
        lines = [json.loads(line) for line in self.log_path.open()]
        streams = sorted((q for q in lines if q["stream"] and q["recv_ns"]),
                         key=lambda q: q["recv_ns"])
        return streams[-n:], streams


def mean(values):
    values = [v for v in values if v is not None]
    return statistics.fmean(values) if values else None


def quantile(values, q):
    values = sorted(values)
    if not values:
        return None
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def truth(streams):
    """The same figures by the server's clock, which is ours."""
    ttfts = [(q["first_ns"] - q["recv_ns"]) / 1e6 for q in streams
             if q["first_ns"]]
    itls = [(q["last_ns"] - q["first_ns"]) / 1e6 / (q["events"] - 1)
            for q in streams if q["first_ns"] and q["events"] > 1]
    return {"ttft": mean(ttfts), "ttft_p99": quantile(ttfts, 0.99),
            "itl": mean(itls),
            "late_p99": quantile([q["late_ns"] / 1e6 for q in streams], 0.99)}


# ---- what a client costs ----

def memory_of(session):
    """MB of all processes of a session, shared pages counted once."""
    total = 0
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            stat = pathlib.Path(entry.path, "stat").read_text()
            if int(stat.rsplit(")", 1)[1].split()[3]) != session:
                continue
            rollup = pathlib.Path(entry.path, "smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\s+(\d+)", rollup, re.M).group(1))
        except (OSError, AttributeError, ValueError):
            pass  # it has ended
    return total / 1024


class Cost:
    """Runs a command in a session of its own and watches it."""

    def __init__(self, command, home, env, limit):
        self.peak, self.over = 0, threading.Event()
        self.began_ns = time.monotonic_ns()
        with open(home / "output.txt", "w") as out:
            self.popen = subprocess.Popen(
                command, cwd=home, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env={**os.environ, **env},
                start_new_session=True)
        watcher = threading.Thread(target=self._watch)
        watcher.start()
        killer = threading.Timer(limit, self._kill)
        killer.start()
        _, self.status, usage = os.wait4(self.popen.pid, 0)
        self.popen.returncode = os.waitstatus_to_exitcode(self.status)
        self.wall = (time.monotonic_ns() - self.began_ns) / 1e9
        killer.cancel()
        self.over.set()
        watcher.join()
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = max(self.peak, usage.ru_maxrss / 1024)

    def _watch(self):
        while not self.over.wait(0.2):
            self.peak = max(self.peak, memory_of(self.popen.pid))

    def _kill(self):
        os.killpg(self.popen.pid, 9)


# ---- the clients ----

class Client:
    env = {}

    def __init__(self, args):
        self.args = args
        self.program = self.find()

    def find(self):
        """What to start, or None."""

    def command(self, url, streams, n, home):
        raise NotImplementedError

    def figures(self, home):
        """completed, mean_ttft_ms, p99_ttft_ms, mean_itl_ms, p99_itl_ms,
        output_throughput."""
        return json.loads((home / "result.json").read_text())


class Stoke(Client):
    name = "stoke"

    def find(self):
        return self.args.stoke

    def command(self, url, streams, n, home):
        return [self.program, "run", "-u", url, "-m", MODEL, "-n", n, "-c",
                streams, "--max-tokens", self.args.tokens, "--no-preflight",
                "-q", "-o", "result.json"]


class Bench(Client):
    """Whatever takes the flags of `vllm bench serve`."""

    verb = []

    def command(self, url, streams, n, home):
        tokenizer = self.args.tokenizer
        return [self.program, *self.verb, "--backend", "openai-chat",
                "--base-url", url, "--endpoint", "/v1/chat/completions",
                "--model", MODEL,
                *(["--tokenizer", tokenizer] if tokenizer else []),
                "--dataset-name", "random", "--random-input-len", 16,
                "--random-output-len", self.args.tokens, "--ignore-eos",
                "--num-prompts", n, "--max-concurrency", streams,
                "--save-result", "--result-dir", home, "--result-filename",
                "result.json"]


class StokeBench(Bench):
    name, verb = "stoke bench serve", ["bench", "serve"]

    def find(self):
        return self.args.stoke


class VllmBench(Bench):
    name = "vllm-bench"

    def find(self):
        return self.args.tokenizer and shutil.which(self.args.vllm_bench)


class Vllm(Bench):
    name, verb = "vllm bench serve", ["bench", "serve"]
    env = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}

    def find(self):
        return self.args.tokenizer and shutil.which(self.args.vllm)


class Function(Client):
    name = "vllm's function"

    def find(self):
        vllm = shutil.which(self.args.vllm)
        python = vllm and pathlib.Path(vllm).parent / "python"
        return python if python and python.exists() else None

    def command(self, url, streams, n, home):
        return [self.program, HERE / "request_function.py", url, MODEL, n,
                streams, self.args.tokens]

    def figures(self, home):
        return json.loads((home / "output.txt").read_text())


class GuideLLM(Client):
    """Its ITL is a mean of each request's mean."""

    name = "guidellm"
    env = {"HF_HUB_OFFLINE": "1"}

    def find(self):
        return self.args.tokenizer and shutil.which(self.args.guidellm)

    def command(self, url, streams, n, home):
        return [self.program, "run", "--backend",
                f"kind=openai_http,target={url},model={MODEL}", "--profile",
                f"kind=concurrent,streams={streams}", "--constraint",
                f"kind=max_requests,count={n}", "--data",
                "kind=synthetic_text,prompt_tokens=16,output_tokens="
                f"{self.args.tokens}", "--tokenizer",
                f"kind=hf_auto,model={self.args.tokenizer}", "--output",
                f"kind=json,path={home}/guidellm.json",
                "--disable-console"]

    def figures(self, home):
        run, = json.loads((home / "guidellm.json").read_text())["benchmarks"]
        m = run["metrics"]

        def of(key):
            return m[key]["successful"]

        return {
            "completed": m["request_totals"]["successful"],
            "mean_ttft_ms": of("time_to_first_token_ms")["mean"],
            "p99_ttft_ms": of("time_to_first_token_ms")["percentiles"]["p99"],
            "mean_itl_ms": of("inter_token_latency_ms")["mean"],
            "p99_itl_ms": of("inter_token_latency_ms")["percentiles"]["p99"],
            "output_throughput": of("output_tokens_per_second")["mean"],
        }


class AIPerf(Client):
    name = "aiperf"

    def find(self):
        return self.args.tokenizer and shutil.which(self.args.aiperf)

    def command(self, url, streams, n, home):
        return [self.program, "profile", "-m", MODEL, "--url", url,
                "--endpoint-type", "chat", "--streaming", "--concurrency",
                streams, "--request-count", n,
                "--synthetic-input-tokens-mean", 16, "--output-tokens-mean",
                self.args.tokens, "--extra-inputs", "ignore_eos:true",
                "--use-server-token-count", "--tokenizer",
                self.args.tokenizer, "--no-gpu-telemetry",
                "--no-server-metrics", "--artifact-dir", home / "aiperf",
                "--ui", "none"]

    def figures(self, home):
        d = json.loads((home / "aiperf" / "profile_export_aiperf.json")
                       .read_text())
        return {
            "completed": d["request_count"]["avg"],
            "mean_ttft_ms": d["time_to_first_token"]["avg"],
            "p99_ttft_ms": d["time_to_first_token"]["p99"],
            "mean_itl_ms": d["inter_chunk_latency"]["avg"],
            "p99_itl_ms": d["inter_chunk_latency"]["p99"],
            "output_throughput": d["output_token_throughput"]["avg"],
        }


CLIENTS = [Stoke, StokeBench, VllmBench, Function, Vllm, GuideLLM, AIPerf]


# ---- one run, all runs ----

def measure(client, args, streams):
    n = args.requests or max(20, 2 * streams)
    home = pathlib.Path(tempfile.mkdtemp(prefix="peers-"))
    mock = Mock(args.stoke, args, home)
    command = [str(word) for word in client.command(mock.url, streams, n,
                                                    home)]
    cost = Cost(command, home, client.env, args.limit)
    measured, all_streams = mock.stop(n)
    row = {"client": client.name, "streams": streams, "wall": cost.wall,
           "cpu": cost.cpu, "memory": cost.peak,
           "status": cost.popen.returncode, "arrived": len(all_streams)}
    if all_streams:
        row["startup"] = (all_streams[0]["recv_ns"] - cost.began_ns) / 1e9
    try:
        row.update(client.figures(home))
    except (OSError, ValueError, KeyError) as e:
        row["trouble"] = f"{type(e).__name__}: {e}"
        print(f"{client.name}: no figures ({row['trouble']}); its output is "
              f"in {home}", file=sys.stderr)
        return row
    real = truth(measured)
    for mine, theirs in (("mean_ttft_ms", "ttft"), ("p99_ttft_ms", "ttft_p99"),
                         ("mean_itl_ms", "itl")):
        if row.get(mine) is not None and real[theirs] is not None:
            row[f"{theirs}_error"] = row[mine] - real[theirs]
    row["late_p99"] = real["late_p99"]
    shutil.rmtree(home)
    return row


COLUMNS = [
    ("client", "client", "{}"), ("start-up s", "startup", "{:.2f}"),
    ("wall s", "wall", "{:.2f}"), ("CPU s", "cpu", "{:.2f}"),
    ("MB", "memory", "{:.0f}"), ("done", "completed", "{:.0f}"),
    ("TTFT ms", "mean_ttft_ms", "{:.2f}"), ("error", "ttft_error", "{:+.2f}"),
    ("p99", "p99_ttft_ms", "{:.2f}"), ("error", "ttft_p99_error", "{:+.2f}"),
    ("ITL ms", "mean_itl_ms", "{:.3f}"), ("error", "itl_error", "{:+.3f}"),
    ("p99", "p99_itl_ms", "{:.2f}"), ("tok/s", "output_throughput", "{:.0f}"),
    ("server late p99 ms", "late_p99", "{:.2f}"),
]


def middle(rows, key):
    values = [r[key] for r in rows if r.get(key) is not None]
    if not values:
        return None
    return values[0] if isinstance(values[0], str) else \
        statistics.median(values)


def table(rows, clients, streams):
    """Medians over rounds, in Markdown."""
    lines = [f"{streams} streams:", "",
             "| " + " | ".join(title for title, _, _ in COLUMNS) + " |",
             "| --- " + "| ---: " * (len(COLUMNS) - 1) + "|"]
    for client in clients:
        mine = [r for r in rows
                if r["client"] == client.name and r["streams"] == streams]
        cells = []
        for _, key, form in COLUMNS:
            value = middle(mine, key)
            cells.append("n/a" if value is None else form.format(value))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def default_stoke():
    built = HERE.parents[1] / "stoke"
    return str(built) if built.exists() else shutil.which("stoke") or "stoke"


def arguments():
    p = argparse.ArgumentParser(
        description="stoke beside other clients, against the same mock.")
    p.add_argument("--streams", default="1,100", metavar="LIST",
                   type=lambda s: [int(x) for x in s.split(",")],
                   help="how many at a time (default 1,100)")
    p.add_argument("--rounds", type=int, default=3, metavar="N")
    p.add_argument("--requests", type=int, metavar="N",
                   help="a run (default twice the streams, at least 20)")
    p.add_argument("--tokens", type=int, default=64, metavar="N",
                   help="an answer (default 64)")
    p.add_argument("--ttft", type=float, default=50, metavar="MS")
    p.add_argument("--itl", type=float, default=10, metavar="MS")
    p.add_argument("--tokenizer", metavar="DIR",
                   help="of any model; most other clients need one")
    p.add_argument("--only", metavar="NAMES", type=lambda s: s.split(","),
                   help="of these clients alone: " +
                   ", ".join(c.name for c in CLIENTS))
    p.add_argument("--limit", type=float, default=600, metavar="S",
                   help="longest run of one (default 600)")
    p.add_argument("--json", metavar="FILE", help="all runs as JSON")
    p.add_argument("--stoke", default=default_stoke())
    for name in ("vllm-bench", "vllm", "guidellm", "aiperf"):
        p.add_argument(f"--{name}", default=name, metavar="PROGRAM",
                       help=f"where {name} is (default on the PATH)")
    args = p.parse_args()
    args.tokenizer = args.tokenizer and os.path.abspath(args.tokenizer)
    args.stoke = os.path.abspath(shutil.which(args.stoke) or args.stoke)
    return args


def main():
    args = arguments()
    clients, rows = [], []
    for make in CLIENTS:
        client = make(args)
        if args.only and client.name not in args.only:
            continue
        if client.program:
            clients.append(client)
        else:
            print(f"{client.name}: not there"
                  f"{'' if args.tokenizer else ', or wants --tokenizer'}",
                  file=sys.stderr)
    for number in range(args.rounds):
        order = clients[number % len(clients):] + \
            clients[:number % len(clients)]
        for streams in args.streams:
            for client in order:
                rows.append(measure(client, args, streams))
                print(f"round {number + 1}, {streams} streams: {client.name} "
                      f"took {rows[-1]['wall']:.1f} s", file=sys.stderr)
    for streams in args.streams:
        print(table(rows, clients, streams))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
