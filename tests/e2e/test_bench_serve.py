"""`stoke bench serve` where `vllm bench serve` stood: what it sends, prints
and saves."""

import json
import re
import socket
import time

import pytest
from harness.program import strict_json
from harness.raw import END, chunk, delta, head, text, usage, whole

pytestmark = pytest.mark.asan

KEYS = {"date", "endpoint_type", "backend", "label", "model_id",
        "tokenizer_id", "num_prompts", "request_rate", "burstiness",
        "max_concurrency", "duration", "completed", "failed"}


@pytest.fixture
def serve(stoke, tmp_path):
    """serve(url, *flags) is the finished process; small random prompts."""

    def run(url, *flags, code=0, model="m", **more):
        args = ["bench", "serve"]
        args += ["--base-url", url] if url else []
        args += ["--model", model] if model else []
        args += ["--random-input-len", 8, "--random-output-len", 4]
        r = stoke.command(*args, *flags, **more).wait()
        assert code is None or r.code == code, r
        return r

    return run


def saved(tmp_path, pattern="*.json"):
    files = sorted(tmp_path.glob(pattern))
    assert len(files) == 1, files
    return strict_json(files[0].read_text())


def answer(q):
    """A stream for whichever body it was; there is nothing but that."""
    if q.path not in ("/v1/completions", "/v1/chat/completions"):
        return [whole({"error": "no such path"}, "404 Not Found")]
    body = q.json
    if "messages" in body:
        events = [text("x"), text("y"), delta("stop")]
    else:
        events = [b'data: {"choices":[{"index":0,"text":"%s",'
                  b'"finish_reason":null}]}\n\n' % t for t in (b"x", b"y")]
    events += [usage(8, 2), b"data: [DONE]\n\n"]
    return [head(), *map(chunk, events), END]


# ---- what is printed ----

def test_lines_before_the_table_and_the_table(serve, mock):
    r = serve(mock().url, "--num-prompts", 6, "--num-warmups", 2,
              "--request-rate", 50, "--temperature", 0)
    lines = r.out.splitlines()
    wanted = [
        "Starting initial single prompt test run...",
        "Skipping endpoint ready check.",
        "Warming up with 2 requests...",
        "Warmup run completed.",
        "Starting main benchmark run...",
        "Traffic request rate: 50.0",
        "Burstiness factor: 1.0 (Poisson process)",
        "Maximum request concurrency: None",
        "============ Serving Benchmark Result ============",
        "Successful requests:                     6         ",
        "Failed requests:                         0         ",
        "Request rate configured (RPS):           50.00     ",
    ]
    assert lines[0].startswith("Namespace(subparser='bench', ")
    at = [lines.index(line) for line in wanted]
    assert at == sorted(at), r.out
    assert "WARNING" not in r.out
    assert re.search(r"^Success rate: 100\.00 % \(6 of 6 requests\)$", r.out,
                     re.M)


def test_without_a_temperature_it_says_so(serve, mock):
    assert "WARNING" in serve(mock().url, "--num-prompts", 1).out


def test_a_ramp_sends_all_of_them(serve, mock, tmp_path):
    r = serve(mock().url, "--num-prompts", 30, "--ramp-up-strategy",
              "linear", "--ramp-up-start-rps", 20, "--ramp-up-end-rps", 100,
              "--save-result", "--result-dir", "r")
    assert "Traffic ramp-up strategy: linear." in r.out
    assert "Will increase RPS from 20 to 100 RPS over" in r.out
    (file,) = (tmp_path / "r").iterdir()
    assert re.fullmatch(r"openai-ramp-up-linear-20qps-100qps-m-\d{8}-\d{6}"
                        r"\.json", file.name)
    j = strict_json(file.read_text())
    assert j["completed"] == 30 and j["request_rate"] == "inf"
    assert (j["ramp_up_strategy"], j["ramp_up_start_rps"],
            j["ramp_up_end_rps"]) == ("linear", 20, 100)
    steps = [e["rps"] for e in j["rps_change_events"]]
    assert steps == list(range(20, 101))
    stamps = [e["timestamp"] for e in j["rps_change_events"]]
    assert stamps == sorted(stamps)


# ---- what is sent ----

def test_bodies_of_completions_and_chats(serve, raw_server):
    server = raw_server(answer)
    serve(server.url, "--num-prompts", 1, "--temperature", "0.5",
          "--extra-body.seed", 7, "--ignore-eos")
    body = server.requests[-1].json
    assert server.requests[-1].path == "/v1/completions"
    assert body["max_tokens"] == 4 and body["temperature"] == 0.5
    assert body["seed"] == 7 and body["ignore_eos"] is True
    assert isinstance(body["prompt"], str) and body["stream"] is True
    serve(server.url, "--num-prompts", 1, "--backend", "openai-chat")
    body = server.requests[-1].json
    assert server.requests[-1].path == "/v1/chat/completions"
    assert body["max_completion_tokens"] == 4 and "prompt" not in body
    assert body["messages"][0]["role"] == "user"


def test_responses_are_not_stored_and_have_their_length(serve, mock):
    server = mock("--ttft", "1ms", "--itl", "1ms", "--log-bodies")
    serve(server.url, "--backend", "openai-responses", "--num-prompts", 1)
    serve(server.url, "--backend", "openai-responses", "--num-prompts", 1,
          "--extra-body.store", "true")
    first, second = (json.loads(line["body"]) for line in server.stop()
                     if line["number"])
    assert first["store"] is False and first["ignore_eos"] is True
    assert first["max_output_tokens"] == 4 and second["store"] is True


def test_sampling_is_numbers_however_they_are_written(serve, raw_server):
    server = raw_server(answer)
    serve(server.url, "--num-prompts", 1, "--top-p", ".9", "--temperature",
          "1.", "--min-p", "1e-1", "--top-k", "+3", "--presence-penalty", "-.5",
          "--repetition-penalty", "1.1")
    body = server.requests[-1].json
    assert (body["top_p"], body["temperature"], body["min_p"], body["top_k"],
            body["presence_penalty"], body["repetition_penalty"]) == (
        0.9, 1, 0.1, 3, -0.5, 1.1)
    assert isinstance(body["top_k"], int)
    r = serve(server.url, "--top-k", "1.5", "--top-p", "x", code=2)
    assert "--top-k 1.5: not a whole number" in r.err
    assert "--top-p x: not a number" in r.err


def test_extra_body_is_sent_as_it_was_written(serve, raw_server):
    server = raw_server(answer)
    serve(server.url, "--num-prompts", 1, "--top-p", 0.5, "--temperature", 1,
          "--extra-body",
          '{"seed":9007199254740993,"top_p":0.25,"stop":["\\u0000"]}')
    body = server.requests[-1].json
    assert body["seed"] == 9007199254740993 and body["stop"] == ["\0"]
    assert body["top_p"] == 0.25 and body["temperature"] == 1


def test_headers_keys_and_ids(serve, raw_server):
    server = raw_server(answer)
    serve(server.url, "--num-prompts", 2, "--request-id-prefix", "run7-",
          "--header", "X-Team=a=b", "X-Other: c",
          env={"OPENAI_API_KEY": " sk-from-env\n"})
    posts = [q for q in server.requests if q.path == "/v1/completions"]
    assert {q.headers["authorization"] for q in posts} == {"Bearer sk-from-env"}
    assert {q.headers["x-team"] for q in posts} == {"a=b"}
    assert {q.headers["x-other"] for q in posts} == {"c"}
    assert sorted(q.headers["x-request-id"] for q in posts) == ["run7-0",
                                                                "run7-1"]
    serve(server.url, "--num-prompts", 1)  # of each run its own
    assert re.fullmatch("bench-[0-9a-f]{8}-1",
                        server.requests[-1].headers["x-request-id"])
    server.requests.clear()
    serve(server.url, "--num-prompts", 3, "--num-warmups", 2)
    ids = [q.headers["x-request-id"] for q in server.requests
           if q.path == "/v1/completions"]
    assert len(ids) == len(set(ids)) == 5


def test_a_header_replaces_the_key(serve, raw_server):
    server = raw_server(answer)
    serve(server.url, "--num-prompts", 1, "--header",
          "Authorization: Bearer mine", env={"OPENAI_API_KEY": "other"})
    assert server.requests[-1].headers["authorization"] == "Bearer mine"


def test_models_of_loras_in_turn(serve, raw_server):
    server = raw_server(answer)
    serve(server.url, "--num-prompts", 4, "--lora-modules", "a", "b",
          "--lora-assignment", "round-robin", "--max-concurrency", 1)
    models = [q.json["model"] for q in server.requests
              if q.path == "/v1/completions"]
    assert models == ["a", "b", "a", "b"]


def test_the_first_model_when_none_is_named(serve, raw_server):
    def both(q):
        if q.path == "/v1/models":
            return [whole({"data": [{"id": "one"}, {"id": "two"}]})]
        return answer(q)

    server = raw_server(both)
    r = serve(server.url, "--num-prompts", 1, model=None)
    assert "the model is one, the first there" in r.err
    assert server.requests[-1].json["model"] == "one"


def test_warm_ups_are_other_prompts(serve, raw_server, tmp_path):
    server = raw_server(answer)
    serve(server.url, "--num-prompts", 3, "--num-warmups", 2,
          "--save-result")
    prompts = [q.json["prompt"] for q in server.requests
               if q.path == "/v1/completions"]
    assert len(prompts) == 5
    assert not set(prompts[:2]) & {prompts[2]}
    assert saved(tmp_path)["completed"] == 3


def test_profiler_and_counters(serve, raw_server, tmp_path):
    drafts = iter([4, 10])
    metrics = ('vllm:spec_decode_num_drafts_total{{engine="0"}} {0}\n'
               'vllm:spec_decode_num_draft_tokens_total{{engine="0"}} {1}\n'
               'vllm:spec_decode_num_accepted_tokens_total{{engine="0"}} {0}\n'
               'vllm:spec_decode_num_accepted_tokens_per_pos_total'
               '{{engine="0",position="0"}} {0}\n')

    def play(q):
        if q.path == "/metrics":
            n = next(drafts)
            return [whole(metrics.format(n, 3 * n), "200 OK", "text/plain")]
        if q.path.endswith("_profile"):
            return [whole("", "200 OK", "text/plain")]
        return answer(q)

    server = raw_server(play)
    r = serve(server.url, "--num-prompts", 2, "--profile", "--save-result")
    assert "Profiler started" in r.out and "Profiler stopped" in r.out
    paths = [q.path for q in server.requests]
    assert paths.index("/start_profile") < paths.index("/v1/completions")
    assert paths[-2:] == ["/stop_profile", "/metrics"]
    j = saved(tmp_path)
    assert j["spec_decode_num_drafts"] == 6
    assert j["spec_decode_draft_tokens"] == 18
    assert j["spec_decode_acceptance_length"] == 2
    assert j["spec_decode_per_position_acceptance_rates"] == [1]
    assert re.search(r"^Acceptance rate \(%\): +33\.33 +$", r.out, re.M)
    assert re.search(r"^  Position 0: +100\.00 +$", r.out, re.M)


def test_probes_are_beside_the_load(serve, mock, tmp_path):
    m = mock("--ttft", "30ms")
    r = serve(m.url, "--num-prompts", 20, "--max-concurrency", 2,
              "--probe-request-rate", 50, "--save-result")
    j = saved(tmp_path)
    assert j["completed"] == 20 and j["probe_failed"] == 0
    assert j["probe_completed"] >= 2
    assert j["probe_median_e2el_ms"] >= 29
    assert "------------------Probe Requests------------------" in r.out
    assert len([e for e in m.stop() if e["path"] == "/v1/completions"]) == \
        20 + j["probe_completed"]


# ---- what is saved ----

def test_files_and_their_names(serve, mock, tmp_path):
    r = serve(mock().url, "--num-prompts", 3, "--save-result",
              "--result-dir", "a/b", "--label", "L", "--max-concurrency", 2,
              "--metadata", "version=0.3.3", "tp=1", model="org/m")
    (file,) = (tmp_path / "a" / "b").iterdir()
    assert re.fullmatch(r"L-infqps-concurrency2-m-\d{8}-\d{6}\.json",
                        file.name)
    j = strict_json(file.read_text())
    assert KEYS <= set(j)
    assert (j["label"], j["model_id"], j["version"], j["tp"]) == (
        "L", "org/m", "0.3.3", "1")
    assert j["endpoint_type"] == j["backend"] == "openai"
    assert "ttfts" not in j and "generated_texts" not in j
    assert j["stoke"]["metric_mode"] == "stoke"
    assert "p99_ttft_ms" in j and "mean_e2el_ms" not in j
    assert f"results are in a/b/{file.name}" in r.err


def test_detail_is_in_the_order_of_the_data(serve, mock, tmp_path):
    data = tmp_path / "d.jsonl"
    data.write_text("".join(json.dumps({
        "prompt": "word " * (i + 4), "output_tokens": 12 - i}) + "\n"
        for i in range(8)))
    serve(mock("--ttft", "normal:30ms:15ms").url, "--num-prompts", 8,
          "--dataset-name", "custom", "--dataset-path", data,
          "--disable-shuffle", "--custom-output-len", -1,
          "--skip-chat-template", "--save-result", "--save-detailed",
          "--result-filename", "out.json", "--max-concurrency", 5)
    j = saved(tmp_path, "out.json")
    assert j["output_lens"] == [12 - i for i in range(8)]
    assert j["input_lens"] == sorted(j["input_lens"])
    assert len(set(j["input_lens"])) == 8
    assert [len(gaps) for gaps in j["itls"]] == [11 - i for i in range(8)]
    assert all(len(t.split()) >= 1 for t in j["generated_texts"])
    assert j["errors"] == [""] * 8 and len(j["queue_times"]) == 8
    for ttft, gaps, latency in zip(j["ttfts"], j["itls"], j["latencies"]):
        assert ttft + sum(gaps) == pytest.approx(latency, abs=1e-5)
    assert sum(j["output_lens"]) == j["total_output_tokens"]


def test_answers_without_text(serve, mock, tmp_path):
    r = serve(mock().url, "--backend", "openai-embeddings", "--num-prompts",
              20, "--random-batch-size", 4, "--save-result")
    assert re.search(r"^Input throughput \(inputs/s\): ", r.out, re.M)
    assert "Peak" not in r.out and "TTFT" not in r.out
    j = saved(tmp_path)
    assert j["num_prompts"] == 20 and j["completed"] == 5
    assert j["total_input_sequences"] == 20
    assert j["input_sequence_throughput"] == pytest.approx(
        4 * j["request_throughput"])
    assert j["total_token_throughput"] == pytest.approx(
        j["total_input_tokens"] / j["duration"])
    assert "mean_e2el_ms" in j and "mean_ttft_ms" not in j
    assert "output_throughput" not in j


@pytest.mark.parametrize("backend", [
    "openai-embeddings", "openai-embeddings-chat", "openai-embeddings-clip",
    "openai-embeddings-vlm2vec", "infinity-embeddings",
    "infinity-embeddings-clip", "vllm-pooling"])
def test_every_backend_that_embeds(serve, mock, tmp_path, backend):
    serve(mock().url, "--backend", backend, "--num-prompts", 2,
          "--save-result")
    j = saved(tmp_path)
    assert j["completed"] == 2 and j["endpoint_type"] == backend
    assert j["total_input_tokens"] == 2 * 8


@pytest.mark.parametrize("flags, sequences", [
    (["--backend", "openai-embeddings"], 5),
    (["--backend", "vllm-rerank", "--dataset-name", "random-rerank"], 5),
    (["--backend", "openai-embeddings", "--dataset-name", "random-rerank",
      "--no-reranker"], 5 + 3)])
def test_the_last_batch_has_what_is_left(serve, mock, tmp_path, flags,
                                         sequences):
    serve(mock().url, *flags, "--num-prompts", 5, "--random-batch-size", 2,
          "--save-result")
    j = saved(tmp_path)
    assert j["completed"] == 3 and j["total_input_sequences"] == sequences


@pytest.mark.parametrize("failing, sequences", [(2, 3), (1, 4)])
def test_sequences_of_batches_that_were_answered(
        serve, raw_server, tmp_path, failing, sequences):
    """Of 5 texts in twos: a whole batch fails, or the one that is left."""
    count = {2: 0, 1: 0}

    def embed(q):
        if q.path != "/v1/embeddings":
            return [whole({}, "404 No")]
        n = len(q.json["input"])
        count[n] += 1
        if n == failing and count[n] == 1:
            return [whole({"error": "no"}, "500 No")]
        return [whole({"object": "list", "data": [
            {"index": i, "embedding": [0.5]} for i in range(n)],
            "usage": {"prompt_tokens": n, "total_tokens": n}})]

    serve(raw_server(embed).url, "--backend", "openai-embeddings",
          "--num-prompts", 5, "--random-batch-size", 2, "--save-result",
          "--max-concurrency", 1)
    j = saved(tmp_path)
    assert j["completed"] == 2 and j["total_input_sequences"] == sequences


def test_reranking(serve, mock, tmp_path):
    r = serve(mock().url, "--backend", "vllm-rerank", "--endpoint",
              "/v1/rerank", "--dataset-name", "random-rerank",
              "--random-batch-size", 3, "--num-prompts", 12,
              "--random-input-len", 40)
    assert "Successful requests:                     4 " in r.out


def test_an_empty_key_is_noticed(serve, mock):
    r = serve(mock().url, "--num-prompts", 1, env={"OPENAI_API_KEY": ""})
    assert "OPENAI_API_KEY is set; it is empty, so no key is sent" in r.err


def test_appended_lines(serve, mock, tmp_path):
    m = mock()
    for n in (1, 2):
        serve(m.url, "--num-prompts", n, "--append-result",
              "--result-filename", "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    assert [strict_json(line)["completed"] for line in lines] == [1, 2]


def test_a_file_of_that_name_is_replaced(serve, mock, tmp_path):
    m = mock()
    for n in (1, 2):
        serve(m.url, "--num-prompts", n, "--save-result",
              "--result-filename", "x.json")
    assert saved(tmp_path, "x.json")["completed"] == 2


def test_a_file_that_cannot_be_written_costs_no_request(serve, mock,
                                                        tmp_path):
    (tmp_path / "taken").mkdir()
    m = mock()
    r = serve(m.url, "--num-prompts", 2, "--save-result",
              "--result-filename", "taken", code=2)
    assert "taken: is a folder" in r.err
    assert not [e for e in m.stop() if e["path"] == "/v1/completions"]


def test_timeline_and_pytorch(serve, mock, tmp_path):
    r = serve(mock().url, "--num-prompts", 3, "--save-result",
              "--plot-timeline", "--plot-dataset-stats",
              "--timeline-itl-thresholds", "5,9", "--result-filename",
              "x.json", env={"SAVE_TO_PYTORCH_BENCHMARK_FORMAT": "1"})
    page = (tmp_path / "x.timeline.html").read_text()
    found = re.search(r"const data = (\{.*\});\n", page)
    data = strict_json(found.group(1))
    assert len(data["requests"]) == 3 and data["slow_ms"] == 5
    assert data["draw_requests"] and data["draw_lengths"]
    assert "http://" not in page.replace(found.group(), "")
    records = saved(tmp_path, "x.pytorch.json")
    assert [q["metric"]["name"] for q in records][:2] == ["mean_ttft_ms",
                                                          "median_ttft_ms"]
    assert len(records) == 12 and records[0]["model"]["name"] == "m"
    assert "also written: x.timeline.html" in r.err


def test_vllms_definitions(serve, mock, tmp_path):
    serve(mock("--ttft", "20ms", "--itl", "1ms").url, "--num-prompts", 6,
          "--max-concurrency", 2, "--metric-mode", "vllm", "--save-result",
          "--goodput", "ttft:10000", "tpot:10000")
    j = saved(tmp_path)
    assert j["stoke"]["metric_mode"] == "vllm"
    # All six touch the first second, which is counted there as concurrency.
    assert 2 <= j["max_concurrent_requests"] <= 6
    assert j["max_output_tokens_per_s"] == int(j["max_output_tokens_per_s"])
    assert j["request_goodput"] == pytest.approx(j["request_throughput"])


@pytest.mark.parametrize("mode, gaps", [("vllm", 3), ("stoke", 1)])
def test_a_role_is_a_token_there(serve, raw_server, tmp_path, mode, gaps):
    def play(q):
        if q.path != "/v1/chat/completions":
            return answer(q)
        return [head(), chunk(delta(role="assistant", content="")), 0.06,
                chunk(text("x")), 0.02, chunk(text("y")), 0.04,
                chunk(delta("stop")), chunk(usage(8, 2)),
                chunk(b"data: [DONE]\n\n"), END]

    serve(raw_server(play).url, "--num-prompts", 1, "--backend",
          "openai-chat", "--metric-mode", mode, "--save-result",
          "--save-detailed", "--percentile-metrics", "ttft,tpot,itl,e2el")
    j = saved(tmp_path)
    (itls,), (ttft,), (e2el,) = j["itls"], j["ttfts"], j["latencies"]
    assert len(itls) == gaps
    assert ttft + sum(itls) == pytest.approx(e2el, abs=1e-5)
    assert j["mean_ttft_ms"] == pytest.approx(ttft * 1e3)
    assert j["mean_e2el_ms"] == pytest.approx(e2el * 1e3)
    assert j["mean_itl_ms"] == pytest.approx(sum(itls) / gaps * 1e3)
    if mode == "vllm":
        assert itls[0] >= 0.05 and itls[2] >= 0.03
    else:
        assert ttft >= 0.05


def test_requests_out_and_thresholds(serve, mock, tmp_path):
    serve(mock().url, "--num-prompts", 2, "--requests-out", "q.jsonl",
          "--threshold", "ttft.p99 < 1us", code=99)
    assert len((tmp_path / "q.jsonl").read_text().splitlines()) == 2


# ---- what goes wrong ----

@pytest.mark.parametrize("status, words", [
    (401, "not authorised"), (403, "not authorised"),
    (404, "no such path or model"), (422, "rejected the body")])
def test_ten_hopeless_results_end_it(serve, raw_server, tmp_path, status,
                                     words):
    answer = [whole({"error": {"message": "no"}}, f"{status} No")]
    server = raw_server(answer)
    r = serve(server.url, "--num-prompts", 5000, "--max-concurrency", 4,
              "--save-result", code=1)
    posts = [q for q in server.requests if q.path == "/v1/completions"]
    assert 10 <= len(posts) < 1000
    assert "the first 10 results were all the same: " in r.out
    assert words in r.out and "Success rate: 0.00 %" in r.out
    lines = r.out.splitlines()
    at = lines.index("Failed requests during benchmark run detected "
                     "(capping to 10):")
    assert lines[at + 1:at + 11] == [f"Error {i}: no" for i in range(10)]
    assert not lines[at + 11].startswith("Error")
    assert r.out.index("Only 0.0 %") < r.out.index("Serving Benchmark Result")
    assert saved(tmp_path)["stoke"]["stop_reason"].startswith("hopeless: ")


def test_other_failures_do_not_end_it(serve, raw_server):
    server = raw_server([whole("busy", "503 Busy", "text/plain")])
    r = serve(server.url, "--num-prompts", 40, "--max-concurrency", 4, code=1)
    assert "Failed requests:                         40 " in r.out


def test_one_success_is_hope(serve, raw_server):
    def play(q):
        posts = [p for p in server.requests if p.path == "/v1/completions"]
        return answer(q) if len(posts) == 5 else [
            whole({"error": "x"}, "404 Not Found")]

    server = raw_server(play)
    r = serve(server.url, "--num-prompts", 40, "--max-concurrency", 1)
    assert "Failed requests:                         39 " in r.out


def test_threads_that_all_fail_and_one_that_does_not(serve, raw_server):
    """A thread sees its own results alone; the run sees all of them."""
    refusal = [whole({"error": "x"}, "404 Not Found")]
    flags = ["--max-concurrency", 2, "--threads", 2, "--num-prompts", 400]

    r = serve(raw_server(refusal).url, *flags, code=1)
    assert "the first 10 results were all the same" in r.out

    lucky = []  # the connection that brings the first prompt

    def half(q):
        if q.path == "/v1/completions":
            lucky.append(q.connection)
        return answer(q) if lucky and q.connection == lucky[0] else refusal

    r = serve(raw_server(half).url, *flags)
    assert "hopeless" not in r.out and "of 400 requests)" in r.out


def test_refused_says_what_to_do(serve, refused):
    port = refused.rsplit(":", 1)[1]
    r = serve(None, "--host", "127.0.0.1", "--port", port, "--num-prompts", 3,
              code=1)
    assert "nothing listens there" in r.err
    assert "Failed requests:                         3 " in r.out


@pytest.mark.parametrize("words, flags", [
    ("max_tokens is too large", "see --output-len"),
    ("no messages here", "see --backend"),
    ("this does not stream", "try --extra-body.stream false"),
    ("hm", "compare its words with --extra-body"),
])
def test_explanations_speak_of_flags_that_there_are(serve, raw_server, words,
                                                    flags):
    server = raw_server([whole({"error": {"message": words}}, "400 No")])
    r = serve(server.url, "--num-prompts", 2, code=1)
    assert flags in r.err


def test_a_local_path_for_a_model(serve, mock):
    r = serve(mock("--strict-model").url, "--num-prompts", 3, code=1,
              model="/models/M")
    assert "does not have the model" in r.err and "it has mock" in r.err


def test_no_secret_anywhere(serve, raw_server, tmp_path):
    def play(q):
        key = q.headers.get("authorization", "")
        return [whole({"error": {"message": f"bad {key}"}}, "401 No")]

    server = raw_server(play)
    r = serve(server.url, "--num-prompts", 2, "--api-key", "sk-secret-1234",
              "--header", "X-Api-Key=abcdef-9876", "--save-result",
              "--save-detailed", code=1)
    everything = r.out + r.err + json.dumps(saved(tmp_path))
    assert "sk-secret-1234" not in everything
    assert "abcdef-9876" not in everything


def test_every_mistake_before_the_first_request(serve, mock):
    m = mock()
    r = serve(m.url, "--endpoint", "/v1/chat/completions", "--metadata", "k",
              "--goodput", "x:1", "--dataset-name", "nonsense", code=2)
    for words in ("--endpoint /v1/chat/completions", "--metadata k: must be",
                  "--goodput x:1: no such figure", "--dataset-name nonsense: choose"):
        assert words in r.err
    assert "Namespace" not in r.out and not m.stop()


@pytest.mark.parametrize("metrics, shown", [
    ("e2el,ttft,", {"TTFT", "E2EL"}), ("foo,itl", {"ITL"}), ("", set())])
def test_metrics_that_are_none_are_left_out(serve, mock, tmp_path, metrics,
                                            shown):
    """As vLLM does: a wrapper's command line stays one."""
    r = serve(mock("--ttft", "1ms").url, "--num-prompts", 2,
              "--percentile-metrics", metrics, "--metric-percentiles",
              "50,99,99.0", "--save-result")
    found = re.findall(r"P99 (\w+) \(ms\):", r.out)
    assert len(found) == len(shown) and set(found) == shown
    assert ("foo: no such metric" in r.err) == ("foo" in metrics)
    j = saved(tmp_path)
    assert next(tmp_path.glob("*.json")).read_text().count('"p99_') == \
        len(shown)
    assert {k[4:] for k in j if k.startswith("p99_")} == {
        f"{name.lower()}_ms" for name in shown}


def test_empty_names_are_not_said(serve, mock, tmp_path):
    server = mock("--ttft", "1ms")
    serve(server.url, "--num-prompts", 1, "--save-result", "--label", "",
          "--result-filename", "", "--result-dir", "")
    assert [p.name[:14] for p in tmp_path.glob("*.json")] == ["openai-infqps-"]
    serve(server.url, "--num-prompts", 1, "--append-result", "--plot-timeline",
          "--result-filename", "all.runs.jsonl")
    assert (tmp_path / "all.runs.timeline.html").exists()


def test_b132_an_interrupted_run_is_saved(stoke, mock, tmp_path):
    m = mock("--ttft", "5ms", "--itl", "1ms")
    p = stoke.command("bench", "serve", "--base-url", m.url, "--model", "m",
                      "--random-input-len", 8, "--random-output-len", 4,
                      "--request-rate", 20, "--num-prompts", 10000,
                      "--save-result", "--requests-out", "q.jsonl",
                      "--result-filename", "x.json")
    until = time.monotonic() + 60
    lines = tmp_path / "q.jsonl"
    while not (lines.exists() and lines.stat().st_size):
        assert time.monotonic() < until
        time.sleep(0.05)
    p.signal()
    r = p.wait()
    assert r.code == 130 and "Stopped early (interrupted)" in r.out
    j = saved(tmp_path, "x.json")
    assert 0 < j["completed"] < 10000 and j["num_prompts"] == 10000


def test_a_configuration_in_a_file(serve, raw_server, tmp_path):
    server = raw_server(answer)
    (tmp_path / "c.yaml").write_text(
        f"base_url: {server.url}/v1\nendpoint_type: openai-chat\n"
        "headers: {X-Team: a}\nnum_prompts: 2\napi_key_env: MY_KEY\n"
        "extra_body: {seed: 1}\nmodel: q\n")
    serve(None, "--config", "c.yaml", model=None, env={"MY_KEY": "kkkkkkk"})
    q = server.requests[-1]
    assert q.path == "/v1/chat/completions" and q.headers["x-team"] == "a"
    assert q.headers["authorization"] == "Bearer kkkkkkk"
    assert q.json["seed"] == 1 and q.json["model"] == "q"
    # Lists and objects, where a flag has them as text.
    (tmp_path / "c.json").write_text(json.dumps({
        "base_url": server.url, "model": "q", "num_prompts": 1,
        "percentile_metrics": ["ttft", "e2el"], "metric_percentiles": [50, 95],
        "goodput": {"ttft": 60000, "e2el": 60000},
        "random_range_ratio": {"input": 0.0, "output": 0.5}}))
    r = serve(None, "--config", "c.json", model=None)
    assert set(re.findall(r"(P\d+ \w+) \(ms\)", r.out)) == {
        "P50 TTFT", "P95 TTFT", "P50 E2EL", "P95 E2EL"}
    assert "Request goodput (req/s): " in r.out
    (tmp_path / "c.yaml").write_text("requst_rate: 4\n")
    r = serve(None, "--config", "c.yaml", code=2)
    assert "did you mean request-rate?" in r.err


# ---- until it is ready ----

def test_b122_nobody_there_is_said_to_the_end(serve, refused):
    """And not that the last look had no time left."""
    r = serve(refused, "--num-prompts", 2, "--ready-check-timeout-sec", 1,
              code=1)
    assert "refused" in r.err and "no connection within" not in r.err


def test_b122_waits_until_the_model_is_loaded(serve, mock, tmp_path):
    m = mock("--ready-after", "1500ms")
    r = serve(m.url, "--num-prompts", 2, "--ready-check-timeout-sec", 30,
              "--save-result")
    assert "Waiting for endpoint to become up in 30 seconds" in r.out
    assert "Initial test run completed." in r.out
    assert saved(tmp_path)["completed"] == 2


def test_b122_gives_up_in_time(serve, mock):
    start = time.monotonic()
    r = serve(mock("--ready-after", "1h").url, "--num-prompts", 2,
              "--ready-check-timeout-sec", 1, code=1)
    assert 1 <= time.monotonic() - start < 60
    assert "Initial test run failed" in r.err and "Benchmark Result" not in r.out


def test_b122_does_not_wait_for_a_key(serve, mock):
    start = time.monotonic()
    serve(mock("--api-key", "k").url, "--num-prompts", 2,
          "--ready-check-timeout-sec", 60, code=1)
    assert time.monotonic() - start < 30


# ---- help ----

def test_help(stoke):
    def say(*args):
        return stoke.command("bench", *args).wait()

    r = say("serve", "--help")
    assert r.code == 0 and "--random-input-len" in r.out
    assert "--endpoint-type" not in r.out
    assert "--endpoint-type" in say("serve", "--help=all").out
    r = say("serve", "--help=goodput")
    assert "--goodput" in r.out and "--backend" not in r.out
    assert say().code == 2 and say("--help").code == 0
    r = say("latency")
    assert r.code == 2 and "stoke bench serve" in r.err
    r = say("serve", "--random", "5")
    assert r.code == 2
    assert "ambiguous option: --random could match --random-input-len, " in r.err


# ---- a reader that has had enough ----

def test_b135_a_broken_pipe_ends_no_benchmark(stoke, raw_server, tmp_path):
    server = raw_server(answer)
    r = stoke.command(
        "bench", "serve", "--base-url", server.url, "--model", "m",
        "--num-prompts", 3, "--random-input-len", 8, "--save-result",
        "--result-dir", tmp_path, "--result-filename", "r.json",
        prefix=("/bin/sh", "-c", '"$@" | head -n 0', "sh")).wait()
    assert r.code == 0 and saved(tmp_path, "r.json")["completed"] == 3, r
