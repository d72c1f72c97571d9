"""The stoke binary as the tests see it: started, waited for, and never
believed without a look at what every run must satisfy."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = str(ROOT / os.environ.get("STOKE", "stoke"))
SANITIZED = re.search(r"build/(asan|tsan)/", BINARY)
# Sanitized code is several times slower, and this machine is shared.
PATIENCE = 4 if SANITIZED else 1

SANITIZER_WORDS = re.compile(
    r"(AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:).*")


def strict_json(text):
    """RFC 8259 and nothing else: Python would read NaN and Infinity."""

    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def clean_environment(extra=None):
    """The caller's, without what would change where requests go."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not re.search(r"(?i)_proxy$|^OPENAI_|^SSL_CERT|^STOKE|^NO_COLOR$", k)
    }
    env["LC_ALL"] = "C.UTF-8"
    env.update(extra or {})
    return {k: v for k, v in env.items() if v is not None}


def assert_no_sanitizer_report(text):
    found = SANITIZER_WORDS.search(text)
    assert not found, text[max(0, found.start() - 200):][:6000]


class Result:
    """A finished process: `code`, `out`, `err`, the parsed results file as
    `json` and the lines of --requests-out as `requests` (None when absent)."""

    def __init__(self, args, code, out, err, seconds, output, requests_out):
        self.args, self.code, self.out, self.err = args, code, out, err
        self.seconds = seconds
        self.json = self.requests = None
        if output and output.exists():
            self.json = strict_json(output.read_text())
        if requests_out and requests_out.exists():
            lines = requests_out.read_text().splitlines()
            self.requests = [strict_json(line) for line in lines]

    @property
    def stoke(self):
        return self.json["stoke"]

    @property
    def outcomes(self):
        """Without the zeros: {"ok": 3, "reset": 1}."""
        return {k: v for k, v in self.stoke["outcomes"].items() if v}

    def __repr__(self):
        return (f"$ {' '.join(self.args)}\nexit {self.code} after "
                f"{self.seconds:.2f} s\n--- stdout\n{self.out}\n--- stderr\n"
                f"{self.err}\n")


def check_figures(r):
    """What README.md promises of every request that succeeded, and of sums."""
    if r.requests is not None:
        for q in r.requests:
            ttft, e2el = q.get("ttft_ms"), q.get("e2el_ms")
            if ttft is not None and e2el is not None:
                assert 0 <= ttft <= e2el, q
            if q["outcome"] == "ok" and q.get("itl_ms") and ttft is not None:
                if len(q["itl_ms"]) == q["chunks"] - 1:  # one choice
                    total = ttft + sum(q["itl_ms"])
                    assert abs(total - e2el) < 0.01, (total, q)
    if r.json is not None:
        s = r.stoke
        sums = dict(s["outcomes"])
        assert r.json["completed"] == sums.pop("ok", 0)
        sums.pop("cancelled", 0)
        assert r.json["failed"] == sum(sums.values()), s["outcomes"]


class Process:
    """A running one."""

    def __init__(self, args, env=None, output=None, requests_out=None,
                 popen=None, **keywords):
        self.args, self.output, self.requests_out = args, output, requests_out
        self.started = time.monotonic()
        self.popen = popen or subprocess.Popen(
            args, env=clean_environment(env), text=True, errors="replace",
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, **keywords})

    def signal(self, number=signal.SIGINT):
        self.popen.send_signal(number)

    def wait(self, timeout=60):
        try:
            out, err = self.popen.communicate(timeout=timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            out, err = self.popen.communicate()
            raise AssertionError(
                f"still running after {timeout * PATIENCE} s: "
                f"{' '.join(self.args)}\n{out}\n{err}") from None
        seconds = time.monotonic() - self.started
        out, err = out or "", err or ""
        assert_no_sanitizer_report(out + err)
        r = Result(self.args, self.popen.returncode, out, err, seconds,
                   self.output, self.requests_out)
        check_figures(r)
        return r

    def peak_memory(self):
        """Until it ends; the MiB that it had at most. (What wait4 tells
        begins with what the parent had when it forked.)"""
        kib = 0
        while self.popen.poll() is None:
            with open(f"/proc/{self.popen.pid}/status") as f:
                found = re.search(r"VmHWM:\s+(\d+)", f.read())
            kib = int(found.group(1)) if found else kib
            time.sleep(0.005)
        return kib >> 10

    def kill(self):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()


class Stoke:
    """Runs the program in a directory of the test's own."""

    def __init__(self, directory):
        self.directory = directory
        self.count = 0
        self.running = []

    def command(self, *args, env=None, prefix=(), **keywords):
        """Any subcommand, started as it is. `prefix` goes before it."""
        p = Process([*prefix, BINARY, *map(str, args)], env=env,
                    cwd=self.directory, **keywords)
        self.running.append(p)
        return p

    def start(self, *args, verb="run", env=None, prefix=(), **keywords):
        """`stoke run ARGS` with both result files, not waited for."""
        self.count += 1
        output = self.directory / f"results-{self.count}.json"
        requests_out = self.directory / f"requests-{self.count}.jsonl"
        files = ["-o", str(output), "--requests-out", str(requests_out)]
        args = [*map(str, args)]
        at = args.index("--") if "--" in args else len(args)
        args[at:at] = files
        p = Process([*prefix, BINARY, verb, *args], env=env, output=output,
                    requests_out=requests_out, cwd=self.directory, **keywords)
        self.running.append(p)
        return p

    def run(self, *args, code=0, timeout=60, **keywords):
        """`stoke run ARGS`, waited for; `code` is the exit status that is
        right here (None: any)."""
        r = self.start(*args, **keywords).wait(timeout)
        assert code is None or r.code == code, r
        return r

    def load(self, url, *args, **keywords):
        """A run whose every request is one of the load: the model is given
        and nothing is asked beforehand."""
        return self.run("-u", url, "-m", "m", "--no-preflight", *args,
                        **keywords)

    def close(self):
        for p in self.running:
            p.kill()


class Mock:
    """`stoke mock`, with its log as the truth to compare with."""

    def __init__(self, directory, *flags):
        self.log_path = directory / f"mock-{time.monotonic_ns()}.jsonl"
        self.process = Process(
            [BINARY, "mock", "--port", "0", "--log", str(self.log_path),
             *map(str, flags)], stderr=subprocess.STDOUT)
        self.said = ""
        self.url = self._address()
        self.port = int(self.url.rsplit(":", 1)[1])

    def _address(self):
        for line in self.process.popen.stdout:
            self.said += line
            found = re.search(r"https?://[^\s/]+:\d+", line)
            if found:
                return found.group()
        raise AssertionError("the mock did not start:\n" + self.said)

    @property
    def log(self):
        """A line per request. Complete after `stop`."""
        if not self.log_path.exists():
            return []
        return [strict_json(line)
                for line in self.log_path.read_text().splitlines()]

    def stop(self):
        """Ask it to end; it must do so, cleanly. Returns the log."""
        if self.process.popen.returncode is None:
            self.process.signal(signal.SIGTERM)
            r = self.process.wait(20)
            assert r.code in (0, 130, 143), r
        return self.log

    def close(self):
        try:
            self.stop()
        finally:
            self.process.kill()
