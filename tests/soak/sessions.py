#!/usr/bin/python3
"""100,000 sessions of an agent's kind: does memory stay flat?

    sessions.py STOKE [SESSIONS]

What a run keeps of every request (exact percentiles, the timetable) is
memory that grows by right; a session that stayed behind would be more. The
slope between a fifth and the end of the run, in bytes a session, is compared
with that: the program fails above LIMIT.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1024  # bytes a session: two requests, a tool call, an HTTP exchange
SCENARIO = """
return { session = function(s)
  local chat = s:conversation { system = "You are brief.", max_tokens = 2 }
  local r = chat:ask("Who are you? I am number " .. s.id)
  s:think(0.01)
  s:parallel {
    function(b) b:sleep(0.01) return b.rng:hex(64) end,
    function(b) return b:http { path = "/health" }.status end,
  }
  pcall(function() s:sleep(0.001) error("caught") end)
  if s.id % 10 == 0 then return s:fail("every tenth") end
  chat:ask("And now?")
end }
"""


def rss_kb(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))


def main(stoke, sessions):
    home = tempfile.TemporaryDirectory()
    scenario = Path(home.name, "soak.lua")
    scenario.write_text(SCENARIO)
    out = Path(home.name, "requests.jsonl")
    mock = subprocess.Popen([stoke, "mock", "--port", "0", "--ttft", "1ms",
                             "--itl", "1ms"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    try:
        url = re.search(r"http://[^\s/]+", next(
            line for line in mock.stdout if "http://" in line)).group()
        run = subprocess.Popen([
            stoke, "run", str(scenario), "-u", url, "-m", "m",
            "--no-preflight", "--num-sessions", str(sessions), "-c", "200",
            "-q", "--requests-out", str(out)], stdout=subprocess.DEVNULL)
        started, samples = time.monotonic(), []
        while run.poll() is None:
            time.sleep(0.5)
            try:
                lines = out.read_bytes().count(b"\n") if out.exists() else 0
                samples.append((lines, rss_kb(run.pid)))
            except (FileNotFoundError, AttributeError):
                break
        status = run.wait()
    finally:
        mock.terminate()
        mock.wait()
        mock.stdout.close()
    total = samples[-1][0]
    begin = next(s for s in samples if s[0] >= total / 5)
    end = max(samples, key=lambda s: s[0])
    per_session = total / sessions
    slope = (end[1] - begin[1]) * 1024 / max(1, (end[0] - begin[0])
                                             / per_session)
    print(f"{sessions} sessions in {time.monotonic() - started:.0f} s, exit "
          f"{status}; RSS {begin[1]} KB at a fifth, {end[1]} KB at the end: "
          f"{slope:.0f} bytes a session (limit {LIMIT})")
    home.cleanup()
    return 0 if status == 0 and slope < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1],
                  int(sys.argv[2]) if len(sys.argv) > 2 else 100000))
