"""What script authors ran into elsewhere, and where modules may come from."""

import re

import pytest
from harness.program import BINARY, strict_json
from harness.raw import delta, stream, text, usage, whole

pytestmark = pytest.mark.asan


@pytest.fixture
def server(raw_server):
    return raw_server(lambda r: stream(text("one"), delta("stop"), usage(3, 1)))


def prompts(server):
    return [q.json["messages"][-1]["content"] for q in server.requests]


def test_b146_every_line_once_over_three_workers(stoke, server, tmp_path):
    """A script sees which thread it is, and rows are handed out once."""
    lines = [f"line {i}" for i in range(1000)]
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "s.lua").write_text("""
    local d = stoke.data.open("lines.txt", { format = "lines" })
    return { metrics = { w1 = "counter", w2 = "counter", w3 = "counter" },
      request = function(ctx)
        local row = d:next()
        if not row then return nil end
        assert(stoke.workers == 3)
        ctx:record("w" .. stoke.worker)
        return { prompt = row.prompt }
      end }""")
    r = stoke.load(server.url, "s.lua", "-c", 6, "--threads", 3, "-d", "60s")
    assert sorted(prompts(server)) == sorted(lines)
    assert r.stoke["stop_reason"] == "exhausted"
    assert r.outcomes == {"ok": 1000}


def test_init_and_exit_run_once_on_every_thread(stoke, server, tmp_path):
    (tmp_path / "s.lua").write_text("""
    local n
    return { init = function(ctx) assert(not n) n = 0 end,
      request = function() n = n + 1 return { prompt = "x" } end,
      exit = function() return { worker = stoke.worker, n = n } end,
      summary = function(results)
        local sum = 0
        for i, t in ipairs(results.threads) do
          assert(t.worker == i)
          sum = sum + t.n
        end
        return { sum = sum }
      end }""")
    r = stoke.load(server.url, "s.lua", "-n", 30, "-c", 6, "--threads", 3)
    assert r.stoke["custom"]["sum"] == 30
    (tmp_path / "s.lua").write_text("""
    return { init = function() error("no way") end, request = print }""")
    r = stoke.load(server.url, "s.lua", "-n", 1, code=1)
    assert "init failed: s.lua:2: no way" in r.err


BLOCK = b"x" * (1 << 20)

# A plain download: nothing of it is an answer of a model.
DOWNLOAD = """return { metrics = { seen = "counter", bytes = "counter" },
  backends = { file = { path = "/big", body = function() return {} end } },
  request = function()
    return { endpoint = "file", stream = false, keep_body = %s }
  end,
  on_response = function(r)
    stoke.record("seen")
    stoke.record("bytes", #(r.body or ""))
  end }"""


@pytest.fixture
def downloads(raw_server):
    """64 MiB to whoever asks."""
    def answer(request):
        yield (b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream"
               b"\r\nContent-Length: %d\r\n\r\n" % (64 * len(BLOCK)))
        for _ in range(64):
            yield BLOCK
    return raw_server(answer)


@pytest.mark.skipif(BINARY.endswith("san/stoke"), reason="its own memory")
@pytest.mark.parametrize("keep", [False, True])
def test_b147_bodies_are_kept_when_asked_for_and_capped(stoke, downloads,
                                                        tmp_path, keep):
    (tmp_path / "s.lua").write_text(DOWNLOAD % str(keep).lower())
    p = stoke.start("-u", downloads.url, "-m", "m", "--no-preflight", "s.lua",
                    "-c", 4, "-n", 8, "--max-answer", "2M")
    assert p.peak_memory() < 100 and p.wait().code == 0
    custom = strict_json(p.output.read_text())["stoke"]["custom"]
    assert custom["seen"]["sum"] == 8
    assert custom["bytes"]["sum"] == (8 * 2 << 20 if keep else 0)


@pytest.mark.skipif(BINARY.endswith("san/stoke"), reason="its own memory")
def test_b147_wrks_response_gets_no_more_than_is_kept(stoke, downloads,
                                                      tmp_path):
    (tmp_path / "s.lua").write_text("""
    local most = 0
    function response(status, headers, body) most = #body end
    function done() io.write("kept ", most, "\\n") end""")
    p = stoke.start("--wrk", "s.lua", "-u", downloads.url + "/big", "-c", 4,
                    "-n", 8, "--max-answer", "1M")
    assert p.peak_memory() < 100 and p.wait().code == 0


def test_answers_in_one_piece_have_a_limit(stoke, raw_server):
    body = {"choices": [{"message": {"content": "x" * 5000},
                         "finish_reason": "stop"}]}
    server = raw_server(lambda r: [whole(body)])
    flags = ("haiku", "--no-stream", "-n", 1, "--max-answer")
    stoke.load(server.url, *flags, "6k")
    r = stoke.load(server.url, *flags, "4k", code=1)
    assert r.outcomes == {"malformed": 1}
    assert "larger than 4096 bytes" in r.out


def test_b150_a_body_has_one_framing(stoke, server, tmp_path):
    (tmp_path / "s.lua").write_text("""
    return { request = function() return { prompt = "x",
      headers = { ["Transfer-Encoding"] = "chunked" } } end }""")
    r = stoke.load(server.url, "s.lua", "-n", 1, code=1)
    assert r.outcomes == {"script": 1}
    assert "leave Transfer-Encoding out" in r.err
    assert not server.requests


def test_b151_one_header_of_a_name_the_scripts(stoke, server, tmp_path):
    (tmp_path / "s.lua").write_text("""
    return { request = function() return { prompt = "x",
      headers = { ["Content-Type"] = "application/json; a=b" } } end }""")
    stoke.load(server.url, "s.lua", "-n", 1, "-H", "content-type: a/b")
    head = [(k.lower(), v) for k, v in server.requests[0].headers.items()]
    assert [v for k, v in head if k == "content-type"] == [
        "application/json; a=b"]
    assert len([k for k, v in head if k == "host"]) == 1


def test_b160_eight_workers_print_whole_lines(stoke, server, tmp_path):
    (tmp_path / "s.lua").write_text("""
    return { request = function(ctx)
      for i = 1, 10 do
        print("begin", stoke.worker, ctx.id, i, ("x"):rep(300), "end")
      end
      return { prompt = "x" }
    end }""")
    r = stoke.load(server.url, "s.lua", "-n", 200, "-c", 16, "--threads", 8)
    whole = re.compile(r"begin\t[1-8]\t\d+\t\d+\tx{300}\tend")
    lines = [l for l in r.err.splitlines() if "begin" in l or "xxx" in l]
    assert len(lines) == 2000
    assert all(whole.fullmatch(l) for l in lines)


# ---- modules ----


REQUIRE = ("return { request = function() return { prompt ="
           " require(%r) } end }")


@pytest.fixture
def elsewhere(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.lua").write_text("return 'secret'")
    (tmp_path / "mine").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", [
    "../elsewhere/secret", "..elsewhere.secret", "/etc/passwd", "a/b", "",
    "elsewhere.secret\0", "out", "folder.secret",
])
def test_require_does_not_leave_its_folder(stoke, server, elsewhere, name):
    mine = elsewhere / "mine"
    (mine / "out.lua").symlink_to("../elsewhere/secret.lua")
    (mine / "folder").symlink_to("../elsewhere")
    lua = REQUIRE.replace("%r", '"' + name.replace("\0", "\\0") + '"')
    (mine / "init.lua").write_text(lua)
    r = stoke.load(server.url, "mine", "-n", 1, code=1)
    assert r.outcomes == {"script": 1}, r
    assert not server.requests


def test_modules_of_stoke_path(stoke, server, elsewhere):
    """The scenario's own folder goes first, then each of STOKE_PATH."""
    mine = elsewhere / "mine"
    (mine / "init.lua").write_text(REQUIRE % "team.words")
    (elsewhere / "a").mkdir()
    (elsewhere / "b" / "team" / "words").mkdir(parents=True)
    (elsewhere / "b" / "team" / "words" / "init.lua").write_text("return 'b'")
    env = {"STOKE_PATH": ":a:b:"}
    r = stoke.load(server.url, "mine", "-n", 1, env=env)
    assert prompts(server) == ["b"]
    (elsewhere / "a" / "team").mkdir()
    (elsewhere / "a" / "team" / "words.lua").symlink_to(
        "../../elsewhere/secret.lua")
    r = stoke.load(server.url, "mine", "-n", 1, env=env, code=1)
    assert "leads out of its folder" in r.err
    (mine / "team").mkdir()
    (mine / "team" / "words.lua").write_text("return 'own'")
    stoke.load(server.url, "mine", "-n", 1, env=env)
    assert prompts(server)[-1] == "own"


@pytest.mark.parametrize("name", ["ffi", "io", "debug", "package", "jit.util"])
def test_require_brings_no_library_back(stoke, server, elsewhere, name):
    (elsewhere / "mine" / "init.lua").write_text(REQUIRE % name)
    r = stoke.load(server.url, "mine", "-n", 1, code=1)
    assert r.outcomes == {"script": 1}, r
