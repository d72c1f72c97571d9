"""Command lines and wrappers as three public guides have them, with stoke in
the place of `vllm`: a shim on the PATH, hosts, keys and paths replaced, and
else nothing."""

import csv
import json
import os
import stat
import subprocess
import sys

import pytest
from harness.program import BINARY, PATIENCE, ROOT, clean_environment, \
    strict_json

TOKENIZER = ROOT / "tests" / "data" / "tokenizer" / "bytes.json"
BENCHMARK_SERVING = ROOT / "contrib" / "benchmark_serving.py"


@pytest.fixture
def shell(tmp_path):
    """Runs a command line in a shell whose `vllm` is stoke."""
    shims = tmp_path / "bin"
    shims.mkdir()
    vllm = shims / "vllm"
    vllm.write_text(f'#!/bin/sh\nexec {BINARY} "$@"\n')
    vllm.chmod(vllm.stat().st_mode | stat.S_IXUSR)
    python = shims / "python"
    python.symlink_to(sys.executable)

    def run(line, code=0, env=None):
        r = subprocess.run(
            ["/bin/bash", "-o", "pipefail", "-c", line], cwd=tmp_path,
            text=True, capture_output=True, stdin=subprocess.DEVNULL,
            timeout=120 * PATIENCE, env=clean_environment({
                "PATH": f"{shims}:{os.environ['PATH']}", "STOKE": BINARY,
                **(env or {})}))
        assert code is None or r.returncode == code, \
            f"{line}\nexit {r.returncode}\n{r.stdout}\n{r.stderr}"
        return r

    return run


@pytest.fixture
def sharegpt(tmp_path):
    turns = [{"id": f"c{i}", "conversations": [
        {"from": "human", "value": f"Question {i}: " + "why is it so? " * 6},
        {"from": "gpt", "value": "Because it is like that. " * 8}]}
        for i in range(40)]
    path = tmp_path / "ShareGPT_V3_unfiltered_cleaned_split.json"
    path.write_text(json.dumps(turns))
    return path


@pytest.fixture
def keyed(mock, raw_server, nginx):
    """The mock behind a gateway that wants `Authorization: Bearer K`."""
    server = mock("--ttft", "10ms", "--itl", "2ms", "--tokens", "12",
                  "--models", "qwen32b,M")

    def make(key="K", location=""):
        return nginx(server.url, location=f"""
            if ($http_authorization != "Bearer {key}") {{ return 401; }}
            {location} proxy_buffering off;"""), server

    return make


# ---- A: a matrix over a hosted API, scraped from stdout ----

WRAPPER = r'''
import csv, os, re, subprocess, sys, time

HOST, PORT, KEY = sys.argv[1:4]
METRIC = re.compile(r"(Mean|P95|P99) (TTFT|TPOT|ITL) \(ms\):\s+([\d.]+)")
THROUGHPUT = re.compile(r"Output token throughput \(tok/s\):\s+([\d.]+)")

rows = []
for concurrency in (1, 2):
    for input_len in (32, 64):
        for output_len in (4, 8):
            command = [
                "vllm", "bench", "serve", "--backend", "openai",
                "--host", HOST, "--port", PORT,
                "--endpoint", "/api/v1/completions", "--model", "M",
                "--api-key", KEY, "--dataset-name", "random",
                "--num-prompts", str(3 * concurrency),
                "--random-input-len", str(input_len),
                "--random-output-len", str(output_len),
                "--max-concurrency", str(concurrency),
                "--request-rate", "20.0",
                "--metric-percentiles", "95,99", "--temperature", "0",
                "--save-result", "--result-dir", "results"]
            r = subprocess.run(command, check=True, text=True,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
            name = f"logs/c{concurrency}_i{input_len}_o{output_len}.log"
            os.makedirs("logs", exist_ok=True)
            with open(name, "w") as log:
                log.write(r.stdout)
            row = {"concurrency": concurrency, "input": input_len,
                   "output": output_len}
            found = THROUGHPUT.search(r.stdout)
            row["throughput"] = found and found.group(1)
            for which, figure, value in METRIC.findall(r.stdout):
                row[f"{which} {figure}"] = value
            rows.append(row)

columns = ["concurrency", "input", "output", "throughput"] + [
    f"{which} {figure}" for figure in ("TTFT", "TPOT", "ITL")
    for which in ("Mean", "P95", "P99")]
with open("matrix.csv", "w", newline="") as out:
    writer = csv.DictWriter(out, columns)
    writer.writeheader()
    writer.writerows(rows)
'''


@pytest.fixture
def hosted(keyed):
    return lambda: keyed(location="rewrite ^/api(/.*)$ $1 break;")


def test_guide_a_matrix_has_no_empty_cell(shell, hosted, tmp_path):
    gateway, server = hosted()
    (tmp_path / "wrapper.py").write_text(WRAPPER)
    shell(f"python wrapper.py 127.0.0.1 {gateway.port} K")
    with open(tmp_path / "matrix.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 8
    for row in rows:
        assert all(row.values()), row
        assert float(row["throughput"]) > 0 and float(row["Mean ITL"]) > 0
        assert float(row["P95 TTFT"]) <= float(row["P99 TTFT"])
    assert len(list((tmp_path / "logs").iterdir())) == 8
    sent = [q for q in server.stop() if q["number"]]
    assert len(sent) == 4 * 3 + 4 * 6
    assert {q["path"] for q in sent} == {"/v1/completions"}


def test_guide_a_saves_a_file_a_cell(shell, hosted, tmp_path):
    gateway, _ = hosted()
    shell("vllm bench serve --backend openai --host 127.0.0.1 --port "
          f"{gateway.port} --endpoint /api/v1/completions --model M "
          "--api-key K --dataset-name random --num-prompts 6 "
          "--random-input-len 48 --random-output-len 8 --max-concurrency 2 "
          "--request-rate 20.0 --metric-percentiles 95,99 --temperature 0 "
          "--save-result --result-dir D")
    saved, = (tmp_path / "D").glob("openai-20.0qps-concurrency2-M-*.json")
    result = strict_json(saved.read_text())
    assert result["completed"] == 6 and "p95_ttft_ms" in result


def test_guide_a_over_tls(shell, mock, nginx, certificate):
    """A scheme in --host, which people write, and which 443 stands for."""
    tls = certificate()
    gateway = nginx(mock("--models", "M").url, tls=tls)
    shell("vllm bench serve --backend openai --host https://127.0.0.1 "
          f"--port {gateway.port} --endpoint /v1/completions --model M "
          f"--num-prompts 2 --random-input-len 8 --random-output-len 2",
          env={"SSL_CERT_FILE": str(tls[0])})


def test_guide_a_wrong_key_stops_the_wrapper(shell, hosted, tmp_path):
    """check=True must see it, and the log must say what it is."""
    gateway, _ = hosted()
    (tmp_path / "wrapper.py").write_text(WRAPPER)
    r = shell(f"python wrapper.py 127.0.0.1 {gateway.port} pasted-wrong", code=1)
    assert "CalledProcessError" in r.stderr
    assert not (tmp_path / "matrix.csv").exists()
    r = shell("vllm bench serve --backend openai --host 127.0.0.1 --port "
              f"{gateway.port} --endpoint /api/v1/completions --model M "
              "--api-key pasted-wrong --num-prompts 4 --random-input-len 8", code=1)
    assert "401" in r.stdout + r.stderr
    assert "pasted-wrong" not in r.stdout + r.stderr


# ---- B: a gateway, ShareGPT, JSON keys ----

GUIDE_B = """vllm bench serve \\
  --backend vllm \\
  --base_url {url} \\
  --model qwen32b \\
  --tokenizer {tokenizer} \\
  --endpoint-type openai-chat \\
  --endpoint /v1/chat/completions \\
  --header "Authorization: Bearer K" \\
  --dataset-name sharegpt \\
  --dataset-path {data} \\
  --sharegpt-output-len 1024 \\
  --percentile-metrics ttft,tpot,itl,e2el \\
  --metric-percentiles 95,99 \\
  --num-prompts 16 \\
  --request-rate 8"""

GUIDE_B_KEYS = ["completed", "failed", "mean_ttft_ms", "mean_tpot_ms",
                "mean_itl_ms", "mean_e2el_ms", "p95_ttft_ms", "p99_ttft_ms",
                "p95_e2el_ms", "p99_e2el_ms"]


def test_guide_b_as_it_stands(shell, keyed, sharegpt, tmp_path):
    gateway, server = keyed()
    r = shell(GUIDE_B.format(url=gateway.url, tokenizer=TOKENIZER,
                             data=sharegpt)
              + " --save-result --result-filename b.json 2>&1 | tee b.log")
    result = strict_json((tmp_path / "b.json").read_text())
    assert result["completed"] == 16 and result["failed"] == 0
    assert all(result[key] is not None for key in GUIDE_B_KEYS)
    assert "P95 E2EL (ms):" in r.stdout
    assert (tmp_path / "b.log").read_text() == r.stdout
    sent = [q for q in server.stop() if q["number"]]
    assert {q["path"] for q in sent} == {"/v1/chat/completions"}
    assert len(sent) == 16
    assert "Bearer K" not in r.stdout + r.stderr


def test_guide_b_base_url_with_a_v1(shell, keyed, sharegpt):
    """…/v1 before /v1/chat/completions: one of them is meant."""
    gateway, server = keyed()
    shell(GUIDE_B.format(url=gateway.url + "/v1", tokenizer=TOKENIZER,
                         data=sharegpt))
    assert {q["path"] for q in server.stop() if q["number"]} == \
        {"/v1/chat/completions"}


def test_guide_b_config_file(shell, keyed, sharegpt, tmp_path):
    """The same in a file, names in snake_case, headers an object."""
    gateway, server = keyed()
    (tmp_path / "bench.json").write_text(json.dumps({
        "backend": "vllm", "base_url": gateway.url, "model": "qwen32b",
        "tokenizer": str(TOKENIZER), "endpoint_type": "openai-chat",
        "endpoint": "/v1/chat/completions",
        "headers": {"Authorization": "Bearer K", "X-Team": "serving"},
        "dataset_name": "sharegpt", "dataset_path": str(sharegpt),
        "sharegpt_output_len": 1024,
        "percentile_metrics": "ttft,tpot,itl,e2el",
        "metric_percentiles": "95,99", "num_prompts": 6, "request_rate": 20,
        "save_result": True, "result_filename": "c.json"}))
    shell("vllm bench serve --config bench.json")
    assert strict_json((tmp_path / "c.json").read_text())["completed"] == 6
    assert len([q for q in server.stop() if q["number"]]) == 6


def test_guide_b_config_file_in_yaml(shell, keyed, sharegpt, tmp_path):
    """As people write it: bare words, comments, a list, an environment's
    key, and a flag that goes before the file."""
    gateway, server = keyed()
    (tmp_path / "bench.yaml").write_text(f"""
# the gateway of the serving team
backend: openai-chat
base_url: {gateway.url}
model: qwen32b
tokenizer: {TOKENIZER}
headers:
  Authorization: Bearer K
dataset_name: sharegpt
dataset_path: {sharegpt}
percentile_metrics: ttft,tpot,itl,e2el
goodput: [ttft:5000, e2el:9000]
num_prompts: 500
request_rate: 50
save_result: true
result_filename: y.json
""")
    r = shell("vllm bench serve --config bench.yaml --num-prompts 4")
    result = strict_json((tmp_path / "y.json").read_text())
    assert result["completed"] == 4 and result["request_goodput"] > 0
    assert "Mean E2EL (ms):" in r.stdout
    assert len([q for q in server.stop() if q["number"]]) == 4


def test_guide_b_same_prompts_for_both_endpoints(shell, mock, sharegpt,
                                                 tmp_path):
    """Two endpoints are compared on the same prompts: same seed, same
    bodies. (Two that leave close together may arrive in either order.)"""
    hashes = []
    for name in "ab":
        server = mock("--models", "qwen32b", "--tokens", "3")
        shell(GUIDE_B.format(url=server.url, tokenizer=TOKENIZER,
                             data=sharegpt).replace("--request-rate 8",
                                                    "--request-rate 50"))
        hashes.append(sorted(q["body_hash"] for q in server.stop()
                             if q["number"]))
    assert hashes[0] == hashes[1] and len(set(hashes[0])) == 16


# ---- C: benchmark_serving.py ----

def test_guide_c_smoke_test(shell, keyed, sharegpt):
    """curl first, then five prompts, then more; `2>&1 | tee`."""
    gateway, server = keyed()
    r = shell(f"""python {BENCHMARK_SERVING} --backend openai-chat \
        --base-url {gateway.url} --api-key K --model M \
        --tokenizer {TOKENIZER} --dataset-path {sharegpt} \
        --dataset-name sharegpt --num-prompts 5 --request-rate 20 \
        --max-concurrency 32 --trust-remote-code 2>&1 | tee run.log""")
    assert "Successful requests:                     5         " in r.stdout
    assert "Success rate: 100.00 %" in r.stdout
    assert {q["path"] for q in server.stop() if q["number"]} == \
        {"/v1/chat/completions"}


def test_guide_c_older_form(shell, mock, sharegpt):
    """Of 2024: --dataset, --host, --port."""
    server = mock("--models", "M", "--tokens", "4")
    shell(f"python {BENCHMARK_SERVING} --backend vllm --host 127.0.0.1 "
          f"--port {server.port} --model M --tokenizer {TOKENIZER} "
          f"--dataset {sharegpt} --num-prompts 5 --request-rate 20")
    assert len([q for q in server.stop() if q["number"]]) == 5


def test_guide_c_config_file(shell, keyed, sharegpt, tmp_path):
    """The key comes from a variable that the file names."""
    gateway, server = keyed()
    (tmp_path / "config.json").write_text(json.dumps({
        "backend": "openai-chat", "base_url": gateway.url, "model": "M",
        "api_key_env": "MY_KEY", "tokenizer": str(TOKENIZER),
        "dataset_name": "sharegpt", "dataset_path": str(sharegpt),
        "num_prompts": 5, "request_rate": 20, "max_concurrency": 8}))
    shell("vllm bench serve --config config.json", env={"MY_KEY": "K"})
    assert len([q for q in server.stop() if q["number"]]) == 5


@pytest.mark.parametrize("change, word", [
    ({"--endpoint": "/v1/completions"}, "openai-chat"),
    ({"--model": "/models/M"}, "it has M"),
    ({"--base-url": "http://127.0.0.1:1"}, "refused"),
    ({"--api-key": "pasted-wrong"}, "401"),
])
def test_guide_c_troubles_are_explained(shell, mock, nginx, sharegpt, change,
                                        word):
    """What cost them hours, said before or at the first requests."""
    server = mock("--models", "M", "--strict-model")
    gateway = nginx(server.url, location="""
        if ($http_authorization != "Bearer K") { return 401; }
        proxy_buffering off;""")
    flags = {"--backend": "openai-chat", "--base-url": gateway.url,
             "--api-key": "K", "--model": "M", "--dataset-name": "sharegpt",
             "--dataset-path": sharegpt, "--num-prompts": 200,
             "--max-concurrency": 4, **change}
    line = " ".join(f"{k} {v}" for k, v in flags.items())
    r = shell(f"python {BENCHMARK_SERVING} {line}", code=None)
    assert r.returncode in (1, 2), r
    assert word in r.stdout + r.stderr, r.stdout + r.stderr
    assert "pasted-wrong" not in r.stdout + r.stderr
    assert len([q for q in server.stop() if q["number"]]) <= 20


# ---- contrib/ ----

def test_forwarder_without_stoke(shell):
    r = shell(f"python {BENCHMARK_SERVING} --help", code=1,
              env={"STOKE": "/no/such/stoke"})
    assert "/no/such/stoke" in r.stderr and "PATH" in r.stderr
    assert "Traceback" not in r.stderr


def test_forwarder_hands_on_arguments_and_status(shell):
    assert "bench serve" in shell(
        f"python {BENCHMARK_SERVING} --help").stdout
    r = shell(f"python {BENCHMARK_SERVING} --no-such-flag", code=2)
    assert "--no-such-flag" in r.stderr


CONVERT = ROOT / "contrib" / "parquet_to_jsonl.py"

# As much of pyarrow as the converter asks for.
PYARROW = r'''
import datetime, math

class ParquetFile:
    rows = [{"prompt": "a\nb", "x": math.nan, "b": b"\x00"},
            {"prompt": "ü", "x": 1.5, "at": datetime.date(2026, 1, 2)}]

    class schema_arrow:
        names = ["prompt", "x", "b", "at"]

    def __init__(self, path):
        if path == "bad.parquet":
            raise ValueError("no magic bytes")

    def iter_batches(self, batch_size, columns):
        for row in self.rows:
            yield type("Batch", (), {"to_pylist": lambda self: [
                {k: v for k, v in row.items() if not columns or k in columns}]
                })()
'''


@pytest.fixture
def pyarrow(tmp_path):
    package = tmp_path / "packages" / "pyarrow"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "parquet.py").write_text(PYARROW)
    return {"PYTHONPATH": str(package.parent)}


def test_parquet_rows_are_lines(shell, pyarrow, tmp_path):
    r = shell(f"python {CONVERT} a.parquet", env=pyarrow)
    assert [strict_json(line) for line in r.stdout.splitlines()] == [
        {"prompt": "a\nb", "x": None, "b": "AA=="},
        {"prompt": "ü", "x": 1.5, "at": "2026-01-02"}]
    shell(f"python {CONVERT} a.parquet b.parquet --limit 3 --columns prompt "
          "-o out.jsonl", env=pyarrow)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [strict_json(line) for line in lines] == [
        {"prompt": "a\nb"}, {"prompt": "ü"}, {"prompt": "a\nb"}]


def test_parquet_recordings_are_files(shell, pyarrow, tmp_path):
    package = tmp_path / "packages" / "pyarrow" / "parquet.py"
    package.write_text(PYARROW.replace(
        '{"prompt": "a\\nb", "x": math.nan, "b": b"\\x00"}',
        '{"audio": {"bytes": b"fLaC1", "path": "/x/a.flac"}, "text": "t"},'
        '{"images": [{"bytes": b"\\x89PNG", "path": None}], "at": 1}'))
    shell(f"python {CONVERT} a.parquet --files out --limit 2", env=pyarrow)
    lines = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    assert [strict_json(line) for line in lines] == [
        {"audio": "000001.flac", "text": "t"},
        {"images": ["000002.png"], "at": 1}]
    assert (tmp_path / "out" / "000001.flac").read_bytes() == b"fLaC1"
    r = shell(f"python {CONVERT} a.parquet --files out -o x", code=2,
              env=pyarrow)
    assert "leave out --output" in r.stderr


def test_parquet_troubles_are_said(shell, pyarrow, tmp_path):
    r = shell(f"python {CONVERT} a.parquet --columns y", code=1, env=pyarrow)
    assert "no column y" in r.stderr and "prompt" in r.stderr
    r = shell(f"python {CONVERT} bad.parquet", code=1, env=pyarrow)
    assert "bad.parquet: no magic bytes" in r.stderr
    (tmp_path / "packages" / "pyarrow" / "parquet.py").write_text(
        "raise ImportError")
    r = shell(f"python {CONVERT} a.parquet", code=1, env=pyarrow)
    assert "pip install pyarrow" in r.stderr
    assert "Traceback" not in r.stderr
