"""--config and --print-config: who says what, and who wins."""

import gzip
import json

import pytest

SETTINGS = {"max_concurrency": 2, "num-requests": 6, "max_tokens": 3, "stream": False,
            "metadata": {"where": "here"}, "extra_body": {"top_k": 5},
            "header": ["X-One: 1", "X-Two: 2"], "seed": None}

YAML = """# a comment
max_concurrency: 2
num-requests: 6
max_tokens: 3
stream: false
metadata: {where: here}
extra_body:
  top_k: 5
header:
  - "X-One: 1"
  - 'X-Two: 2'
seed:
"""

LUA = """local n = 3
return { max_concurrency = 2, ["num-requests"] = 2 * n, max_tokens = n, stream = false,
  metadata = { where = "here" }, extra_body = { top_k = 5 },
  header = { "X-One: 1", "X-Two: 2" } }
"""


@pytest.mark.parametrize("name, text", [
    ("c.json", json.dumps(SETTINGS)), ("c.yaml", YAML), ("c.yml", YAML), ("c.lua", LUA)])
def test_every_kind_of_file_says_the_same(stoke, mock, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    server = mock("--ttft", "1ms")
    r = stoke.load(server.url, "--config", name)
    assert r.json["completed"] == 6 and r.json["max_concurrency"] == 2
    assert r.json["where"] == "here" and r.json["total_output_tokens"] == 18
    assert not any(q["streamed"] for q in r.requests)


def printed(stoke, *args, env=None, code=0):
    r = stoke.command("run", *args, "--print-config", env=env).wait(30)
    assert r.code == code, r
    rows = {}
    for line in r.out.splitlines():
        key, _, rest = line.partition(": ")
        rows[key] = rest.rsplit("  # ", 1)
    return rows, r


def test_flag_environment_file_script_default(stoke, tmp_path):
    (tmp_path / "case.lua").write_text("""return { load = { max_concurrency = 9,
      duration = 7, burstiness = 2 }, request = function() return { prompt = "x" } end }""")
    (tmp_path / "c.yaml").write_text(
        "scenario: case.lua\nurl: http://file:1\nmax_concurrency: 5\nduration: 3s\nseed: 4\n"
        "model: f\nwarmup: 2\n")
    rows, r = printed(stoke, "--config", "c.yaml", "-c", 2,
                      env={"OPENAI_BASE_URL": "http://env:2"})
    assert rows["max_concurrency"] == ["2", "flag"]
    assert rows["url"] == ['"http://env:2"', "environment"]
    assert rows["duration"] == ["3s", "file"]
    assert rows["burstiness"] == ["2", "script"]
    assert rows["warmup"] == ['"2"', "file"]
    assert rows["scenario"][0] == '"case.lua"'
    assert rows["# arrival"] == ["poisson", "default"]
    # What it prints can be read again, and says the same.
    (tmp_path / "again.yaml").write_text(r.out)
    again, _ = printed(stoke, "--config", "again.yaml")
    assert {k: v[0] for k, v in again.items()} == {k: v[0] for k, v in rows.items()}


def test_no_secret_is_printed(stoke, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({
        "api_key": "sk-very-secret", "header": ["X-Api-Key: hush-hush", "X-Other: seen"],
        "url": "http://host:1/v1?api_key=password"}))
    _, r = printed(stoke, "--config", "c.json")
    for secret in ("sk-very-secret", "hush-hush", "password"):
        assert secret not in r.out + r.err
    assert "X-Other: seen" in r.out


@pytest.mark.parametrize("name, text, says", [
    ("c.yaml", "max_concurency: 3", "c.yaml: max_concurency: no such option; did you mean max-conc"),
    ("c.yaml", "a: [1", "c.yaml:"),
    ("c.yaml", "a: &x 1\nb: *x", "anchors are not understood"),
    ("c.yaml", "seed: many", "c.yaml: seed"),
    ("c.yaml", "- 1", "names of options"),
    ("c.yaml", "seed: 1\n---\nseed: 2", "one document"),
    ("c.yaml", "model: [a, b]", "wants one value"),
    ("c.yaml", "config: other", "command line alone"),
    ("c.yaml", "a: " + "[" * 100 + "]" * 100, "nested too deep"),
    ("c.json", '{"seed": 1', "not JSON from byte"),
    ("c.lua", "return 3", "must return a table"),
    ("c.lua", "return { seed = print }", "function is no value"),
    ("c.lua", "return { seed = }", "c.lua:1:"),
    ("c.lua", "io.open('x')", "c.lua:1:"),
    ("c.lua", "while true do end", "c.lua: loading did not return"),
    ("c.lua", "local t = {1} for i = 1, 60 do t = {t, t} end return {header = t}",
     "c.lua: too large for a configuration"),
    ("c.lua", "local s = 'x' while true do s = s .. s end", "not enough memory"),
])
def test_mistakes_name_the_file(stoke, tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    r = stoke.command("run", "--config", name, "-n", 1).wait(30)
    assert r.code == 2 and says in r.err, r


@pytest.mark.parametrize("name, text", [
    ("c.yaml", "no-stream: true\nno_preflight: false\nmodel: 1.0\n"),
    ("c.json", '{"no_stream": true, "no-preflight": false, "model": "1.0"}'),
    ("c.lua", 'return { no_stream = true, no_preflight = false, model = "1.0" }')])
def test_switches_that_are_negated(stoke, tmp_path, name, text):
    """no-stream: true did switch streams on."""
    (tmp_path / name).write_text(text)
    rows, _ = printed(stoke, "--config", name)
    assert rows["stream"] == ["false", "file"]
    assert rows["preflight"] == ["true", "file"]
    assert rows["model"] == ['"1.0"', "file"]


def test_b102_files_of_another_kind(stoke, tmp_path):
    (tmp_path / "c.yaml").write_bytes("seed: 1\n".encode("utf-16"))
    r = stoke.command("run", "--config", "c.yaml", "-n", 1).wait(30)
    assert r.code == 2 and "c.yaml: is UTF-16" in r.err, r
    (tmp_path / "c.yaml").write_bytes("seed: 1\n".encode("utf-16-be"))
    r = stoke.command("run", "--config", "c.yaml", "-n", 1).wait(30)
    assert r.code == 2 and "without its mark" in r.err, r
    (tmp_path / "c.lua").write_bytes(gzip.compress(b"return {}"))
    r = stoke.command("run", "--config", "c.lua", "-n", 1).wait(30)
    assert r.code == 2 and "--config c.lua: is compressed (gzip)" in r.err, r
    r = stoke.command("run", "--config", ".", "-n", 1).wait(30)
    assert r.code == 2 and "--config .: Is a directory" in r.err, r


def test_a_file_that_is_not_there(stoke):
    r = stoke.command("run", "--config", "none.yaml").wait(30)
    assert r.code == 2 and "--config none.yaml: No such file" in r.err, r
