"""What the documents show must work: README's commands and its scenario run,
and the table that it prints is the one that is printed."""

import re
import shlex

import pytest
from harness.program import ROOT

README = (ROOT / "README.md").read_text()
SHORTER = {"-n": "6", "-d": "1s", "--max-tokens": "4"}


def blocks(language=""):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)
    return [text for name, text in found if name == language]


def commands():
    lines = "\n".join(blocks()).splitlines()
    found = [line.removeprefix("$ ") for line in lines]
    return [c for c in found if c.startswith("stoke run ")]


def test_there_are_commands_and_a_scenario():
    assert len(commands()) >= 2 and len(blocks("lua")) == 1


@pytest.mark.parametrize("command", commands())
def test_commands_of_the_readme(stoke, mock, tmp_path, command):
    server = mock("--ttft", "5ms", "--itl", "1ms")
    (lua,) = blocks("lua")
    name = re.match(r"-- (\S+)", lua).group(1)
    (tmp_path / name).write_text(lua)
    words = shlex.split(command)[2:]
    for i, word in enumerate(words):
        if word in SHORTER:
            words[i + 1] = SHORTER[word]
        words[i] = re.sub(r"http://127\.0\.0\.1:800[01]", server.url, words[i])
    r = stoke.run(*words)
    assert set(r.outcomes) == {"ok"}


def labels(text):
    return [line.split(":")[0].strip() for line in text.splitlines()
            if re.match(r"[A-Z=-].*(:|=|-)", line)]


def test_vllms_command_line_of_the_readme(stoke, mock, tmp_path):
    server = mock("--ttft", "5ms", "--itl", "1ms")
    lines = "\n".join(blocks()).splitlines()
    (command,) = [c for c in lines if c.startswith("stoke bench serve ")]
    words = shlex.split(command)[1:]
    words[words.index("--base-url") + 1] = server.url
    r = stoke.command(*words).wait()
    assert r.code == 0 and "Failed requests:                         0 " in r.out
    assert len(list((tmp_path / "results").iterdir())) == 1


def test_table_of_the_readme(stoke, mock):
    server = mock("--ttft", "5ms", "--itl", "1ms")
    shown = next(b for b in blocks() if "Benchmark Result" in b)
    shown = shown[shown.index("===="):]
    r = stoke.run("-u", server.url, "-c", 2, "-n", 4, "--max-tokens", 4)
    printed = r.out[r.out.index("============ "):]
    assert labels(printed)[:len(labels(shown))] == labels(shown)
