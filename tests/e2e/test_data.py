"""Data files and the scenarios that read them, as a server sees them."""

import json
from pathlib import Path

import pytest
from harness.raw import delta, stream, text, usage

DATASETS = Path(__file__).resolve().parents[1] / "data" / "datasets"


@pytest.fixture
def server(raw_server):
    return raw_server(lambda r: stream(text("one "), text("two"),
                                       delta("stop"), usage(3, 2)))


def last_words(server):
    return [q.json["messages"][-1]["content"] for q in server.requests]


# ---- who gets which row ----

NEXT = """return {
  params = { file = { type = "path" } },
  setup = function(run) return stoke.data.open(run.params.file) end,
  request = function(ctx)
    local row = ctx.data:next()
    return row and { prompt = ctx.id .. ":" .. row.prompt }
  end,
}"""


@pytest.mark.asan
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_each_row_once_on_any_number_of_threads(stoke, server, tmp_path,
                                                threads):
    (tmp_path / "next.lua").write_text(NEXT)
    (tmp_path / "rows.txt").write_text(
        "".join(f"row {i}\n" for i in range(1, 41)))
    r = stoke.load(server.url, "next.lua", "-P", "file=rows.txt", "-c", 5,
                   "-n", 1000, "--threads", threads)
    assert sorted(last_words(server)) == sorted(
        f"{i}:row {i}" for i in range(1, 41))
    assert r.outcomes == {"ok": 40}


@pytest.mark.asan
def test_b165_warmup_takes_other_rows(stoke, server, tmp_path):
    (tmp_path / "next.lua").write_text(NEXT)
    (tmp_path / "rows.txt").write_text("a\nb\nc\nd\n")
    stoke.load(server.url, "next.lua", "-P", "file=rows.txt", "-n", 3,
               "--warmup", 1)
    assert last_words(server) == ["1:d", "1:a", "2:b", "3:c"]


SESSIONS = """
local a = stoke.data.open("a.txt")
return {
  load = { num_sessions = 4, max_concurrency = 3 },
  session = function(s)
    local rows, one = a:next(2), s.data:next()
    s:request { prompt = rows[1].prompt .. rows[2].prompt .. one.prompt }
    s:sleep(0.01)
    local again, why = pcall(a.next, a)
    s:request { prompt = again and "again" or why }
  end,
  setup = function(run) return stoke.data.open("b.txt") end,
}"""


@pytest.mark.asan
@pytest.mark.parametrize("threads", [0, 2])
def test_sessions_have_rows_of_their_own(stoke, server, tmp_path, threads):
    """From several files, and once from each."""
    (tmp_path / "case.lua").write_text(SESSIONS)
    (tmp_path / "a.txt").write_text("\n".join("abcdefgh"))
    (tmp_path / "b.txt").write_text("\n".join("1234"))
    stoke.load(server.url, "case.lua", "--threads", threads)
    said = sorted(last_words(server))
    refused = [w for w in said if "d:next(n) gives n rows" in w]
    assert len(refused) == 4
    assert [w for w in said if w not in refused] == [
        "ab1", "cd2", "ef3", "gh4"]


@pytest.mark.asan
def test_b100_bad_rows_stop_before_the_first_request(stoke, server, tmp_path):
    (tmp_path / "next.lua").write_text(NEXT)
    (tmp_path / "rows.jsonl").write_text(
        '{"prompt":"a"}\n\n{"text":"b"}\n{"prompt":')
    r = stoke.load(server.url, "next.lua", "-P", "file=rows.jsonl", "-n", 3,
                   code=None)
    assert r.code not in (0, 99)
    assert 'rows.jsonl:3: no "prompt"' in r.err
    assert "rows.jsonl:4: bad JSON" in r.err
    assert not server.requests


def test_b101_bodies_are_valid_whatever_the_rows(stoke, server, tmp_path):
    (tmp_path / "next.lua").write_text(NEXT)
    (tmp_path / "rows.jsonl").write_bytes(
        b'{"prompt":"a\\udc97b"}\n{"prompt":"\\ud83d\\ude00"}\n'
        b'{"prompt":"x\xffy"}\n')
    stoke.load(server.url, "next.lua", "-P", "file=rows.jsonl", "-n", 3)
    assert last_words(server) == ["1:a\ufffdb", "2:\U0001f600", "3:x\ufffdy"]


@pytest.mark.asan
@pytest.mark.parametrize("change", ["shorter", "as long", "another"])
def test_a_file_that_changes_during_the_run(stoke, raw_server, tmp_path,
                                            change):
    """What was measured is there, and the message says what went wrong."""
    rows = tmp_path / "rows.csv"

    def answer(request):
        if len(server.requests) == 3:
            with rows.open("r+b") as f:
                if change == "shorter":
                    f.truncate(10)
                elif change == "as long":
                    f.write(rows.read_bytes().replace(b"row", b"ROW"))
                else:
                    f.write(b"prompt,x\n" + b"another,2\n" * 100)
        return stream(text("one "), text("two"), delta("stop"), usage(3, 2))

    server = raw_server(answer)
    (tmp_path / "next.lua").write_text(NEXT)
    rows.write_text("prompt,x\n" + "".join(f"row {i},1\n" for i in range(50)))
    r = stoke.load(server.url, "next.lua", "-P", "file=rows.csv", "-n", 50,
                   "-c", 1, "--threads", 0, code=1)
    assert "rows.csv: the file changed while the run read it" in r.err
    assert r.outcomes["ok"] == 3
    assert last_words(server) == ["1:row 0", "2:row 1", "3:row 2"]


def test_a_file_that_only_grows_or_goes_is_read_on(stoke, raw_server, tmp_path):
    rows = tmp_path / "rows.csv"

    def answer(request):
        if len(server.requests) == 3:
            with rows.open("a") as f:
                f.write("late,1\n")
        if len(server.requests) == 5:
            rows.unlink()
            rows.write_text("other\nlines\n")
        return stream(text("one "), text("two"), delta("stop"), usage(3, 2))

    server = raw_server(answer)
    (tmp_path / "next.lua").write_text(NEXT)
    rows.write_text("prompt,x\n" + "".join(f"row {i},1\n" for i in range(9)))
    r = stoke.load(server.url, "next.lua", "-P", "file=rows.csv", "-n", 50,
                   "-c", 1, "--threads", 0)
    assert r.outcomes == {"ok": 9}
    assert last_words(server) == [f"{i + 1}:row {i}" for i in range(9)]


# ---- the ready scenarios ----

@pytest.mark.asan
def test_sharegpt_asks_the_first_question(stoke, server):
    r = stoke.load(server.url, "sharegpt", "-P",
                   f"file={DATASETS / 'sharegpt.json'}", "-n", 100)
    assert last_words(server) == [f"Question {i}" for i in range(1, 7)]
    # About as long as the recorded answers, four bytes a token.
    assert [q.json["max_tokens"] for q in server.requests] == [
        -(-len(f"Recorded answer {i}, " + "x" * 20 * i) // 4)
        for i in range(1, 7)]
    assert "1 with nothing to send left out" in r.err


@pytest.mark.asan
@pytest.mark.parametrize("history", ["recorded", "live"])
def test_b172_whose_answers_the_history_holds(stoke, server, history):
    r = stoke.load(server.url, "sharegpt_turns", "-c", 2, "-n", 100,
                   "-P", f"file={DATASETS / 'sharegpt.json'}",
                   "-P", f"history={history}", "-P", "think=0s")
    second = [q.json["messages"] for q in server.requests
              if len(q.json["messages"]) > 1]
    assert len(second) == 6 and len(server.requests) == 12
    for m in second:
        assert [x["role"] for x in m] == ["user", "assistant", "user"]
        if history == "live":
            assert m[1]["content"] == "one two"
        else:
            assert m[1]["content"].startswith("Recorded answer")
    assert r.outcomes == {"ok": 12}


@pytest.mark.asan
@pytest.mark.parametrize("rows, asked", [
    ([{"turns": ["a", "b"]}], "a"),
    ([{"prompt": "x", "turns": ["a"]}], "a"),
    ([{"prompt": "a", "turns": 3}], None),
    ([{"prompt": 5}], None),
    ([{"data": [{"prompt": "a"}]}], None),
    ([{"conversations": "a"}], None),
])
def test_sharegpt_knows_a_question_when_it_sees_one(stoke, server, tmp_path,
                                                    rows, asked):
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    r = stoke.load(server.url, "sharegpt", "-P", "file=rows.json", "-n", 5,
                   code=0 if asked else 2)
    assert last_words(server) == ([asked] if asked else [])
    if not asked:
        assert "rows.json: its rows have neither conversations" in r.err


def test_a_scenario_that_was_not_read_has_perhaps_sessions(stoke, server):
    r = stoke.load(server.url, "sharegpt_turns", "-P", "file=x.json", "-P",
                   "think=exp(2parsecs)", "--num-sessions", 1, code=2)
    assert "think" in r.err and "has no sessions" not in r.err


@pytest.mark.asan
def test_sharegpts_calls_get_ids(stoke, server, tmp_path):
    """They have none there; a server refuses an answer to no call."""
    call = json.dumps({"name": "look", "arguments": {"a": 1}})
    (tmp_path / "rows.json").write_text(json.dumps([{"conversations": [
        {"from": who, "value": what} for who, what in [
            ("human", "go"), ("function_call", call), ("observation", "one"),
            ("gpt", "done"), ("observation", "two")]]}]))
    stoke.load(server.url, "sharegpt_turns", "-P", "file=rows.json",
               "--num-sessions", 1, "-P", "think=0s")
    last = server.requests[-1].json["messages"]
    id = last[1]["tool_calls"][0]["id"]
    assert last == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [
            {"id": id, "type": "function",
             "function": {"name": "look", "arguments": '{"a":1}'}}]},
        {"role": "tool", "tool_call_id": id, "content": "one"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "two"}]


@pytest.mark.asan
@pytest.mark.parametrize("name, bytes, says", [
    ("a.txt", "one\ntwo\n".encode("utf-16"), "is UTF-16"),
    ("a.txt", "one\ntwo\n".encode("utf-16-be"), "is UTF-16 (big endian"),
    ("a.txt", b"one\rtwo\r", "lines end in CR alone"),
    ("a.jsonl", b"\x1f\x8b\x08x", "gzip"),
    ("a.json", b'{\n "prompt": "a"\n}\n', "a.json:1: bad JSON"),
    ("a.json", b'[{"text": "a"}]', 'a.json:1: no text in "prompt"'),
    ("a.csv", b"text,x\na,1\n", 'a.csv:2: no text in "prompt"'),
    ("a.json", b'["one",\n{"prompt": "one"}]', None),
    ("a.csv", b'\xef\xbb\xbfx,prompt\r\n1,"one"\r\n', None),
])
def test_b102_files_of_prompts_are_data_files(stoke, server, tmp_path, name,
                                              bytes, says):
    """They were sent line by line, whatever they were."""
    (tmp_path / name).write_bytes(bytes)
    r = stoke.load(server.url, "chat", "-P", f"file={name}", "-n", 2,
                   code=2 if says else 0)
    assert last_words(server) == ([] if says else ["one", "one"])
    assert not says or says in r.err


def said(role, content):
    return {"role": role, "content": content}


TALK = [said("user", "1"), said("assistant", "a"), said("user", "2"),
        said("assistant", "b"), said("user", "3")]


@pytest.mark.asan
@pytest.mark.parametrize("rows", [
    [TALK],
    [TALK[:1], TALK[:3], TALK],
    [TALK[:2], TALK[:4], TALK],
])
def test_b166_a_history_row_by_row_is_one_conversation(stoke, server,
                                                       tmp_path, rows):
    (tmp_path / "rows.jsonl").write_text("".join(
        json.dumps({"messages": m}) + "\n" for m in rows))
    r = stoke.load(server.url, "sharegpt_turns", "-P", "file=rows.jsonl",
                   "-c", 1, "-n", 100, "-P", "think=0s")
    assert [q.json["messages"] for q in server.requests] == [
        TALK[:1], TALK[:3], TALK]
    assert r.stoke["sessions"]["completed"] == 1
    left_out = "2 whose messages the next row repeats left out"
    assert (left_out in r.err) == (len(rows) > 1)


def test_b166_cumulative_rows_are_told(stoke, server, tmp_path):
    (tmp_path / "rows.jsonl").write_text("".join(
        json.dumps({"messages": TALK[:n]}) + "\n" for n in (1, 3, 5)))
    (tmp_path / "next.lua").write_text(NEXT)
    r = stoke.load(server.url, "next.lua", "-P", "file=rows.jsonl", "-n", 3)
    assert ("rows.jsonl: 2 of its rows begin with all that the row before "
            "says: ") in r.err
    (tmp_path / "keep.lua").write_text(NEXT.replace(
        "params.file)", "params.file, { cumulative = 'keep' })"))
    r = stoke.load(server.url, "keep.lua", "-P", "file=rows.jsonl", "-n", 3)
    assert "the row before" not in r.err
    (tmp_path / "odd.lua").write_text(NEXT.replace(
        "params.file)", "params.file, { cumulative = 'cut' })"))
    r = stoke.run("odd.lua", "-u", server.url, "-m", "m", "-P",
                  "file=rows.jsonl", code=2)
    assert ('cumulative is "tell", "join" or "keep", not \'cut\'') in r.err


def due(r):
    return sorted(q["due_s"] for q in r.requests)


@pytest.mark.asan
def test_trace_of_azure(stoke, server):
    r = stoke.load(server.url, "trace", "-P",
                   f"file={DATASETS / 'azure.csv'}", "-P", "speed=2")
    first = due(r)[0]
    assert [x - first for x in due(r)] == pytest.approx(
        [0, 0.025, 0.045, 0.22, 0.5], abs=1e-4)
    lengths = [len(p.split()) for p in last_words(server)]
    assert sorted(lengths) == [7, 12, 20, 31, 55]
    assert r.outcomes == {"ok": 5}


@pytest.mark.asan
@pytest.mark.parametrize("spread, wanted", [
    ("even", [0, 0.2, 0.4, 0.6, 0.9, 1.2]),
    ("none", [0, 0, 0, 0.6, 0.6, 1.2]),
])
def test_trace_of_mooncake(stoke, server, spread, wanted):
    r = stoke.load(server.url, "trace", "-P", "block=16", "-P",
                   f"spread={spread}", "-P", f"file={DATASETS / 'mooncake.jsonl'}")
    first = due(r)[0]
    assert [x - first for x in due(r)] == pytest.approx(wanted, abs=1e-4)
    by_length = {len(p.split()): p for p in last_words(server)}
    # The same hash ids, the same beginning.
    assert by_length[20].startswith(by_length[10])
    assert by_length[33].startswith(by_length[20])
    assert not by_length[14].startswith(by_length[10])


@pytest.mark.asan
def test_trace_of_an_earlier_run_with_other_bodies(stoke, server, tmp_path):
    rows = [(0.3, 7, 2), (0.1, 5, 1), (0.2, 6, 3)]
    (tmp_path / "early.jsonl").write_text("".join(
        json.dumps({"due_s": d, "prompt_tokens": p, "tokens": t}) + "\n"
        for d, p, t in rows))
    r = stoke.load(server.url, "trace", "-P", "file=early.jsonl", "-P",
                   f"bodies={DATASETS / 'batch.jsonl'}")
    assert due(r)[-1] - due(r)[0] == pytest.approx(0.2, abs=1e-4)
    assert [q.json["model"] for q in server.requests] == ["m-1", "m-2", "m-3"]


@pytest.mark.asan
def test_replay_sends_bodies_byte_for_byte(stoke, server):
    stoke.load(server.url, "replay", "-n", 10, "-P",
               f"file={DATASETS / 'batch.jsonl'}")
    lines = (DATASETS / "batch.jsonl").read_text().splitlines()
    assert [q.body.decode() for q in server.requests] == [
        line[line.index('"body": ') + 8:-1] for line in lines]
    assert {q.path for q in server.requests} == {"/v1/chat/completions"}


@pytest.mark.asan
def test_long_context_finds_its_needle(stoke, raw_server):
    def answer(request):
        prompt = request.json["messages"][-1]["content"]
        number = prompt.split("secret number is ")[1].split(".")[0]
        found = int(number) % 2
        return stream(text(number if found else "no idea"), delta("stop"),
                      usage(3, 2))
    server = raw_server(answer)
    r = stoke.load(server.url, "long_context", "-n", 20, "-P", "words=300",
                   "-P", "depth=0.5")
    odd = sum(int(q.json["messages"][-1]["content"]
                  .split("secret number is ")[1].split(".")[0]) % 2
              for q in server.requests)
    assert r.stoke["custom"]["found"]["rate"] == pytest.approx(odd / 20)
    assert 300 <= len(last_words(server)[0].split()) < 330


@pytest.mark.asan
def test_mixed_has_two_classes(stoke, server):
    r = stoke.load(server.url, "mixed", "-R", "inf", "-n", 60,
                   "-P", "batch_share=0.5")
    classes = r.stoke["tags"]["class"]
    assert set(classes) == {"chat", "batch"}
    lengths = [q.json["max_tokens"] for q in server.requests]
    assert 15 < lengths.count(400) < 45 and lengths.count(150) > 15


# ---- size ----

def test_a_large_file_takes_little_memory(stoke, server, tmp_path):
    """200 MB, rows drawn from all over it: less than 64 MB."""
    row = json.dumps({"conversations": [
        {"from": "human", "value": "why? \"so\"\n" * 200},
        {"from": "gpt", "value": "because, caf\u00e9 " * 300}]})
    with (tmp_path / "big.json").open("w") as f:
        f.write("[" + row)
        for _ in range(200_000_000 // len(row)):
            f.write(",\n" + row)
        f.write("]")
    (tmp_path / "draw.lua").write_text("""return {
      setup = function(run)
        local d = stoke.data.open("big.json")
        for _ = 1, 1000 do d:sample(run.rng) end
        return d
      end,
      request = function(ctx) return { prompt = ctx.data:next().prompt } end,
    }""")
    p = stoke.start("-u", server.url, "-m", "m", "--no-preflight", "draw.lua",
                    "-n", 2)
    peak = p.peak_memory()
    (tmp_path / "big.json").unlink()
    assert p.wait().code == 0
    assert peak < 64
