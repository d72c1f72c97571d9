"""stoke sweep: grids of runs, their files, and going on after an end."""

import csv
import io
import json
import signal
import time

import pytest
from harness.program import PATIENCE


def sweep(stoke, url, *args, code=0, env=None):
    r = stoke.command("sweep", "-u", url, "-m", "m", "--no-preflight", *args,
                      env=env).wait(90)
    assert r.code == code, r
    return r


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.asan
def test_a_grid_becomes_cells_a_csv_and_a_json(stoke, mock, tmp_path):
    server = mock("--ttft", "2ms", "--itl", "1ms")
    sweep(stoke, server.url, "--vary", "max_concurrency=1..4*2", "--vary",
          "max_tokens=2,3", "--set", "num_prompts=3*max_concurrency",
          "--csv", "s.csv", "-o", "s.json", "--result-dir", "cells")
    text = (tmp_path / "s.csv").read_bytes().decode()
    assert text.startswith(
        "concurrency,request_rate,input_len,output_len,num_prompts,max_tokens,")
    assert text.count("\r\n") == 7 == text.count("\n")
    rows = rows_of(text)
    assert [(r["concurrency"], r["max_tokens"], r["num_prompts"]) for r in rows] == [
        ("1", "2", "3"), ("2", "2", "6"), ("4", "2", "12"),
        ("1", "3", "3"), ("2", "3", "6"), ("4", "3", "12")]
    assert all(r["Completed"] == r["num_prompts"] and r["status"] == "ok" for r in rows)
    assert all(float(r["P95 TTFT (ms)"]) >= 1.9 for r in rows)
    whole = json.loads((tmp_path / "s.json").read_text())
    assert whole["kind"] == "sweep" and whole["stop_reason"] == "done"
    assert [level["index"] for level in whole["levels"]] == list(range(6))
    cells = [json.loads((tmp_path / level["runs"][0]["file"]).read_text())
             for level in whole["levels"]]
    for level, cell in zip(whole["levels"], cells):
        assert cell["completed"] == level["figures"]["completed"]
    # B164: no level sees the prompts of another.
    assert len({cell["stoke"]["seed"] for cell in cells}) == 6


def test_zip_and_repeats(stoke, mock, tmp_path):
    server = mock("--ttft", "2ms", "--itl", "1ms")
    r = sweep(stoke, server.url, "--vary", "c=1,2", "--vary", "n=2,4", "--zip",
              "--repeat", 3, "-q", "-o", "-", "--max-tokens", 2)
    levels = json.loads(r.out)["levels"]
    assert [x["values"] for x in levels] == [
        {"max_concurrency": 1, "num_requests": 2},
        {"max_concurrency": 2, "num_requests": 4}]
    for level in levels:
        assert len(level["runs"]) == 3
        assert level["confidence_95"]["ttft.mean"] > 0
    assert "±" in r.err


def test_it_goes_on_where_it_was_interrupted(stoke, mock, tmp_path):
    server = mock("--ttft", "2ms", "--itl", "1ms")
    args = ("--vary", "c=1,2,4", "-n", 1000, "-d", "1s", "--max-tokens", 2,
            "--csv", "s.csv", "--set", "drain=0")
    p = stoke.command("sweep", "-u", server.url, "-m", "m", "--no-preflight", *args)
    first = tmp_path / "stoke-sweep" / "max_concurrency=1,drain=0.json"
    for _ in range(600):
        if first.exists():
            break
        time.sleep(0.05)
    time.sleep(0.2)
    p.signal(signal.SIGINT)
    r = p.wait(30)
    assert r.code == 130, r
    kept = first.read_bytes()
    r = sweep(stoke, server.url, *args)
    assert first.read_bytes() == kept
    rows = rows_of((tmp_path / "s.csv").read_text())
    assert [row["status"] for row in rows] == ["ok"] * 3
    # Other settings are another sweep, which must not take these for its own.
    r = sweep(stoke, server.url, *args, "--max-tokens", 3, code=2)
    assert "of other settings" in r.err
    assert first.read_bytes() == kept


def test_b141_a_level_that_failed_is_there_and_says_so(stoke, mock, tmp_path):
    path = tmp_path / "case.lua"
    path.write_text("""return {
      params = { bad = { default = 0 } },
      request = function(ctx)
        return { prompt = "x", max_tokens = 1,
          path = ctx.params.bad == 1 and "/nowhere" or nil }
      end }""")
    server = mock("--ttft", "1ms")
    r = sweep(stoke, server.url, path, "--vary", "bad=0,1,2", "-n", 3, "-o", "s.json")
    levels = json.loads((tmp_path / "s.json").read_text())["levels"]
    assert [x["status"] for x in levels] == ["ok", "failed", "ok"]
    assert "failed" in r.out


def test_b077_every_cell_has_a_time_cap(stoke, mock):
    server = mock("--ttft", "600ms")
    r = sweep(stoke, server.url, "--vary", "c=1,2,4", "-n", 100, "-d", "1s", "--drain", "1s",
              "--max-tokens", 1)
    assert "3 cells, at most 3 s" in r.err.splitlines()[0]
    assert "1 of 3 cells, about" in r.err
    assert r.seconds < 3 * (1 + 1) + 6 * PATIENCE


def test_b090_a_level_may_be_there_twice(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms")
    for _ in range(2):
        sweep(stoke, server.url, "--vary", "c=2,2", "-n", 4, "--max-tokens", 1, "-o", "s.json")
        levels = json.loads((tmp_path / "s.json").read_text())["levels"]
        assert [x["label"] for x in levels] == ["max_concurrency=2"] * 2
        files = [x["runs"][0]["file"] for x in levels]
        seeds = [x["runs"][0]["seed"] for x in levels]
        assert len(set(files)) == 2 == len(set(seeds))
    assert all(x["runs"][0]["resumed"] for x in levels)


def test_b164_no_cell_sees_the_prompts_of_another(stoke, mock, tmp_path):
    path = tmp_path / "case.lua"
    path.write_text("""return {
      request = function(ctx)
        return { prompt = ctx.rng:hex(8) .. " " .. ctx.rng:words(40), max_tokens = 1 }
      end }""")
    server = mock("--ttft", "1ms", "--cached", 0.9)
    r = sweep(stoke, server.url, path, "--vary", "c=1,2", "--repeat", 2, "-n", 5, "-o",
              "s.json", "--csv", "s.csv")
    hashes = [q["body_hash"] for q in server.stop()]
    assert len(set(hashes)) == len(hashes) == 20
    assert "of the prompt tokens were cached" in r.err
    rows = rows_of((tmp_path / "s.csv").read_text())
    assert all(float(row["Cached prompt tokens (share)"]) > 0.8 for row in rows)
    for level in json.loads((tmp_path / "s.json").read_text())["levels"]:
        # Beside it there may be a note of how busy we were.
        assert any("were cached" in note for note in level["notes"])


@pytest.mark.asan
def test_it_goes_on_after_it_was_killed(stoke, mock, tmp_path):
    server = mock("--ttft", "2ms", "--itl", "1ms")
    args = ("--vary", "c=1,2,4", "-d", "1s", "--max-tokens", 2, "--csv", "s.csv")
    p = stoke.command("sweep", "-u", server.url, "-m", "m", "--no-preflight", *args)
    first = tmp_path / "stoke-sweep" / "max_concurrency=1.json"
    while not first.exists():
        time.sleep(0.05)
    time.sleep(0.2)
    p.kill()
    kept = first.read_bytes()
    # What was saved by then is whole.
    if (tmp_path / "s.csv").exists():
        assert len(rows_of((tmp_path / "s.csv").read_text())) >= 1
    sweep(stoke, server.url, *args)
    assert first.read_bytes() == kept
    rows = rows_of((tmp_path / "s.csv").read_text())
    assert [row["status"] for row in rows] == ["ok"] * 3


def test_two_at_once_do_not_share_a_folder(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms")
    p = stoke.command("sweep", "-u", server.url, "-m", "m", "--no-preflight", "--vary", "c=1,2",
                      "-d", "60s", "--max-tokens", 1)
    while not (tmp_path / "stoke-sweep" / ".lock").exists():
        time.sleep(0.05)
    r = sweep(stoke, server.url, "--vary", "c=1,2", "-n", 2, code=2)
    assert "another one is at work there" in r.err
    p.signal(signal.SIGINT)
    assert p.wait(30).code == 130
    sweep(stoke, server.url, "--vary", "c=1,2", "-n", 2, "--max-tokens", 1, "--result-dir", "b")


def test_the_stop_rule_skips_what_is_higher(stoke, mock, tmp_path):
    server = mock("--ttft", "20ms", "--slots", 2, "--queue", 0)
    r = sweep(stoke, server.url, "--vary", "c=2,8,16", "--vary", "max_tokens=1,2",
              "-n", 32, "--stop-when", "error_rate > 10%", "-o", "s.json")
    levels = json.loads((tmp_path / "s.json").read_text())["levels"]
    status = {x["label"]: x["status"] for x in levels}
    assert status["max_concurrency=16,max_tokens=1"] == "skipped", r
    assert status["max_concurrency=2,max_tokens=2"] == "ok"
    assert status["max_concurrency=16,max_tokens=2"] == "skipped"


def test_nothing_that_a_spreadsheet_would_run(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms")
    sweep(stoke, server.url, "--vary", "model==1+1,@x", "-n", 1, "--csv", "t.csv",
          "--result-dir", "t")
    rows = rows_of((tmp_path / "t.csv").read_text())
    assert [r["model"] for r in rows] == ["'=1+1", "'@x"]


def test_what_is_set_may_need_another_by_any_of_its_names(stoke, mock, tmp_path):
    server = mock("--ttft", "1ms")
    sweep(stoke, server.url, "--vary", "c=1,2", "--set", "max_tokens=num_prompts+c",
          "--set", "n=3*max_concurrency", "--csv", "t.csv", "--result-dir", "t")
    rows = rows_of((tmp_path / "t.csv").read_text())
    assert [(r["num_prompts"], r["max_tokens"]) for r in rows] == [
        ("3", "4"), ("6", "8")]


@pytest.mark.parametrize("args, says", [
    ((), "--vary is missing"),
    (("--vary", "c=4..1"), "the range leads nowhere"),
    (("--vary", "c=1,,2"), "a value is empty"),
    (("--vary", "c=1", "--set", "n=4*x"), "x is neither varied nor set"),
    (("--vary", "c=1", "--set", "n=max_tokens", "--set", "max_tokens=n"),
     "--set num_requests=max_tokens: n depends on itself"),
    (("--vary", "c=1", "--set", "c=2"), "--set max_concurrency=2: is varied already"),
    (("--vary", "c=1", "--set", "n=(function() while true do end end)()"),
     "an expression has no function of its own"),
    (("--vary", "c=1", "--set", "n=#('a'):rep(1e9)"), "attempt to index a string value"),
    (("--vary", "c=1", "--set", "n=max_tokens..max_tokens", "--set",
      "max_tokens='" + "x" * 40000 + "'"), "gives too long a text"),
    (("--vary", "c=1,2", "--vary", "n=1", "--zip"), "has 2 values"),
    (("--vary", "c=1", "--stop-when", "ttft.p99 > 2"), "needs a unit"),
    (("--vary", "c=1", "--stop-when", "speed > 2"), "no figure is called speed"),
    (("--vary", "c=1", "--reques-rate", 3), "did you mean --request-rate"),
    (("--vary", "c=1", "--requests-out", "x"), "--save-requests"),
    (("--vary", "nonesuch=1", "-n", "1"), "no parameter 'nonesuch'"),
    (("--vary", "c=1,0", "-n", "1"), "--max-concurrency 0: must be at least 1"),
    (("--vary", "c=1", "--csv", "-", "-o", "-"), "cannot both go to the standard output"),
])
def test_mistakes_are_told_before_anything_is_sent(stoke, mock, args, says):
    server = mock()
    r = sweep(stoke, server.url, *args, code=2)
    assert says in r.err, r
    assert not server.stop()


def test_b076_fractional_rates(stoke, mock):
    r = sweep(stoke, "http://127.0.0.1:1", "--vary", "request_rate=0.02..0.4:0.095",
              "-n", 1, "--dry-run")
    assert [line.split("--request-rate=")[1].split()[0] for line in
            r.out.splitlines()] == ["0.02", "0.115", "0.21", "0.305", "0.4"]


def test_a_plot_without_gnuplot_is_a_line_of_blocks(stoke, mock, tmp_path):
    server = mock("--ttft", "2ms", "--itl", "1ms")
    r = sweep(stoke, server.url, "--vary", "c=1,2,4", "-n", 6, "--max-tokens", 2, "--plot",
              env={"PATH": str(tmp_path)})
    lines = [line for line in r.out.splitlines() if "gnuplot would draw it" in line]
    assert len(lines) == 2 and "over max_concurrency 1 .. 4" in lines[0]
    assert len(set(lines[0]) & set("▁▂▃▄▅▆▇█")) >= 2


def test_gnuplot_draws_where_it_is(stoke, mock, tmp_path):
    server = mock("--ttft", "2ms", "--itl", "1ms")
    fake = tmp_path / "gnuplot"
    fake.write_text("#!/bin/sh\nwhile read line; do echo \"G $line\"; done\n")
    fake.chmod(0o755)
    r = sweep(stoke, server.url, "--vary", "c=1,2", "-n", 2, "--max-tokens", 2, "--plot",
              env={"PATH": str(tmp_path)})
    assert "G set terminal dumb noenhanced 78 18" in r.out and "G set xlabel 'max_concurrency'" in r.out
