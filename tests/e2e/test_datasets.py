"""`stoke run bench`: the data sets of `vllm bench serve`, seen in the bodies
that a server gets."""

import base64
import json
import struct
import time
from pathlib import Path

import pytest
from harness.raw import delta, stream, text, usage, whole

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


def test_a_prefix_alone_is_a_prompt(bench, count):
    r = bench(tokenizer=BYTES, num_prompts=2, random_input_len=0,
              random_prefix_len=5)
    (prompt,) = set(prompts(r))
    assert count(prompt) == 5


def test_the_warm_up_warms_no_prompt(bench):
    r = bench(num_prompts=4, tokenizer=BYTES, random_input_len=12,
              flags=["--warmup", 3])
    assert len(r.bodies) == 7 and len(set(prompts(r))) == 7


def test_b097_one_token_is_a_prompt(bench):
    r = bench(num_prompts=2, tokenizer=BYTES, random_input_len=1)
    assert all(prompts(r))
    r = bench(num_prompts=2, random_input_len=0, code=2)
    assert "random_input_len 0: there is nothing to send" in r.err


def test_random_mistakes_are_told_at_once(bench):
    r = bench(num_prompts=0, random_range_ratio="1.0", dataset_path="x",
              code=2)
    for what in ("random_range_ratio 1.0", "dataset_path",
                 "num_prompts: the data set"):
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


def test_sharegpt_with_pictures(bench, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps([
        {**conversation(WORDS, WORDS), "image": "/pictures/1.png"}]))
    common = dict(dataset_name="sharegpt", dataset_path=path, num_prompts=1)
    r = bench(endpoint="chat", **common)
    assert r.bodies[0]["messages"][0]["content"][1] == {
        "type": "image_url", "image_url": {"url": "file:///pictures/1.png"}}
    assert prompts(bench(**common)) == [WORDS]


def test_a_vocabulary_without_words(bench, count, tmp_path):
    """Every letter is a token."""
    path = tmp_path / "letters.json"
    letters = "abcdefghijklmnopqrstuvwxyz "
    path.write_text(json.dumps({"decoder": {"type": "Fuse"}, "model": {
        "type": "BPE", "merges": [],
        "vocab": {c: i for i, c in enumerate(letters)}}}))
    r = bench(num_prompts=3, tokenizer=path, random_input_len=31,
              random_prefix_len=4)
    assert {count(p, file=path) for p in prompts(r)} == {35}


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
    path.write_text('{"prompt":"a b","output_tokens":7}\n\n'
                    '{"prompt":"c d","output_tokens":"x"}\n{"prompt":"e"}\n')
    r = bench(**common, num_prompts=3, custom_output_len=-1, code=2)
    assert "c.jsonl:3: no output_tokens" in r.err
    assert "c.jsonl:4: no output_tokens" in r.err
    path.write_text('{"prompt":"a b"}\n{"prompt":"c d"}\n')
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


@pytest.mark.parametrize("row, said", [
    ({"conversations": [{"from": "human", "value": "q"}]}, "it is ShareGPT"),
    ({"messages": [{"role": "user", "content": "q"}]}, 'but "messages"'),
    ({"url": "/v1/x", "body": {"prompt": "a"}}, "it is a batch"),
])
def test_files_of_another_kind_are_called_by_their_name(bench, tmp_path, row,
                                                        said):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    r = bench(dataset_name="custom", dataset_path=path, num_prompts=1, code=2)
    assert 'rows.jsonl:1: no "prompt", but' in r.err and said in r.err


@pytest.mark.parametrize("name, rows, said", [
    ("custom", [{"prompt": ["a", "b"]}, {"prompt": "a"}],
     '1: "prompt" is no text'),
    ("custom", [{"prompt": 5}, {"prompt": "a"}], '1: "prompt" is no text'),
    ("custom", [{"prompt": "a"}, {"prompt": 5}], '2: "prompt" is no text'),
    ("custom", [{"prompt": "a"}, {"prompt": ""}], '2: "prompt" is empty'),
    ("spec_bench", [{"turns": ["a"]}, {"turns": "b"}], '2: "turns" is no list'),
    ("spec_bench", [{"turns": ["a"]}, {"turns": [""]}], '2: "turns" is no list'),
    ("speed_bench", [{"messages": [{"role": "user", "content": "a"}]},
                     {"messages": [{"role": "assistant", "tool_calls": []},
                                   {"role": "user", "content": "a"}]}],
     "2: the first message has no text"),
    ("custom_image", [{"prompt": "a", "image_files": ["data:a"]},
                      {"content": []}], '2: "content" has no parts'),
    ("custom_image", [{"prompt": "a", "image_files": [""]},
                      {"prompt": "a", "image_files": ["data:a"]}],
     "1: a picture without a name"),
    ("custom_audio", [{"audio": "a.wav"}, {"audio": ["a.wav"]}],
     '2: "audio" is no file'),
    ("custom_audio", [{"audio": "a.wav"}, {"audio": "a.wav", "prompt": 5}],
     '2: "prompt" is no text'),
    ("timed_trace", [dict(timestamp=0, input_length=5, output_length=1),
                     dict(timestamp=0, input_length=10**9, output_length=1)],
     "2: no length input_length of 1 to 16777216"),
    ("timed_trace", [dict(timestamp=0, input_length=5, output_length=1),
                     dict(timestamp=0, input_length=5, output_length=1,
                          hash_ids=[[1]])],
     "2: hash_ids[0] is neither a number nor a text"),
])
def test_b100_rows_of_the_wrong_shape(bench, tmp_path, name, rows, said):
    """Before the first request, with their place; or left out and counted."""
    (tmp_path / "a.wav").write_bytes(b"RIFF1234WAVEfmt ")
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    common = dict(
        dataset_name=name, dataset_path=path, num_prompts=-1,
        endpoint="chat" if name in ("custom_image", "custom_audio")
        else "completions")
    if name == "custom_audio":
        common["enable_multimodal_chat"] = "true"
    r = bench(**common, code=2)
    assert f"rows.jsonl:{said}" in r.err and "skip_bad_rows" in r.err
    assert "traceback" not in r.err and not r.bodies
    r = bench(**common, skip_bad_rows="true")
    assert len(r.bodies) == 1
    assert "1 bad row left out" in r.err or "1 bad ones skipped" in r.err


@pytest.mark.parametrize("row", [
    "1,GPT-4,five,5,10,x", "1,GPT-4,nan,5,10,x", "1,GPT-4,5.5,5,10,x",
    "1,GPT-4,5,1e15,10,x", "1,GPT-4,-5,5,10,x"])
def test_b100_burstgpts_lengths_are_numbers(bench, tmp_path, row):
    path = tmp_path / "b.csv"
    path.write_text("Timestamp,Model,Request tokens,Response tokens,"
                    f"Total tokens,Log Type\n1,GPT-4,5.0,5,10,x\n{row}\n")
    common = dict(dataset_name="burstgpt", dataset_path=path, num_prompts=2)
    r = bench(**common, code=2)
    assert "b.csv:3: " in r.err and "not both numbers of tokens" in r.err
    r = bench(**common, skip_bad_rows="true")
    assert [b["max_tokens"] for b in r.bodies] == [5, 5]


def test_b106_hashes_of_64_bits_are_told_apart(bench, tmp_path):
    ids = [12345678901234567000, 12345678901234570000, 2**64 - 1, 2**63, "a"]
    path = trace_file(tmp_path, *[
        dict(timestamp=0, input_length=16, output_length=1, hash_ids=[i])
        for i in ids + ids])
    r = bench(dataset_name="timed_trace", dataset_path=path, num_prompts=-1)
    assert len(r.bodies) == 10 and len(set(prompts(r))) == 5


@pytest.mark.parametrize("params", [
    {"random_range_ratio": '{"inptu": 0.5}'},
    {"random_range_ratio": '{"input": "0.5"}'},
    {"random_input_len": 2**25},
    {"dataset_name": "random-mm",
     "random_mm_limit_mm_per_prompt": '{"images": 2}'},
])
def test_mistyped_parameters_are_told(bench, params):
    r = bench(num_prompts=1, endpoint="chat", code=2, **params)
    assert list(params)[-1] in r.err and not r.bodies


@pytest.mark.parametrize("name, row, params, said", [
    ("gorilla-llm/Berkeley-Function-Calling-Leaderboard",
     {"question": [[{"role": "user", "content": "q"}]], "function": []}, {},
     "without functions"),
    ("gorilla-llm/Berkeley-Function-Calling-Leaderboard",
     {"question": [[{"role": "user", "content": "q"}]], "function": [5]}, {},
     "without functions"),
    ("vdaita/edit_5k_char", {"code": "a", "change_request": "b"},
     {"blazedit_min_distance": 0.9, "blazedit_max_distance": 0.1},
     "blazedit_min_distance 0.9: more than blazedit_max_distance, 0.1"),
])
def test_hf_rows_of_the_wrong_shape(bench, tmp_path, name, row, params, said):
    (tmp_path / "h.jsonl").write_text(json.dumps(row) + "\n")
    r = bench(dataset_name="hf", hf_name=name, num_prompts=1, endpoint="chat",
              dataset_path=tmp_path / "h.jsonl", code=2, **params)
    assert said in r.err and not r.bodies


def test_sonnets_lines_are_text(bench, tmp_path):
    path = tmp_path / "poem.txt"
    path.write_bytes("Shall I\ncompare thee\n".encode("utf-16-le"))
    r = bench(dataset_name="sonnet", dataset_path=path, num_prompts=1, code=2)
    assert "poem.txt: is UTF-16 (little endian, without its mark)" in r.err
    path.write_text("word " * 2000 + "\n")
    r = bench(dataset_name="sonnet", dataset_path=path, num_prompts=1, code=2)
    assert "leaves room for none" in r.err and not r.bodies


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


# ---- lengths ----

def tokens_of(prompt):
    """Words of the server below: long ones are two tokens, and where a text
    begins not so long ones as well."""
    return [t for i, w in enumerate(prompt.split())
            for t in ([w] if len(w) < (9 if i else 6) else [w[:4], w[4:]])]


@pytest.fixture
def tokenizing(raw_server):
    """A server with /tokenize and /detokenize, a BOS and a chat template."""
    names = {"<s>": 1}

    def ids(words):
        return [names.setdefault(w, len(names) + 1) for w in words]

    def answer_json(value):
        body = json.dumps(value).encode()
        return [b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%s" % (len(body), body)]

    def answer(request):
        if request.path == "/tokenize":
            q = request.json
            if "messages" in q:
                words = (["<s>", "<|user|>"]
                         + tokens_of(q["messages"][0]["content"])
                         + ["<|assistant|>"])
            else:
                words = (["<s>"] if q["add_special_tokens"] else []) \
                    + tokens_of(q["prompt"])
            return answer_json({"count": len(words), "tokens": ids(words)})
        if request.path == "/detokenize":
            texts = {i: w for w, i in names.items()}
            marked = " ".join(texts[i] for i in request.json["tokens"])
            return answer_json({"prompt": marked.replace("stok e7chat7template",
                                                         "stoke7chat7template")})
        n = 1 + len(tokens_of(request.json["prompt"]))
        return stream(COMPLETION, usage(n, 1))

    return raw_server(answer)


def completions(server):
    return [q.json for q in server.requests if q.path == "/v1/completions"]


def load(stoke, server, *flags, code=0, **params):
    settings = [w for k, v in params.items() for w in ("-P", f"{k}={v}")]
    return stoke.load(server.url, "bench", "--endpoint", "completions",
                      *settings, *flags, code=code)


@pytest.mark.parametrize("special", [-3, 1000000, 0.5])
def test_a_server_that_cannot_count_is_not_believed(stoke, raw_server,
                                                    special):
    def answer(request):
        if request.path != "/tokenize":
            return stream(COMPLETION, usage(9, 1))
        q = request.json
        return [whole({"count": len(q["prompt"].split())
                       + special * q["add_special_tokens"]})]

    server = raw_server(answer)
    r = load(stoke, server, num_prompts=1, random_input_len=8)
    assert [len(b["prompt"].split()) for b in completions(server)] == [8]
    assert r.stoke["custom"]["lengths"] == "words"


def test_lengths_are_the_servers_where_it_can_tell(stoke, tokenizing):
    r = load(stoke, tokenizing, num_prompts=5, random_input_len=50)
    assert r.stoke["custom"] == {"lengths": "server"}
    for body in completions(tokenizing):
        assert 1 + len(tokens_of(body["prompt"])) == 50


def test_most_texts_are_counted_by_the_server(stoke, tokenizing, sharegpt):
    path = sharegpt(*((f"{WORDS} {i}", WORDS) for i in range(300)))
    r = load(stoke, tokenizing, dataset_name="sharegpt", dataset_path=path,
             num_prompts=300)
    custom = r.stoke["custom"]
    assert custom["lengths"] == "server" and custom["reckoned"] == 600 - 512
    assert "the server counted 512 texts" in r.err
    lengths = {b["max_tokens"] for b in completions(tokenizing)}
    assert min(lengths) >= 13 and max(lengths) <= 16


def test_a_tokenizer_of_another_model_is_noticed(stoke, tokenizing):
    r = load(stoke, tokenizing, num_prompts=3, random_input_len=50,
             tokenizer=long_words(stoke.directory))
    assert "WARNING: tokenizer mismatch (server=512, expected=256)" in r.err
    assert r.stoke["custom"] == {"lengths": "server"}
    assert {1 + len(tokens_of(b["prompt"]))
            for b in completions(tokenizing)} == {50}


def long_words(directory):
    words = ["international", "responsibility", "understanding"]
    path = directory / "long.json"
    path.write_text(json.dumps({
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]",
                  "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {w: i for i, w in enumerate(["[UNK]", *words])}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
    }))
    return path


def test_words_are_calibrated_by_the_first_answers(stoke, raw_server):
    def answer(request):
        if request.path != "/v1/completions":
            return [b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"]
        return stream(COMPLETION,
                      usage(2 * len(request.json["prompt"].split()), 1))

    server = raw_server(answer)
    r = load(stoke, server, "-c", 1, num_prompts=6, random_input_len=100)
    sizes = [len(b["prompt"].split()) for b in completions(server)]
    assert sizes == [100, 50, 50, 50, 50, 50]
    assert r.stoke["custom"]["lengths"] == "words"
    assert r.stoke["custom"]["tokens_a_word"] == 2


def test_questions_get_the_servers_template_once(stoke, tokenizing, tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"prompt":"Why is that?"}\n')
    load(stoke, tokenizing, dataset_name="custom", dataset_path=path,
         num_prompts=1)
    assert completions(tokenizing)[0]["prompt"] == \
        "<|user|> Why is that? <|assistant|>"
    tokenizing.requests.clear()
    load(stoke, tokenizing, dataset_name="custom", dataset_path=path,
         num_prompts=1, skip_chat_template="true")
    assert completions(tokenizing)[0]["prompt"] == "Why is that?"
    tokenizing.requests.clear()
    load(stoke, tokenizing, dataset_name="custom", dataset_path=path,
         num_prompts=1, chat_template_kwargs='{"enable_thinking":false}')
    assert {"enable_thinking": False} in [
        q.json.get("chat_template_kwargs") for q in tokenizing.requests
        if "messages" in q.json]
    r = load(stoke, tokenizing, dataset_name="custom", dataset_path=path,
             num_prompts=1, chat_template_kwargs="[", code=2)
    assert "chat_template_kwargs [: say a JSON object" in r.err


# ---- the other data sets ----

def test_prefix_repetition(bench, count):
    r = bench(dataset_name="prefix_repetition", num_prompts=10,
              tokenizer=BYTES, prefix_repetition_prefix_len=20,
              prefix_repetition_suffix_len=6, prefix_repetition_num_prefixes=4,
              prefix_repetition_output_len=3, flags=["--warmup", 2, "-c", 1])
    warm, measured = prompts(r)[:2], prompts(r)[2:]

    def heads(texts):
        return [tuple(p.split()[:20]) for p in texts]

    uses = {h: heads(measured).count(h) for h in heads(measured)}
    assert sorted(uses.values()) == [2, 2, 3, 3]
    assert not set(heads(warm)) & set(heads(measured))
    assert {count(p) for p in measured} == {26}
    assert len({p for p in measured}) == 10
    assert "ignore_eos" not in r.bodies[0] and r.bodies[0]["max_tokens"] == 3
    r = bench(dataset_name="prefix_repetition", num_prompts=3, code=2)
    assert "fewer than the 10 prefixes" in r.err


def test_burstgpt(bench, tmp_path, count):
    path = tmp_path / "b.csv"
    path.write_text(
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,9,9,18,API\n45,GPT-4,20,4,24,API\n50,GPT-4,30,0,30,API\n"
        "60,GPT-4,12,7,19,API\n")
    r = bench(dataset_name="burstgpt", dataset_path=path, num_prompts=6,
              tokenizer=BYTES)
    seen = {(count(b["prompt"], "--special"), b["max_tokens"])
            for b in r.bodies}
    assert len(r.bodies) == 6 and seen == {(20, 4), (12, 7)}


def trace_file(tmp_path, *rows):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_timed_trace(bench, tmp_path, count):
    path = trace_file(
        tmp_path,
        dict(timestamp=1000400, input_length=40, output_length=3,
             hash_ids=[7, 8, 9]),
        dict(timestamp=1000000, input_length=20, output_length=2,
             hash_ids=[7, 8]),
        dict(timestamp=1000200, input_length=8, output_length=1))
    r = bench(dataset_name="timed_trace", dataset_path=path, num_prompts=3,
              tokenizer=BYTES, timed_trace_sec_multiplier=0.001)
    assert [b["max_tokens"] for b in r.bodies] == [2, 1, 3]
    assert all(b["ignore_eos"] for b in r.bodies)
    assert [count(p, "--special") for p in prompts(r)] == [20, 8, 40]
    assert prompts(r)[2].startswith(prompts(r)[0].rsplit(" ", 4)[0])
    due = sorted(q["due_s"] for q in r.requests)
    assert due[1] - due[0] == pytest.approx(0.2, abs=0.001)
    assert due[2] - due[0] == pytest.approx(0.4, abs=0.001)
    # At a rate of one's own.
    r = bench(dataset_name="timed_trace", dataset_path=path, num_prompts=3,
              tokenizer=BYTES, self_timed="false", flags=["-c", 3])
    assert len(r.bodies) == 3 and "sent once" not in r.err
    r = bench(dataset_name="timed_trace", dataset_path=path, num_prompts=9,
              tokenizer=BYTES, timed_trace_sec_multiplier=0.001)
    assert len(r.bodies) == 3
    assert "there will be 3 requests, not 9" in r.err


def test_b105_a_trace_has_a_warm_up(bench, tmp_path, count):
    path = trace_file(tmp_path, dict(timestamp=0, input_length=9,
                                     output_length=2, hash_ids=[1]))
    r = bench(dataset_name="timed_trace", dataset_path=path, num_prompts=1,
              tokenizer=BYTES, flags=["--warmup", 2])
    assert [count(p, "--special") for p in prompts(r)] == [9, 9, 9]
    assert prompts(r)[2] not in prompts(r)[:2]


def test_b106_trace_rows_are_checked(bench, tmp_path):
    path = trace_file(
        tmp_path, dict(timestamp=0, input_length=10, output_length=1,
                       hash_ids=[0]),
        dict(timestamp=1, input_length=10, output_length=1, hash_ids=[0, 1]),
        dict(timestamp=2, input_length=10))
    r = bench(dataset_name="timed_trace", dataset_path=path, num_prompts=9,
              code=2)
    assert "t.jsonl:2: 10 tokens are 1 blocks of 16" in r.err
    assert "t.jsonl:3: no length output_length" in r.err
    assert "timed_trace_label_output_length" in r.err


def test_spec_bench_and_speed_bench(bench, tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"turns":["one","two"],"category":"a"}\n'
                    '{"turns":["three"],"category":"b"}\n')
    r = bench(dataset_name="spec_bench", dataset_path=path, num_prompts=0)
    assert sorted(prompts(r)) == ["one", "three"]
    assert r.bodies[0]["max_tokens"] == 256
    r = bench(dataset_name="spec_bench", dataset_path=path, num_prompts=2,
              spec_bench_category="b")
    assert prompts(r) == ["three"] * 2
    (tmp_path / "throughput_1k.jsonl").write_text(
        '{"messages":[{"role":"user","content":"hi"}],"category":"x"}\n')
    r = bench(dataset_name="speed_bench", dataset_path=tmp_path,
              num_prompts=1, speed_bench_dataset_subset="throughput_1k")
    assert prompts(r) == ["hi"] and r.bodies[0]["max_tokens"] == 4096
    r = bench(dataset_name="speed_bench", dataset_path=tmp_path,
              num_prompts=1, code=2)
    assert "qualitative.jsonl: no such file" in r.err


def test_sonnet(bench, tmp_path, count):
    lines = [f"the {w} and the {w} they had\n" for w in
             ("they", "had", "on", "the", "and", "in", "it")]
    path = tmp_path / "poem.txt"
    path.write_text("".join(lines))
    r = bench(dataset_name="sonnet", dataset_path=path, num_prompts=5,
              tokenizer=BYTES, sonnet_input_len=300, sonnet_prefix_len=120,
              sonnet_output_len=9)
    lengths = [count(p, "--special") for p in prompts(r)]
    assert all(250 < n <= 300 for n in lengths)
    base = "Pick as many lines as you can from these poem lines:\n"
    assert all(p.startswith(base + lines[0]) for p in prompts(r))
    assert len(set(prompts(r))) > 1 and r.bodies[0]["max_tokens"] == 9


def test_random_rerank(stoke, raw_server, count):
    body = b'{"results":[],"usage":{"total_tokens":9}}'
    server = raw_server([b"HTTP/1.1 200 OK\r\ncontent-type: application/json"
                         b"\r\ncontent-length: %d\r\n\r\n%s"
                         % (len(body), body)])
    run = ["bench", "--endpoint", "rerank", "-P", "dataset_name=random-rerank",
           "-P", f"tokenizer={BYTES}", "-P", "random_input_len=20",
           "-P", "random_batch_size=2"]
    stoke.load(server.url, *run, "-P", "num_prompts=3", "-c", 1, code=None)
    got = [q.json for q in server.requests if q.path == "/v1/rerank"]
    assert [len(b["documents"]) for b in got] == [2, 1]
    assert count(got[0]["query"]) == 9
    special = count("", "--special")
    assert {count(d) for d in got[0]["documents"]} == {20 - 9 - special}


def test_random_mm(bench):
    common = dict(dataset_name="random-mm", num_prompts=6, tokenizer=BYTES,
                  random_input_len=8)
    r = bench(endpoint="chat", **common,
              random_mm_base_items_per_request=2,
              random_mm_num_mm_items_range_ratio=0.5,
              random_mm_bucket_config="{(64, 32, 1): 0.5, (16, 16, 1): 0.5}")
    pictures, numbers = set(), set()
    for body in r.bodies:
        parts = body["messages"][0]["content"]
        assert parts[0]["type"] == "text" and body["ignore_eos"]
        urls = [p["image_url"]["url"] for p in parts[1:]]
        numbers.add(len(urls))
        pictures.update(urls)
        assert all(u.startswith("data:image/jpeg;base64,/9j/") for u in urls)
    assert numbers <= {1, 2, 3} and len(pictures) > 3
    r = bench(endpoint="completions", code=2, **common,
              random_mm_bucket_config="{(720, 1280, 600): 1}")
    assert "only a chat takes" in r.err and "pixels in all" in r.err
    r = bench(endpoint="chat", code=2, **common,
              random_mm_bucket_config="{(720, 1280): 1}")
    assert "say sizes and their weights" in r.err


def size_of(jpeg):
    """(height, width), by its frame header (SOF0)."""
    assert jpeg[:2] == b"\xff\xd8" and jpeg[-2:] == b"\xff\xd9"
    at = jpeg.index(b"\xff\xc0") + 5
    return struct.unpack(">HH", jpeg[at:at + 4])


def test_films_are_jpegs_with_commas_between(bench):
    r = bench(endpoint="chat", dataset_name="random-mm", num_prompts=2,
              tokenizer=BYTES, random_input_len=8,
              random_mm_base_items_per_request=2,
              random_mm_bucket_config="{(160, 32, 5): 0.9, (9, 9, 1): 0.1}")
    frames = []
    for body in r.bodies:
        media = {p["type"]: p[p["type"]]
                 for p in body["messages"][0]["content"][1:]}
        assert set(media) == {"image_url", "video_url"}  # one video at most
        head, *more = media["video_url"]["url"].split(",")
        assert head == "data:video/jpeg;base64"
        frames += [base64.b64decode(f, validate=True) for f in more]
    assert {size_of(f) for f in frames} == {(160, 32)}
    assert len(frames) == len(set(frames)) == 10


PNG = b"\x89PNG\r\n\x1a\nrest"


def test_custom_image(bench, tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    path = tmp_path / "i.jsonl"
    path.write_text(
        '{"prompt":"what?","image_files":["a.png","http://h/x.jpg"]}\n'
        '{"content":[{"type":"image_url","image_url":{"url":"data:x",'
        '"detail":"low"}},{"type":"text","text":"t"}]}\n')
    common = dict(dataset_name="custom_image", dataset_path=path,
                  endpoint="chat", disable_shuffle="true")
    r = bench(**common, num_prompts=2, flags=["-c", 1])
    first, second = (b["messages"][0]["content"] for b in r.bodies)
    assert first[1]["image_url"]["url"] == f"file://{tmp_path}/a.png"
    assert first[2]["image_url"]["url"] == "http://h/x.jpg"
    assert second[0]["image_url"] == {"url": "data:x", "detail": "low"}
    path.write_text('{"prompt":"what?","image_files":["a.png"]}\n')
    r = bench(**common, num_prompts=1, custom_ensure_client_side_data="true")
    assert r.bodies[0]["messages"][0]["content"][1]["image_url"]["url"] == \
        "data:image/png;base64,iVBORw0KGgpyZXN0"
    (tmp_path / "secret.txt").write_text("password")
    path.write_text('{"prompt":"p","image_files":["secret.txt"]}\n\n'
                    '{"prompt":"p","image_files":["/etc/passwd"]}\n'
                    '{"prompt":"p"}\n{"content":[{"type":"video"}]}\n'
                    '{"prompt":"p","image_files":["big.png"]}\n')
    with (tmp_path / "big.png").open("wb") as file:
        file.write(PNG)
        file.truncate((64 << 20) + 1)
    r = bench(**common, num_prompts=9, code=2,
              custom_ensure_client_side_data="true")
    for what in ("i.jsonl:1: secret.txt: is neither picture",
                 "i.jsonl:3: /etc/passwd: does not lie in the folder",
                 "i.jsonl:4: neither prompt and image_files, nor content",
                 "i.jsonl:5: content[1]: type video",
                 "i.jsonl:6: big.png: is larger than 64 MiB"):
        assert what in r.err


def test_rows_of_pictures_and_sound_know_their_lengths(bench, tmp_path):
    path = tmp_path / "rows.jsonl"
    (tmp_path / "a.flac").write_bytes(b"fLaC")
    for name, row, more in (
        ("custom_image", '"prompt":"p","image_files":["data:x"]', {}),
        ("custom_audio", '"audio":"a.flac"',
         {"enable_multimodal_chat": "true"}),
    ):
        path.write_text("{%s,%s}\n" % (row, '"output_tokens":17'))
        common = dict(dataset_name=name, dataset_path=path, endpoint="chat",
                      num_prompts=1, custom_output_len=-1, **more)
        (body,) = bench(**common).bodies
        assert body["max_completion_tokens"] == 17
        path.write_text("{%s}\n" % row)
        r = bench(**common, code=2)
        assert "rows.jsonl:1: no output_tokens" in r.err


def test_custom_audio(bench, tmp_path):
    (tmp_path / "a.wav").write_bytes(b"RIFF1234WAVEfmt ")
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt":"say","audio":"a.wav"}\n')
    common = dict(dataset_name="custom_audio", dataset_path=path,
                  endpoint="chat", num_prompts=1)
    r = bench(**common, enable_multimodal_chat="true")
    assert r.bodies[0]["messages"][0]["content"][1] == {
        "type": "input_audio", "input_audio": {
            "data": "UklGRjEyMzRXQVZFZm10IA==", "format": "wav"}}
    r = bench(**common, code=2)
    assert "enable_multimodal_chat" in r.err


@pytest.mark.parametrize("name,row,prompt,output", [
    ("openai/gsm8k", {"question": "q?", "answer": "a"}, "q?", 256),
    ("likaixin/InstructCoder", {"input": "code", "instruction": "fix it."},
     "code\n\nfix it. Just output the code, do not include any explanation.",
     200),
    ("philschmid/mt-bench", {"turns": ["t1", "t2"]}, "t1", 256),
    ("openai/openai_humaneval", {"prompt": "def f():"}, "def f():", 256),
    ("AI-MO/aimo-validation-aime", {"problem": "p" * 40, "solution": "s" * 40},
     "p" * 40, 10),
    ("mgoin/mlperf-inference-llama2-data",
     {"system_prompt": "S" * 8, "question": "Q" * 8, "output": "o" * 16},
     "SSSSSSSS\n\nQQQQQQQQ", 4),
    # The answer is the excerpt from where it may be edited: 36 letters.
    ("zed-industries/zeta",
     {"events": "E", "input": "I",
      "output": "x" * 80 + "<|editable_region_start|>new code."},
     "### Instruction:\nYou are a code completion assistant and your task is "
     "to analyze user edits and then rewrite an excerpt that the user "
     "provides, suggesting the appropriate edits within the excerpt, taking "
     "into account the cursor location.\n\n### User Edits:\n\nE\n\n"
     "### User Excerpt:\n\nI\n\n### Response:\n\n", 9),
    ("vdaita/edit_5k_char",
     {"code": "C", "change_request": "R", "norm_distance": 0.5},
     "Given a code file, please apply the change requests and generate the "
     "new file.\n\nOriginal file:\n```python\nC\n```\n\nChange request:\nR"
     '\n\nPlease generate the new code file in the "New file" section below.',
     4000),
])
def test_hf_kinds(bench, tmp_path, name, row, prompt, output):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    r = bench(dataset_name="hf", dataset_path=path, hf_name=name,
              num_prompts=1)
    assert prompts(r) == [prompt]
    assert r.bodies[0]["max_tokens"] == output
    r = bench(dataset_name="hf", dataset_path=path, hf_name=name,
              num_prompts=1, hf_output_len=33)
    assert r.bodies[0]["max_tokens"] == 33


def hf(bench, tmp_path, name, *rows, **params):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    r = bench(dataset_name="hf", dataset_path=path, hf_name=name,
              **{"num_prompts": len(rows), "disable_shuffle": "true",
                 **params})
    return r


def test_hf_rows_without_a_text(bench, tmp_path):
    r = hf(bench, tmp_path, "likaixin/InstructCoder",
           {"input": None, "instruction": "go."})
    assert prompts(r) == ["\n\ngo. Just output the code, do not include any "
                          "explanation."]


def test_hf_lengths_that_are_asked_for_drop_no_row(bench, tmp_path):
    rows = [{"problem": "p", "solution": "s" * 40},
            {"problem": "p" * 40, "solution": "s" * 40}]
    r = hf(bench, tmp_path, "AI-MO/NuminaMath-CoT", *rows, hf_output_len=7)
    assert sorted(prompts(r)) == ["p", "p" * 40]
    r = hf(bench, tmp_path, "AI-MO/NuminaMath-CoT", *rows, num_prompts=1)
    assert prompts(r) == ["p" * 40]  # "p" is too short to be measured


def test_hf_lengths_are_counted_once(stoke, tokenizing, tmp_path):
    """What setup let through is sent, even where only setup can count."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"problem": "eightlet " * 1000,
                                "solution": "a b c d"}) + "\n")
    load(stoke, tokenizing, dataset_name="hf", dataset_path=path,
         hf_name="AI-MO/NuminaMath-CoT", num_prompts=1)
    (body,) = completions(tokenizing)
    assert len(body["prompt"]) == 9000  # by letters more than 2048 tokens


def test_hf_questions_alone_get_the_template(stoke, tokenizing, tmp_path):
    for name, row, around in (
        ("openai/gsm8k", {"question": "one two three four"}, True),
        ("zed-industries/zeta", {"input": "I", "output": "O O O O"}, False),
        ("AI-MO/NuminaMath-CoT", {"problem": "one two three four",
                                  "solution": "a b c d"}, False),
    ):
        path = tmp_path / "rows.jsonl"
        path.write_text(json.dumps(row) + "\n")
        load(stoke, tokenizing, dataset_name="hf", dataset_path=path,
             hf_name=name, num_prompts=1)
        (body,) = completions(tokenizing)
        assert ("<|user|>" in body["prompt"]) == around
        tokenizing.requests.clear()


def test_hf_instructions_are_a_message_of_their_own(bench, tmp_path):
    row = {"system_prompt": "S" * 8, "question": "Q" * 8, "output": "o" * 16}
    r = hf(bench, tmp_path, "mgoin/mlperf-inference-llama3.1-data", row,
           endpoint="chat")
    assert r.bodies[0]["messages"] == [
        {"role": "system", "content": "S" * 8},
        {"role": "user", "content": "Q" * 8}]


def test_hf_schemas_are_made_json_schemas(bench, tmp_path):
    rows = [{"id": f"{kind}_{i}", "question": [[{"role": "user",
                                                 "content": kind}]],
             "function": [{"name": "f", "parameters": {
                 "type": "dict", "required": [], "properties": {
                     "type": {"type": "float"},
                     "l": {"type": "tuple", "items": {"type": "any"}}}}}]}
            for i, kind in enumerate(("simple", "live_simple"))]
    r = hf(bench, tmp_path, "gorilla-llm/Berkeley-Function-Calling-Leaderboard",
           *rows, endpoint="chat", bfcl_categories="live_simple,multiple",
           no_oversample="true")
    (body,) = r.bodies
    assert body["messages"][0]["content"] == "live_simple"
    assert body["tools"][0]["function"]["parameters"] == {
        "type": "object", "required": [], "properties": {
            "type": {"type": "number"},
            "l": {"type": "array", "items": {"type": "string"}}}}


JPEG = {"bytes": "/9j/4AAQ"}
SHOWN = {"type": "image_url",
         "image_url": {"url": "data:image/jpeg;base64,/9j/4AAQ"}}


@pytest.mark.parametrize("name,row,content", [
    ("lmarena-ai/VisionArena-Chat",
     {"conversation": [[{"role": "user", "content": "what?"}]],
      "images": [JPEG]}, "what?"),
    ("lmarena-ai/vision-arena-bench-v0.1",
     {"turns": [[{"role": "user", "content": "what?"}]], "images": [JPEG]},
     "what?"),
    ("Lin-Chen/MMStar",
     {"question": "which? \nOptions: A: x, B: y", "image": JPEG}, "which?"),
    ("lmms-lab/LLaVA-OneVision-Data",
     {"image": JPEG, "conversations": [
         {"from": "human", "value": "what is that there?"},
         {"from": "gpt", "value": "o" * 40}]}, "what is that there?"),
])
def test_hf_questions_about_pictures(bench, tmp_path, name, row, content):
    r = hf(bench, tmp_path, name, row, endpoint="chat")
    assert r.bodies[0]["messages"][0]["content"] == [
        {"type": "text", "text": content}, SHOWN]
    wanted = 10 if "LLaVA" in name else 128
    assert r.bodies[0]["max_completion_tokens"] == wanted


def test_hf_questions_about_films(bench, tmp_path):
    row = {"question": "which?", "choices": {"B": "y", "A": "x"},
           "video": "https://h/v.mp4"}
    r = hf(bench, tmp_path, "yale-nlp/MMVU", row,
           {**row, "video": "/data/v.mp4"}, endpoint="chat")
    contents = [b["messages"][0]["content"] for b in r.bodies]
    assert {asked["text"] for asked, video in contents} == {"which? A.x B.y"}
    assert sorted(video["video_url"]["url"] for asked, video in contents) == [
        "file:///data/v.mp4", "https://h/v.mp4"]


def test_hf_folders_have_their_splits(bench, tmp_path):
    folder = tmp_path / "gsm8k"
    folder.mkdir()
    (folder / "test.jsonl").write_text('{"question":"from test"}\n')
    r = bench(dataset_name="hf", dataset_path=folder, num_prompts=1)
    assert prompts(r) == ["from test"]


def test_hf_functions(bench, tmp_path):
    folder = tmp_path / "Berkeley-Function-Calling-Leaderboard"
    folder.mkdir()
    (folder / "train.jsonl").write_text(json.dumps({
        "question": [[{"role": "user", "content": "sum 1 2"}]],
        "function": [{"name": "sum", "parameters": {}}]}) + "\n")
    common = dict(dataset_name="hf", dataset_path=folder, num_prompts=1)
    r = bench(endpoint="chat", **common)
    assert r.bodies[0]["messages"] == [{"role": "user", "content": "sum 1 2"}]
    assert r.bodies[0]["tools"] == [{"type": "function", "function": {
        "name": "sum", "parameters": {}}}]
    assert r.bodies[0]["tool_choice"] == "auto"
    r = bench(code=2, **common)
    assert "only a chat can take it" in r.err


def test_hf_pictures(bench, tmp_path):
    path = tmp_path / "MMStar.jsonl"
    path.write_text(json.dumps({
        "question": "how many?", "image": {"bytes": "iVBORw0KGgpyZXN0"}})
        + "\n")
    r = bench(endpoint="chat", dataset_name="hf", dataset_path=path,
              num_prompts=1)
    text_part, image_part = r.bodies[0]["messages"][0]["content"]
    assert text_part["text"] == "how many?"
    assert image_part["image_url"]["url"] == \
        "data:image/png;base64,iVBORw0KGgpyZXN0"
    assert r.bodies[0]["max_completion_tokens"] == 128


def test_hf_says_what_to_do(bench, tmp_path):
    r = bench(dataset_name="hf", dataset_path="openai/gsm8k", num_prompts=1,
              code=2)
    assert "huggingface-cli download --repo-type dataset openai/gsm8k" in r.err
    path = tmp_path / "gsm8k.parquet"
    path.write_bytes(b"PAR1")
    r = bench(dataset_name="hf", dataset_path=path, num_prompts=1, code=2)
    assert "contrib/parquet_to_jsonl.py" in r.err
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a":1}\n')
    r = bench(dataset_name="hf", dataset_path=path, num_prompts=1, code=2)
    assert "Unsupported dataset path" in r.err and "openai/gsm8k" in r.err


# ---- behind `stoke bench serve` ----

@pytest.fixture
def serve(stoke, server):
    def run(*args):
        server.requests.clear()
        r = stoke.command("bench", "serve", "--base-url", server.url,
                          "--model", "m", *args).wait()
        assert r.code == 0, r
        return [q for q in server.requests if q.method == "POST"
                and q.path.endswith("completions")]

    return run


def test_bench_serve_sends_all_that_a_file_has(serve, tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("".join(f'{{"prompt":"p{i}"}}\n' for i in range(7)))
    flags = ["--dataset-name", "custom", "--dataset-path", path,
             "--num-prompts", -1]
    for more in ([], ["--max-concurrency", 2], ["--request-rate", 300]):
        got = serve(*flags, *more)
        assert sorted(q.json["prompt"] for q in got) == [
            f"p{i}" for i in range(7)]


def test_bench_serve_keeps_a_traces_times(serve, tmp_path):
    path = trace_file(tmp_path, *(
        dict(timestamp=50 + i * 100, input_length=9, output_length=1 + i)
        for i in range(4)))
    flags = ["--dataset-name", "timed_trace", "--dataset-path", path,
             "--num-prompts", 4, "--timed-trace-sec-multiplier", "0.001"]
    before = time.monotonic()
    got = serve(*flags)
    assert [q.json["max_tokens"] for q in got] == [1, 2, 3, 4]
    assert got[3].at - before > 0.3
    assert len(serve(*flags, "--no-self-timed")) == 4


# ---- embeddings of pictures ----

@pytest.fixture
def embedded(stoke, raw_server):
    """embedded(backend, *flags) is what an embedding server was sent, in the
    order of the requests' numbers; warm-ups apart."""
    server = raw_server(lambda q: [whole(
        {"data": [{"index": 0, "embedding": [0.5]}],
         "usage": {"prompt_tokens": 3, "total_tokens": 3}})])

    def run(backend, *flags, code=0):
        server.requests.clear()
        r = stoke.command("bench", "serve", "--base-url", server.url,
                          "--model", "m", "--backend", backend,
                          "--max-concurrency", 1, *flags).wait()
        assert r.code == code, r
        if code:
            return r.err
        return [q.json for q in server.requests
                if q.path == "/v1/embeddings"]

    return run


@pytest.fixture
def shown(tmp_path):
    """Flags of three rows with the picture `data:x`: two questions and one
    whose parts the user has written."""
    path = tmp_path / "shown.jsonl"
    picture = {"type": "image_url", "image_url": {"url": "data:x"}}
    path.write_text("".join(json.dumps(row) + "\n" for row in (
        {"prompt": "one?", "image_files": ["data:x"]},
        {"prompt": "two?", "image_files": ["data:x"]},
        {"content": [picture, {"type": "text", "text": "mine"}]})))
    return ["--dataset-name", "custom_image", "--dataset-path", path,
            "--num-prompts", 3, "--disable-shuffle"]


PICTURE = {"type": "image_url", "image_url": {"url": "data:x"}}


def said(words):
    return {"type": "text", "text": words}


def contents(bodies):
    (roles,) = {tuple(m["role"] for m in b["messages"]) for b in bodies}
    assert roles == ("user",) and all("input" not in b for b in bodies)
    return [b["messages"][0]["content"] for b in bodies]


def test_pictures_for_clip_stand_alone(embedded, shown):
    bodies = embedded("openai-embeddings-clip", *shown)
    assert contents(bodies) == [
        [said(""), PICTURE], [said(""), PICTURE], [PICTURE, said("mine")]]
    assert {b["truncate_prompt_tokens"] for b in bodies} == {-1}
    assert {b["model"] for b in bodies} == {"m"}
    # Without a picture a text stays one.
    (body,) = embedded("openai-embeddings-clip", "--num-prompts", 1,
                       "--random-input-len", 5)
    assert len(body["messages"][0]["content"].split()) == 5


def test_pictures_for_vlm2vec_come_first(embedded, shown):
    alone = said("Represent the given image.")
    asked = said("Represent the given image with the following question: two?")
    assert contents(embedded("openai-embeddings-vlm2vec", *shown)) == [
        [PICTURE, alone], [PICTURE, asked], [PICTURE, said("mine")]]
    # A warm-up has no number, whichever row it shows.
    warm = embedded("openai-embeddings-vlm2vec", *shown[:4], "--num-prompts",
                    2, "--disable-shuffle", "--num-warmups", 2)
    assert contents(warm) == [[PICTURE, alone]] * 3 + [[PICTURE, asked]]


def test_pictures_for_infinity_are_inputs(embedded, shown):
    bodies = embedded("infinity-embeddings-clip", *shown)
    assert bodies == [{"model": "m", "input": "data:x", "modality": "image"}] \
        * 3
    (body,) = embedded("infinity-embeddings-clip", "--num-prompts", 1,
                       "--random-input-len", 5)
    assert len(body.pop("input").split()) == 5 and body == {"model": "m"}
    err = embedded("infinity-embeddings", *shown, code=2)
    assert "or infinity-embeddings-clip" in err


def test_infinity_takes_one_picture(embedded, shown):
    path = shown[3]
    path.write_text('{"prompt":"p","image_files":["data:x","data:y"]}\n'
                    '{"content":[{"type":"text","text":"t"}]}\n')
    err = embedded("infinity-embeddings-clip", *shown, code=2)
    assert "shown.jsonl:1: 2 pictures" in err
    assert "shown.jsonl:2: 0 pictures" in err
    err = embedded("infinity-embeddings-clip", "--dataset-name", "random-mm",
                   "--random-mm-base-items-per-request", 2, code=2)
    assert "up to 2 pictures a request, and Infinity embeds one" in err


NOISE = ["--dataset-name", "random-mm", "--num-prompts", 2, "--tokenizer",
         BYTES, "--random-input-len", 8, "--random-mm-bucket-config",
         "{(16, 16, 1): 1}"]


def test_noise_is_embedded(embedded):
    two = ["--random-mm-base-items-per-request", 2]
    for content in contents(embedded("openai-embeddings-clip", *NOISE, *two)):
        assert [p["type"] for p in content] == ["text", "image_url",
                                                "image_url"]
        assert content[0]["text"] == ""
    first, second = contents(embedded("openai-embeddings-vlm2vec", *NOISE,
                                      *two))
    assert [p["type"] for p in second] == ["image_url", "image_url", "text"]
    assert first[2]["text"] == "Represent the given image."
    assert "question: " in second[2]["text"]
    for body in embedded("infinity-embeddings-clip", *NOISE):
        assert body["input"].startswith("data:image/jpeg;base64,/9j/")
        assert body["modality"] == "image"
    video = [*NOISE[:-1], "{(16, 16, 3): 1}"]
    for body in embedded("infinity-embeddings-clip", *video):
        assert body["input"].startswith("data:video/jpeg;base64,/9j/")
        assert body["input"].count(",") == 3
        assert body["modality"] == "video"
    err = embedded("openai-embeddings-clip", *NOISE, "--random-batch-size", 2,
                   code=2)
    assert "random-mm sends one message a request" in err


def test_sharegpts_media_are_embedded(embedded, tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps([
        {**conversation(WORDS, WORDS), "video": "http://h/v.mp4"}]))
    flags = ["--dataset-name", "sharegpt", "--dataset-path", path,
             "--num-prompts", 1]
    video = {"type": "video_url", "video_url": {"url": "http://h/v.mp4"}}
    assert contents(embedded("openai-embeddings-clip", *flags)) == [
        [said(""), video]]
    (body,) = embedded("infinity-embeddings-clip", *flags)
    assert body == {"model": "m", "input": "http://h/v.mp4",
                    "modality": "video"}
    # Who embeds texts gets the text.
    for backend in ("openai-embeddings", "infinity-embeddings"):
        (body,) = embedded(backend, *flags)
        assert body["input"] == WORDS and "messages" not in body


def test_a_reranker_needs_documents(embedded):
    err = embedded("vllm-rerank", code=2)
    assert "random has no documents" in err and "random-rerank" in err


def test_no_reranker_is_no_reranker(embedded):
    err = embedded("vllm-rerank", "--dataset-name", "random-rerank",
                   "--no-reranker", code=2)
    assert "--no-reranker: is for an embedding model" in err


def test_the_way_of_pictures_fits_the_endpoint(bench):
    r = bench(endpoint="chat", num_prompts=1, image_embeddings="clip", code=2)
    assert "image_embeddings clip: speaks to the endpoint embeddings_chat" \
        in r.err


# ---- tokenizers in scripts ----

def test_tokenizers_stay_in_the_box(stoke, server, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "t.json").write_bytes(BYTES.read_bytes())
    (tmp_path / "s/own.json").write_bytes(BYTES.read_bytes())
    (tmp_path / "s/x.lua").write_text("""
return {
  params = { file = { type = "place", default = "own.json" } },
  setup = function(run) return { stoke.tokenizer.open(run.params.file) } end,
  request = function(ctx)
    local t = ctx.data[1]
    local ids = t:encode("they had", true)
    return { prompt = ("%d %d %s|%s|%d"):format(t:count("they had"), #ids,
      t:decode(ids), t:decode(ids, true), t.vocab_size) }
  end,
}""")

    def run(*flags, **more):
        return stoke.load(server.url, "s/x.lua", "-n", 1, *flags, **more)

    run()
    said = server.requests[-1].json["messages"][0]["content"]
    assert said == "3 4 <|begin|>they had|they had|461"
    r = run("-P", "file=t.json")
    assert r.outcomes == {"ok": 1}
    (tmp_path / "s/x.lua").write_text("""
return { setup = function() stoke.tokenizer.open("../t.json") end,
  request = function() return { prompt = "x" } end }""")
    r = run(code=2)
    assert "outside of the scenario's folder" in r.err
