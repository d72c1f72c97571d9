"""Scenarios that travel: found, looked at, begun, tried, packed, refused."""

import gzip
import hashlib
import io
import json
import os
import tarfile

import pytest
from harness.raw import delta, stream, text, usage

pytestmark = pytest.mark.asan

PLAIN = "return { request = function() return { prompt = 'hi' } end }\n"


@pytest.fixture
def server(raw_server):
    return raw_server(lambda r: stream(text("one"), delta("stop"), usage(3, 1)))


@pytest.fixture
def agent(tmp_path):
    """A scenario in a folder: two modules, a data file, a hidden file."""
    folder = tmp_path / "agent"
    (folder / "tools").mkdir(parents=True)
    (folder / "init.lua").write_text(
        'local words = require "tools.words"\n'
        "return { version = '2.0', description = 'An agent',\n"
        "  params = { n = { default = 1 }, file = { type = 'path' } },\n"
        "  request = function(ctx)\n"
        '    local late = require "late"\n'
        '    return { prompt = words.say(ctx.params.n) .. late\n'
        '      .. (ctx.params.file and stoke.read(ctx.params.file) or "")\n'
        '      .. stoke.read("prompts.txt") }\n'
        "  end }\n")
    (folder / "tools" / "words.lua").write_text(
        "return { say = function(n) return ('hey '):rep(n) end }\n")
    (folder / "late.lua").write_text("return 'late '\n")
    (folder / "prompts.txt").write_text("a prompt")
    (folder / ".env").write_text("KEY=sk-very-secret")
    return folder


def scenario(stoke, *args, **keywords):
    return stoke.command("scenario", *args, **keywords).wait()


def pack_sum(r):
    return r.out.strip().splitlines()[-1].split()[1]


def members(path):
    with tarfile.open(path) as t:
        return {m.name: t.extractfile(m).read() for m in t.getmembers()}


def manifest(path):
    return json.loads(members(path)["manifest.json"])


# ---- list, show, new ----


def test_list_says_what_and_where(stoke, tmp_path):
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "mine.lua").write_text(
        "return { description = 'my own', version = 3,"
        " request = function() end }")
    (tmp_path / "scenarios" / "chat.lua").write_text(PLAIN)
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "bad.lua").write_text("return {")
    r = scenario(stoke, "list", env={"STOKE_PATH": "team"})
    assert r.code == 0, r
    lines = r.out.splitlines()
    assert "my own, version 3  (scenarios/mine.lua)" in r.out
    assert any("bad" in l and "cannot be loaded" in l for l in lines)
    assert any(l.startswith("chat") and "hidden" in l for l in lines)
    r = scenario(stoke, "list", "--json", env={"STOKE_PATH": "team"})
    rows = {(x["name"], x["where"]): x for x in json.loads(r.out)}
    assert rows["mine", "scenarios/mine.lua"]["version"] == "3"
    assert rows["chat", "builtin:chat"]["hidden"] is True


@pytest.mark.interrupts
def test_nothing_holds_up_the_list(stoke, tmp_path):
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "endless.lua").write_text("while true do end")
    os.mkfifo(folder / "pipe.lua")
    os.mkfifo(folder / "pipe.tar.gz")
    (folder / "zero.lua").symlink_to("/dev/zero")
    (folder / "stops.lua").write_text("os.exit(7)")
    (folder / "z.lua").write_text("return { description = 'the last',"
                                  " request = print }")
    r = scenario(stoke, "list", "--json")
    assert r.code == 0, r
    told = {x["where"]: x["description"] for x in json.loads(r.out)}
    assert "did not return" in told["scenarios/endless.lua"]
    for name in ("pipe.lua", "pipe.tar.gz", "zero.lua"):
        assert "not a regular file" in told["scenarios/" + name]
    assert "cannot be loaded" in told["scenarios/stops.lua"]
    assert told["scenarios/z.lua"] == "the last"


def test_show_tells_all_of_it(stoke, agent):
    r = scenario(stoke, "show", "agent")
    assert r.code == 0, r
    for words in ("agent 2.0: An agent", "n=1  (number)", "file  (path)",
                  "Functions: request", "agent/tools/words.lua",
                  "Sum of the scenario: "):
        assert words in r.out
    assert scenario(stoke, "show", "nowhere").code == 2
    assert scenario(stoke, "show").code == 2
    r = scenario(stoke, "show", "builtin:haiku", "--source")
    assert r.out.startswith("-- scenarios/haiku.lua")


@pytest.mark.parametrize("flags", [[], ["--session"]])
def test_what_new_writes_works_as_it_is(stoke, tmp_path, flags):
    r = scenario(stoke, "new", "mine", *flags)
    assert r.code == 0, r
    r = scenario(stoke, "check", "mine.lua",
                      *(["-P", "think=0.001s"] if flags else []))
    assert r.code == 0 and "no mistakes found" in r.out, r
    before = (tmp_path / "mine.lua").read_text()
    assert "@NAME@" not in before
    r = scenario(stoke, "new", "mine")
    assert r.code == 2 and "exists" in r.err
    assert (tmp_path / "mine.lua").read_text() == before


# ---- check ----


def test_check_tells_what_it_would_send(stoke, tmp_path):
    (tmp_path / "s.lua").write_text("""
    return { session = function(s)
      local r = s:request { prompt = "first",
        headers = { ["X-Mine"] = "yes", Authorization = "Bearer sk-secret-1" } }
      s:request { prompt = "second after " .. #r.text }
    end }""")
    r = scenario(stoke, "check", "s.lua",
                      env={"OPENAI_API_KEY": "sk-environment"})
    assert r.code == 0, r
    first, second = r.out.index('"first"'), r.out.index('"second after')
    assert first < second
    assert "POST /v1/chat/completions" in r.out
    assert "X-Mine: yes" in r.out and "Authorization: ***" in r.out
    assert "sk-" not in r.out + r.err
    assert "2 requests received, 2 ok" in r.out


def test_check_sends_nothing_elsewhere(stoke, server, tmp_path):
    """One who looks at another's scenario need not fear it."""
    other = server.url.split("//")[1]
    (tmp_path / "s.lua").write_text("""
    return { setup = function(run) run:http { url = "%s/early?a=1" } end,
      session = function(s)
      s:http { url = "https://user:pw@elsewhere.invalid", body = { a = 1 } }
      s:http { url = "%s/late", headers = { Host = "mine" } }
      pcall(s.http, s, { url = "http://a\\r\\nEvil: 1/" })
      s:request { prompt = "x" }
    end }""" % (server.url, server.url))
    r = scenario(stoke, "check", "s.lua")
    assert r.code == 0 and not server.requests, r
    assert f"GET /early\n   Host: {other}" in r.out
    assert "POST /\n   Host: elsewhere.invalid" in r.out
    assert "GET /late\n   Host: mine" in r.out
    assert "Evil" not in r.out
    assert "POST /v1/chat/completions\n   Content-Type" in r.out


def test_check_goes_round_the_load_and_control(stoke, tmp_path):
    (tmp_path / "s.lua").write_text("""
    return { load = { rate = function(t) return 0.001 end, duration = "1h" },
      request = function(ctx) return { prompt = "number " .. ctx.id } end }""")
    r = scenario(stoke, "check", "s.lua", "-n", 2)
    assert r.code == 0 and "2 requests received, 2 ok" in r.out, r


@pytest.mark.parametrize("lua, words", [
    ("return { request = function() return { promt = 1 } end }",
     "s.lua:1: request: unknown field 'promt'"),
    ("return { request = function() error('boom') end }", "s.lua:1: boom"),
    ("return { request = 5 }", "must be a function"),
    ("return {", "not valid Lua"),
    ("return { thresholds = { 'ttft.p9x < 1' }, request = print }", "p9x"),
    ("return { load = { stages = { { request_rate = 1 } } },"
     " request = print }", "needs an end"),
])
def test_check_tells_mistakes_with_their_place(stoke, tmp_path, lua, words):
    (tmp_path / "s.lua").write_text(lua)
    r = scenario(stoke, "check", "s.lua")
    assert r.code == 2 and words in r.err, r
    assert "no mistakes" not in r.out


def test_check_leaves_no_file_behind(stoke, tmp_path):
    (tmp_path / "s.lua").write_text(PLAIN)
    before = {f for f in os.listdir("/tmp") if f.startswith("stoke-check-")}
    for _ in range(6):
        assert scenario(stoke, "check", "s.lua").code == 0
    after = {f for f in os.listdir("/tmp") if f.startswith("stoke-check-")}
    assert len(after - before) < 6  # a few of tests that run meanwhile


# ---- pack ----


def test_a_folder_travels(stoke, server, agent, tmp_path):
    (tmp_path / "more.txt").write_text(" and more ")
    r = scenario(stoke, "pack", "agent", "-o", "a.tar.gz",
                      "-P", "n=2", "-P", "file=more.txt")
    assert r.code == 0, r
    m = manifest(tmp_path / "a.tar.gz")
    assert m["name"] == "agent" and m["version"] == "2.0"
    assert m["entry"] == "init.lua"
    assert m["parameters"] == {"n": "2", "file": "data/more.txt"}
    inside = members(tmp_path / "a.tar.gz")
    assert sorted(inside) == ["data/more.txt", "init.lua", "late.lua",
                              "manifest.json", "prompts.txt",
                              "tools/words.lua"]
    for f in m["files"]:
        assert hashlib.sha256(inside[f["name"]]).hexdigest() == f["sha256"]
    whole = gzip.decompress((tmp_path / "a.tar.gz").read_bytes())
    assert b"sk-very-secret" not in whole
    assert str(tmp_path).encode() not in whole

    plain = stoke.load(server.url, "agent", "-n", 1)
    packed = stoke.load(server.url, "a.tar.gz", "-n", 1,
                        "--sha256", pack_sum(r))
    prompts = [q.json["messages"][-1]["content"] for q in server.requests]
    assert prompts == ["hey late a prompt", "hey hey late  and more a prompt"]
    told = packed.stoke["scenario"]
    assert told["pack_sha256"] == pack_sum(r)
    # The same sum, wherever it lies.
    assert told["sha256"] == plain.stoke["scenario"]["sha256"]
    assert told["name"] == "agent" and told["version"] == "2.0"
    assert plain.stoke["scenario"]["pack_sha256"] is None
    # The user's word is stronger.
    stoke.load(server.url, "a.tar.gz", "-n", 1, "-P", "n=3")
    assert "hey hey hey" in server.requests[-1].json["messages"][-1]["content"]


def test_the_same_content_makes_the_same_bytes(stoke, agent, tmp_path):
    a = scenario(stoke, "pack", "agent", "-o", "a.tar.gz")
    for f in agent.rglob("*"):
        os.utime(f, (1, 1))
    b = scenario(stoke, "pack", "agent", "-o", "b.tar.gz")
    assert pack_sum(a) == pack_sum(b)
    assert (tmp_path / "a.tar.gz").read_bytes() == (
        tmp_path / "b.tar.gz").read_bytes()
    # A pack of a pack is that pack.
    c = scenario(stoke, "pack", "a.tar.gz", "-o", "c.tar.gz")
    assert pack_sum(c) == pack_sum(a)
    r = scenario(stoke, "pack", "agent", "-o", "a.tar.gz")
    assert r.code == 2 and "exists" in r.err


def test_a_script_takes_what_it_names(stoke, server, tmp_path):
    """Modules required late, from STOKE_PATH, and files in its text."""
    (tmp_path / "one.lua").write_text(
        "-- require 'commented'\n"
        "return { request = function() return { prompt ="
        ' require("near") .. require "team.far" .. stoke.read("words.txt") }'
        " end }\n")
    (tmp_path / "near.lua").write_text("return 'near '")
    (tmp_path / "commented.lua").write_text("return 1")
    (tmp_path / "other.lua").write_text("return 1")
    (tmp_path / "words.txt").write_text("words")
    (tmp_path / "shared" / "team").mkdir(parents=True)
    (tmp_path / "shared" / "team" / "far.lua").write_text("return 'far '")
    r = scenario(stoke, "pack", "one.lua",
                      env={"STOKE_PATH": "shared"})
    assert r.code == 0, r
    assert sorted(members(tmp_path / "one.tar.gz")) == [
        "manifest.json", "near.lua", "one.lua", "team/far.lua", "words.txt"]
    for name in ("near.lua", "words.txt"):
        (tmp_path / name).unlink()
    stoke.load(server.url, "one.tar.gz", "-n", 1)
    assert server.requests[-1].json["messages"][-1]["content"] == (
        "near far words")


def test_packs_are_found_by_name(stoke, server, tmp_path):
    (tmp_path / "team").mkdir()
    (tmp_path / "one.lua").write_text(PLAIN)
    scenario(stoke, "pack", "one.lua", "-o", "team/shared.tar.gz")
    r = stoke.load(server.url, "shared", "-n", 1, env={"STOKE_PATH": "team"})
    assert r.stoke["scenario"]["name"] == "one"
    r = scenario(stoke, "list", env={"STOKE_PATH": "team"})
    assert "team/shared.tar.gz" in r.out


def test_a_built_in_one_travels_with_its_file(stoke, server, tmp_path):
    (tmp_path / "p.txt").write_text("only this\n")
    scenario(stoke, "pack", "chat", "-P", "file=p.txt")
    (tmp_path / "p.txt").unlink()
    stoke.load(server.url, "chat.tar.gz", "-n", 1)
    assert server.requests[-1].json["messages"][-1]["content"] == "only this"


def test_large_data_stays_beside(stoke, server, agent, tmp_path):
    big = tmp_path / "big.txt"
    big.write_text("x" * (9 << 20))
    r = scenario(stoke, "pack", "agent", "-o", "a.tar.gz",
                      "-P", "file=big.txt")
    assert r.code == 0 and "stays outside" in r.out, r
    assert (tmp_path / "a.tar.gz").stat().st_size < 10000
    away = tmp_path / "away"
    away.mkdir()
    os.rename(tmp_path / "a.tar.gz", away / "a.tar.gz")
    r = stoke.run("away/a.tar.gz", "-u", server.url, "-n", 1, "-m", "m", code=2)
    assert r.code == 2 and "holds only the sum of data/big.txt" in r.err
    (away / "big.txt").write_text("other")
    r = stoke.run("away/a.tar.gz", "-u", server.url, "-n", 1, "-m", "m", code=2)
    assert r.code == 2 and "is not what the manifest says" in r.err
    big.rename(away / "big.txt")
    stoke.load(server.url, "away/a.tar.gz", "-n", 1)
    assert len(server.requests[-1].json["messages"][-1]["content"]) > 9 << 20
    r = scenario(stoke, "pack", "agent", "-o", "b.tar.gz",
                      "-P", "file=away/big.txt", "--with-data")
    assert "data/big.txt" in members(tmp_path / "b.tar.gz")


def test_secrets_stay_at_home(stoke, agent, tmp_path):
    (agent / "late.lua").write_text("return 'sk-0123456789'")
    r = scenario(stoke, "pack", "agent",
                      env={"OPENAI_API_KEY": "sk-0123456789"})
    assert r.code == 2 and "holds your API key" in r.err
    assert "sk-0123" not in r.err
    assert not (tmp_path / "agent.tar.gz").exists()
    (agent / "late.lua").write_text("return ''")
    (agent / "out.txt").symlink_to("/etc/passwd")
    r = scenario(stoke, "pack", "agent")
    assert r.code == 2 and "leads out of" in r.err


# ---- packs that are not good ----


def entry(name, content=b"x", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for k, v in fields.items():
        setattr(info, k, v)
    return info, content


def forge(path, *entries, files=None, **fields):
    """A pack with `entries` behind a manifest that fits the good ones."""
    script = PLAIN.encode()
    named = files if isinstance(files, dict) else {"init.lua": script}
    head = {"stoke_pack": 1, "name": "x", "entry": "init.lua",
            "parameters": {}, "files": [
                {"name": n, "sha256": hashlib.sha256(c).hexdigest(),
                 "bytes": len(c), "included": True}
                for n, c in named.items()]}
    if isinstance(files, list):
        fields["files"] = files
    head.update(fields)
    with tarfile.open(path, "w:gz") as t:
        for info, content in [
                entry("manifest.json", json.dumps(head).encode()),
                entry("init.lua", script), *entries]:
            t.addfile(info, io.BytesIO(content))


BAD = {
    "climbs": ([entry("../evil.lua")], {}, "could lead out"),
    "absolute": ([entry("/tmp/stoke-evil.lua")], {}, "could lead out"),
    "hidden climb": ([entry("a/../../evil.lua")], {}, "could lead out"),
    "symlink": ([entry("l", b"", type=tarfile.SYMTYPE, linkname="/etc")], {},
                "is a link"),
    "hard link": ([entry("l", b"", type=tarfile.LNKTYPE,
                         linkname="init.lua")], {}, "is a link"),
    "fifo": ([entry("f", b"", type=tarfile.FIFOTYPE)], {},
             "neither a file nor a folder"),
    "device": ([entry("d", b"", type=tarfile.CHRTYPE)], {},
               "neither a file nor a folder"),
    "twice": ([entry("init.lua", b"return {}")], {}, "is in it twice"),
    "not listed": ([entry("more.lua")], {}, "but not in its manifest"),
    "two manifests": ([entry("manifest.json", b"{}")], {}, "two manifests"),
    "other content": ([entry("a.lua", b"other")],
                      {"files": {"init.lua": PLAIN.encode(), "a.lua": b"x"}},
                      "is not what the manifest says"),
    "missing": ([], {"files": {"init.lua": PLAIN.encode(), "a.lua": b"x"}},
                "a.lua is missing"),
    "later kind": ([], {"stoke_pack": 2}, "of a later kind"),
    "no entry": ([], {"entry": "../../etc/passwd"}, "names no entry"),
    "bad listing": ([], {"files": {"init.lua": PLAIN.encode(),
                                   "../up": b"x"}}, "without a good name"),
    "backslash": ([entry("..\\..\\evil.lua")], {}, "could lead out"),
    "newline": ([entry("a\nb")], {}, "could lead out"),
    "dot": ([entry("./a.lua")], {}, "could lead out"),
    "below a file": ([entry("init.lua/x")], {}, "init.lua/x: Not a directory"),
    "file on a folder": ([entry("a/b"), entry("a")], {
        "files": {"init.lua": PLAIN.encode(), "a/b": b"x", "a": b"x"}},
        "a: is in it twice"),
    "another path behind": ([entry("ok.lua", pax_headers={
        "path": "../../evil.lua"})], {}, "could lead out"),
    "deep": ([entry("a/" * 3000 + "x")], {}, "could lead out"),
    "name that climbs": ([], {"name": "../../evil"}, "could lead out"),
    "hidden name": ([], {"name": ".bashrc"}, "could lead out"),
    "more than listed": ([entry("big.lua", b"0" * (3 << 20))], {},
                         "unpacks to more than it may"),
    "sizes that are none": ([], {"files": [
        {"name": "init.lua", "bytes": -1e300, "included": True}]},
        "without a good size"),
    "many listed": ([], {"files": [
        {"name": "init.lua", "bytes": 1, "included": True}] * 20000},
        "lists more than 10000 files"),
    "entry left out": ([], {"files": [
        {"name": "init.lua", "bytes": 1, "included": False}]},
        "names no entry"),
    "unknown parameter": ([], {"parameters": {"zz": "1"}}, "parameter zz"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_packs_are_refused(stoke, server, tmp_path, case):
    entries, fields, words = BAD[case]
    forge(tmp_path / "p.tar.gz", *entries, **fields)
    r = stoke.run("p.tar.gz", "-u", server.url, "-m", "m", "-n", 1,
                  env={"TMPDIR": str(tmp_path)}, code=2)
    assert r.code == 2 and words in r.err, r
    assert not server.requests
    assert not list(tmp_path.glob("stoke-pack-*"))
    assert not (tmp_path.parent / "evil.lua").exists()


def test_what_is_wrong_is_said_ten_times(stoke, server, tmp_path):
    """Not ten thousand times, and not after comparing all with all."""
    forge(tmp_path / "p.tar.gz", *[entry(f"f{i}", b"") for i in range(9000)],
          files=[{"name": f"z{i}", "bytes": 1, "included": True}
                 for i in range(9000)] +
          [{"name": "init.lua", "bytes": 1, "included": True}])
    r = stoke.run("p.tar.gz", "-u", server.url, "-m", "m", "-n", 1, code=2)
    assert r.code == 2 and 10 <= len(r.err.splitlines()) < 15, r


def test_names_are_bytes(stoke, server, tmp_path):
    """Of any script and normal form, in any locale, and longer than tar's."""
    names = ["gr\u00f6\u00dfe/\u65e5\u672c.txt", "e\u0301.txt", "\u00e9.txt",
             "a b'\"$.txt", "deep/" + "x" * 200 + ".txt"]
    for name in names:
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "mine" / "init.lua").write_text(
        "return { request = function(ctx) local t = {}\n"
        "  for i, name in ipairs { %s } do t[i] = assert(stoke.read(name)) end\n"
        "  return { prompt = table.concat(t, '|') } end }"
        % ", ".join(f"[[{name}]]" for name in names))
    for locale in ("C", "C.UTF-8"):
        r = scenario(stoke, "pack", "mine", "--force", env={"LC_ALL": locale})
        assert r.code == 0, r
        stoke.load(server.url, "mine.tar.gz", "-n", 1, env={"LC_ALL": locale})
        assert server.requests[-1].json["messages"][-1]["content"] == (
            "|".join(names))


@pytest.mark.parametrize("name", ["two\nlines.txt", "back\\slash.txt",
                                  "/".join(["x" * 200] * 3)])
def test_names_that_no_pack_may_have(stoke, agent, tmp_path, name):
    """What would be refused elsewhere is not packed here."""
    (agent / name).parent.mkdir(parents=True, exist_ok=True)
    (agent / name).write_text("x")
    r = scenario(stoke, "pack", "agent")
    assert r.code == 2 and "has a name that no pack may have" in r.err, r
    assert not (tmp_path / "agent.tar.gz").exists()


def test_links_in_circles_are_no_folders_without_end(stoke, agent):
    for name in "abc":
        (agent / name).symlink_to(".")
    r = scenario(stoke, "pack", "agent")
    assert r.code == 2 and "too deep" in r.err
    assert len(r.err.splitlines()) < 20


def test_a_bomb_is_not_unpacked(stoke, server, tmp_path):
    forge(tmp_path / "p.tar.gz",
          *[entry(f"f{i}", b"") for i in range(10002)])
    r = stoke.run("p.tar.gz", "-u", server.url, "-m", "m", "-n", 1, code=2)
    assert r.code == 2 and "more than 10000 files" in r.err, r


def test_nothing_is_unpacked_before_the_manifest(stoke, server, tmp_path):
    with tarfile.open(tmp_path / "p.tar.gz", "w:gz") as t:
        info, content = entry("init.lua", PLAIN.encode())
        t.addfile(info, io.BytesIO(content))
        info, content = entry("manifest.json", b"{}")
        t.addfile(info, io.BytesIO(content))
    r = stoke.run("p.tar.gz", "-u", server.url, "-m", "m", "-n", 1, code=2)
    assert "no manifest.json in front" in r.err, r
    with tarfile.open(tmp_path / "q.tar.gz", "w:gz") as t:
        info, content = entry("manifest.json", b" " * (5 << 20))
        t.addfile(info, io.BytesIO(content))
    r = stoke.run("q.tar.gz", "-u", server.url, "-m", "m", "-n", 1, code=2)
    assert "manifest.json: unpacks to more than it may" in r.err, r


@pytest.mark.parametrize("name", ["../../up", "a/b", ".hidden", "a\\\\b",
                                  "two\\nlines", "\\27[2J", "x" * 200])
def test_a_name_is_no_path_and_no_picture(stoke, tmp_path, name):
    """It names files (NAME.tar.gz) and stands in lists."""
    (tmp_path / "s.lua").write_text(
        f'return {{ name = "{name}", request = print }}')
    r = scenario(stoke, "pack", "s.lua")
    assert r.code == 2 and "name must be a" in r.err, r
    (tmp_path / "s.lua").write_text(
        'return { description = "\\27[2J", request = print }')
    r = scenario(stoke, "show", "s.lua")
    assert r.code == 2 and "without control characters" in r.err, r


def test_what_is_no_pack(stoke, server, tmp_path):
    (tmp_path / "p.tar.gz").write_bytes(b"hello")
    r = stoke.run("p.tar.gz", "-u", server.url, "-m", "m", "-n", 1, code=2)
    assert r.code == 2 and "is no pack" in r.err, r
    with tarfile.open(tmp_path / "q.tar.gz", "w:gz") as t:
        info, content = entry("init.lua", PLAIN.encode())
        t.addfile(info, io.BytesIO(content))
    r = stoke.run("q.tar.gz", "-u", server.url, "-m", "m", "-n", 1, code=2)
    assert r.code == 2 and "no manifest.json" in r.err, r


def test_a_pack_reads_nothing_outside(stoke, server, tmp_path):
    """A parameter in a manifest is not one of the user's."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    script = (b"return { params = { file = { type = 'path' } },"
              b" request = function(ctx) return { prompt ="
              b" stoke.read(ctx.params.file) or 'nothing' } end }")
    head = {"stoke_pack": 1, "name": "x", "entry": "init.lua",
            "parameters": {"file": str(secret)},
            "files": [{"name": "init.lua", "bytes": len(script),
                       "included": True,
                       "sha256": hashlib.sha256(script).hexdigest()}]}
    with tarfile.open(tmp_path / "p.tar.gz", "w:gz") as t:
        for name, c in (("manifest.json", json.dumps(head).encode()),
                        ("init.lua", script)):
            info, content = entry(name, c)
            t.addfile(info, io.BytesIO(content))
    stoke.load(server.url, "p.tar.gz", "-n", 1)
    assert server.requests
    for q in server.requests:
        assert q.json["messages"][-1]["content"] == "nothing"


def test_sha256_refuses_another_content(stoke, server, agent, tmp_path):
    r = scenario(stoke, "pack", "agent")
    right = pack_sum(r)
    stoke.load(server.url, "agent.tar.gz", "-n", 1, "--sha256", right)
    n = len(server.requests)
    wrong = "0" * 64
    r = stoke.run("agent.tar.gz", "-u", server.url, "-m", "m", "-n", 1,
                  "--sha256", wrong, code=2)
    assert r.code == 2 and "is not what --sha256 says" in r.err
    assert right in r.err
    r = stoke.run("agent", "-u", server.url, "-m", "m", "-n", 1,
                  "--sha256", wrong, code=2)
    assert r.code == 2 and "is not what --sha256 says" in r.err
    assert len(server.requests) == n
