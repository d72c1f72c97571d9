"""`stoke run bench`: the data sets of `vllm bench serve`, seen in the bodies
that a server gets."""

import json
from pathlib import Path

import pytest
from harness.raw import delta, stream, text, usage

pytestmark = pytest.mark.asan

TOKENIZERS = Path(__file__).resolve().parents[1] / "data" / "tokenizer"
BYTES = TOKENIZERS / "bytes.json"


COMPLETION = (b'data: {"choices":[{"index":0,"text":"x",'
              b'"finish_reason":"stop"}]}\n\n')


@pytest.fixture
def server(raw_server):
    def answer(request):
        if request.path == "/v1/completions":
            return stream(COMPLETION, usage(3, 1))
        if request.path == "/v1/chat/completions":
            return stream(text("one"), delta("stop"), usage(3, 1))
        return [b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"]

    return raw_server(answer)


@pytest.fixture
def bench(stoke, server):
    """bench(name=value, …, flags=[…]) runs the scenario; .bodies are what
    the server got, in the order of their numbers."""

    def run(*, flags=(), code=0, endpoint="completions", **params):
        server.requests.clear()
        settings = [w for k, v in params.items() for w in ("-P", f"{k}={v}")]
        r = stoke.load(server.url, "bench", "--endpoint", endpoint, *settings,
                       *flags, code=code)
        r.bodies = [q.json for q in server.requests
                    if q.path.endswith("completions")]
        return r

    return run


@pytest.fixture
def count(stoke):
    def run(what, *flags, file=BYTES):
        p = stoke.command("tokenize", "-t", file, "--count", *flags, what)
        return int(p.wait().out)

    return run


def prompts(r):
    return [b["prompt"] for b in r.bodies]


# ---- random ----

@pytest.mark.parametrize("name", ["bytes", "sentence", "wordpiece"])
def test_random_prompts_are_exact(bench, count, name):
    file = TOKENIZERS / f"{name}.json"
    r = bench(num_prompts=8, tokenizer=file, random_input_len=40,
              random_prefix_len=5, random_output_len=7)
    assert len(r.bodies) == 8 and len(set(prompts(r))) == 8
    special = count("", "--special", file=file)
    for body in r.bodies:
        assert count(body["prompt"], "--special", file=file) == 45
        assert body["max_tokens"] == 7 and body["ignore_eos"] is True
        assert body["prompt"] == body["prompt"].strip()
    heads = {p.split()[:5 - special] and tuple(p.split()[:5])
             for p in prompts(r)}
    assert len(heads) == 1
    assert r.stoke["custom"]["lengths"] == "tokenizer"


def test_random_lengths_vary_by_the_ratio(bench, count):
    r = bench(num_prompts=60, tokenizer=BYTES, random_input_len=20,
              random_range_ratio='{"input": 0.5, "output": 0.25}',
              random_output_len=8)
    special = count("", "--special")
    lengths = [count(p) for p in prompts(r)[:25]]
    wanted = 20 - special
    assert min(lengths) >= wanted // 2 and max(lengths) <= -(-wanted * 3 // 2)
    assert len(set(lengths)) > 4
    outputs = {b["max_tokens"] for b in r.bodies}
    assert outputs == {6, 7, 8, 9, 10}


def test_the_seed_is_the_prompts(bench):
    settings = dict(num_prompts=6, tokenizer=BYTES, random_input_len=12)
    one = bench(**settings, flags=["--seed", 3, "--threads", 1, "-c", 1])
    two = bench(**settings, flags=["--seed", 3, "--threads", 2])
    other = bench(**settings, flags=["--seed", 4])
    assert sorted(prompts(one)) == sorted(prompts(two))
    assert not set(prompts(one)) & set(prompts(other))


def test_the_warm_up_warms_no_prompt(bench):
    r = bench(num_prompts=4, tokenizer=BYTES, random_input_len=12,
              flags=["--warmup", 3])
    assert len(r.bodies) == 7 and len(set(prompts(r))) == 7


def test_b097_one_token_is_a_prompt(bench):
    r = bench(num_prompts=2, tokenizer=BYTES, random_input_len=1)
    assert all(prompts(r))
    r = bench(num_prompts=2, random_input_len=0, code=2)
    assert "random_input_len=0: must be at least 1" in r.err


def test_random_mistakes_are_told_at_once(bench):
    r = bench(num_prompts=0, random_range_ratio="1.0", dataset_path="x",
              code=2)
    for what in ("random_range_ratio 1.0", "dataset_path", "num_prompts 0"):
        assert what in r.err
    assert "traceback" not in r.err and not r.bodies


def test_b096_without_a_tokenizer_lengths_are_words(bench):
    r = bench(num_prompts=3, random_input_len=9)
    assert r.stoke["custom"] == {"lengths": "words"}
    assert all(len(p.split()) == 9 for p in prompts(r))
    assert "in words" in r.err


def test_chats_get_their_own_fields(bench):
    r = bench(endpoint="chat", num_prompts=2, tokenizer=BYTES,
              random_input_len=9, logprobs=3)
    for body in r.bodies:
        assert body["max_completion_tokens"] == 128
        assert "max_tokens" not in body and "logprobs" not in body
        assert body["messages"][0]["role"] == "user"
    r = bench(endpoint="chat", num_prompts=1, flags=["--max-tokens", 5])
    assert r.bodies[0]["max_tokens"] == 5
    assert "max_completion_tokens" not in r.bodies[0]


def test_adapters_and_logprobs(bench):
    r = bench(num_prompts=4, lora_modules="a b", logprobs=2,
              lora_assignment="round-robin", flags=["-c", 1])
    assert [b["model"] for b in r.bodies] == ["a", "b", "a", "b"]
    assert {b["logprobs"] for b in r.bodies} == {2}
    r = bench(num_prompts=30, lora_modules="a,b")
    assert {b["model"] for b in r.bodies} == {"a", "b"}


# ---- files ----

def conversation(question, answer):
    return {"conversations": [{"from": "human", "value": question},
                              {"from": "gpt", "value": answer}]}


WORDS = "the cat sat on the mat and the dog sat on the log"


@pytest.fixture
def sharegpt(tmp_path):
    def write(*pairs):
        path = tmp_path / "s.json"
        path.write_text(json.dumps([conversation(*p) for p in pairs]))
        return path

    return write


def test_sharegpt_prunes_and_takes_the_recorded_length(bench, sharegpt, count):
    path = sharegpt((f"{WORDS} one", WORDS), ("x", WORDS), (f"{WORDS} two", "y"),
                    (WORDS * 400, WORDS))
    r = bench(dataset_name="sharegpt", dataset_path=path, num_prompts=3,
              tokenizer=BYTES)
    assert prompts(r) == [f"{WORDS} one"] * 3
    assert r.bodies[0]["max_tokens"] == count(WORDS, "--special")
    assert "ignore_eos" not in r.bodies[0]
    assert "1 of 4 rows can be sent" in r.err
    # A forced length makes short answers no reason.
    r = bench(dataset_name="sharegpt", dataset_path=path, num_prompts=3,
              tokenizer=BYTES, sharegpt_output_len=6, no_oversample="true",
              disable_shuffle="true", flags=["-c", 1])
    assert prompts(r) == [f"{WORDS} one", f"{WORDS} two"]
    assert {b["max_tokens"] for b in r.bodies} == {6}


def test_b095_nothing_survives(bench, sharegpt):
    path = sharegpt(("x", WORDS), (WORDS, "y"))
    r = bench(dataset_name="sharegpt", dataset_path=path, num_prompts=10,
              tokenizer=BYTES, code=2)
    assert "none of its 2 rows can be sent" in r.err
    assert "1 a prompt of fewer than 4 tokens" in r.err
    assert "1 an answer of fewer than 4 tokens" in r.err
    assert not r.bodies and "traceback" not in r.err


def test_custom_rows_and_their_lengths(bench, tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"prompt":"a b","output_tokens":7}\n\n'
                    '{"prompt":"c d","output_tokens":8}\n')
    common = dict(dataset_name="custom", dataset_path=path)
    r = bench(**common, num_prompts=2, custom_output_len=-1,
              disable_shuffle="true", flags=["-c", 1])
    assert [(b["prompt"], b["max_tokens"]) for b in r.bodies] == [
        ("a b", 7), ("c d", 8)]
    r = bench(**common, num_prompts=-1)
    assert sorted(prompts(r)) == ["a b", "c d"]
    assert {b["max_tokens"] for b in r.bodies} == {256}
    r = bench(**common, num_prompts=0, self_timed="false",
              flags=["-R", 200])
    assert len(r.bodies) == 2


def test_b100_bad_rows_have_a_place(bench, tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"prompt":"a"}\n\n{"text":"b"}\n{"prompt":')
    r = bench(dataset_name="custom", dataset_path=path, num_prompts=2, code=2)
    assert "c.jsonl:3" in r.err and "c.jsonl:4" in r.err
    assert "traceback" not in r.err


def test_a_tokenizer_that_is_not_there(bench, tmp_path, stoke):
    r = bench(num_prompts=2, tokenizer="org/model", code=2)
    assert "huggingface-cli download org/model tokenizer.json" in r.err


def test_the_models_tokenizer_in_the_hubs_cache(stoke, server, tmp_path):
    folder = tmp_path / "hf/hub/models--org--small"
    snapshot = folder / "snapshots/abc"
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text("abc\n")
    (snapshot / "tokenizer.json").write_bytes(BYTES.read_bytes())
    env = {"HF_HOME": str(tmp_path / "hf")}
    r = stoke.run("-u", server.url, "-m", "org/small", "--no-preflight",
                  "bench", "-P", "num_prompts=2", "-P", "random_input_len=9",
                  env=env)
    assert r.stoke["custom"]["lengths"] == "tokenizer"
    assert r.stoke["custom"]["tokenizer"].endswith("abc/tokenizer.json")
    r = stoke.command("tokenize", "-t", "org/small", "--count", "the cat",
                      env=env).wait()
    assert int(r.out) > 0
