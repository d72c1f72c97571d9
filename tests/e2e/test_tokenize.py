"""`stoke tokenize` on the small tokenizers of tests/data."""

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.asan

DATA = Path(__file__).resolve().parents[1] / "data" / "tokenizer"
BYTES = DATA / "bytes.json"
TEXT = "they had  a  naïve 中\n"


@pytest.fixture
def tokenize(stoke, tmp_path):
    """tokenize(*args, typed=None) is the finished process; `typed` is its
    standard input. The cache folder is the test's own."""

    def run(*args, typed=None, file=BYTES):
        p = stoke.command("tokenize", "-t", file, *args,
                          env={"XDG_CACHE_HOME": str(tmp_path / "cache")},
                          stdin=subprocess.PIPE)
        p.popen.stdin.write(typed or "")
        p.popen.stdin.close()
        p.popen.stdin = None
        return p.wait()

    return run


def known(text):
    for line in (DATA / "cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["file"] == "bytes.json" and case["text"] == text:
            return case
    raise KeyError(text)


def test_ids_of_a_text(tokenize):
    case = known("café")
    r = tokenize("café")
    assert r.code == 0 and r.out.split() == [str(i) for i in case["ids"]]
    r = tokenize("--add-special-tokens", "café")
    assert r.out.split() == [str(i) for i in case["full"]]


def test_standard_input_and_back(tokenize):
    ids = tokenize(typed=TEXT).out
    assert ids == tokenize("-", typed=TEXT).out
    assert tokenize("--count", typed=TEXT).out == f"{len(ids.split())}\n"
    assert tokenize("--decode", ids).out == TEXT + "\n"


def test_special_tokens_are_left_out(tokenize):
    ids = tokenize("--add-special-tokens", "on").out
    assert tokenize("--decode", ids).out == "<|begin|>on\n"
    assert tokenize("--decode", "--skip-special-tokens", ids).out == "on\n"


def test_a_text_a_line(tokenize):
    texts = ["", "a\nb", "\U0001f600", "x" * 5000]
    r = tokenize("--lines", typed="".join(json.dumps(t) + "\n" for t in texts))
    assert r.code == 0
    rows = r.out.splitlines()
    assert [len(json.loads(row)) for row in rows][0::3] == [0, 5000]
    r = tokenize("--lines", "--decode", typed=r.out)
    assert [json.loads(line) for line in r.out.splitlines()] == texts


def test_mistakes(tokenize, stoke):
    r = tokenize("--lines", typed='"a"\nb\n')
    assert r.code == 1 and "line 2: not a JSON string" in r.err
    r = tokenize("x", file=DATA / "none.json")
    assert r.code == 2 and "none.json" in r.err
    r = tokenize("x", file=DATA / "cases.jsonl")
    assert r.code == 2 and "cases.jsonl" in r.err
    r = stoke.command("tokenize", "x").wait()
    assert r.code == 2 and "--tokenizer" in r.err


@pytest.mark.parametrize("flags, typed, code, words", [
    (["--decode"], "1 1.5", 1, "1.5: not the id of a token; these are 0 to"),
    (["--decode"], "1 99999999", 1, "99999999: not the id of a token"),
    (["--decode"], "one", 1, "one: not the id of a token"),
    (["--decode", "--lines"], "[1]\n[-1]\n", 1, "line 2: -1: not the id"),
    (["--lines"], '"a" "b"\n', 1, "line 1: not a JSON string"),
    (["--lines"], '"a"b"\n', 1, "line 1: not a JSON string"),
    (["--count"], "h\0e\0l\0l\0o\0", 2, "standard input: is UTF-16"),
    (["--count"], "\ufeffcafé", 0, None),
    (["--count", "--lines"], '\ufeff"café"\n"café"\n', 0, None),
])
def test_input_of_the_wrong_shape(tokenize, flags, typed, code, words):
    """It was read as something else: 1.5 as two ids, a mark as a token."""
    r = tokenize(*flags, typed=typed)
    assert r.code == code
    if words:
        assert words in r.err
    else:
        n = len(known("café")["ids"])
        assert r.out.split() == [str(n)] * typed.count("café")


def test_texts_that_begin_with_a_dash(tokenize):
    ids = tokenize(typed="-x").out
    assert tokenize("--", "-x").out == ids
    assert tokenize("--", "-").out == tokenize(typed="-").out
    r = tokenize("--", "-x", "y")
    assert r.code == 2 and "y: unexpected argument" in r.err


def test_files_that_are_no_tokenizers(tokenize, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    r = tokenize("x", file=tmp_path / "fifo")
    assert r.code == 2 and "fifo: not a file" in r.err
    (tmp_path / "wide.json").write_bytes(BYTES.read_text().encode("utf-16"))
    r = tokenize("x", file=tmp_path / "wide.json")
    assert r.code == 2 and "wide.json: is UTF-16" in r.err
    (tmp_path / "mark.json").write_bytes(
        b"\xef\xbb\xbf" + BYTES.read_bytes())
    assert tokenize("on", file=tmp_path / "mark.json").out == \
        tokenize("on").out


def test_the_index_is_kept_for_next_time(tokenize, tmp_path):
    big = tmp_path / "tokenizer.json"
    data = json.loads(BYTES.read_text())
    size = len(data["model"]["vocab"])
    data["model"]["vocab"].update({f"ĠĠ{i}": size + i for i in range(20000)})
    big.write_text(json.dumps(data))
    first = tokenize("hello there", file=tmp_path).out
    kept, = (tmp_path / "cache" / "stoke").iterdir()
    assert tokenize("hello there", file=tmp_path).out == first
    block = bytearray(kept.read_bytes())
    block[len(block) // 2] ^= 1
    kept.write_bytes(block)
    assert tokenize("hello there", file=tmp_path).out == first
    assert kept.read_bytes() != block
