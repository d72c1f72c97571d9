"""The command line as people meet it: help, versions, mistakes, and the
request that is tried before the load."""

import json
import re
import time

import pytest
from harness.program import PATIENCE
from harness.raw import FIN, delta, stream, text, usage, whole

pytestmark = pytest.mark.asan


def fine():
    return stream(text("x"), text("y"), delta("stop"), usage(3, 2))


def posts(server):
    return [q for q in server.requests if q.method == "POST"]


@pytest.fixture
def say(stoke):
    """say("run", "--help") is the finished process."""
    return lambda *args, **more: stoke.command(*args, **more).wait()


# ---- help and versions ----

@pytest.mark.parametrize("args", [["--help"], ["-h"], ["help"]])
def test_help_lists_commands(say, args):
    r = say(*args)
    assert r.code == 0 and r.err == ""
    assert re.search(r"^  run ", r.out, re.M)
    assert re.search(r"^  mock ", r.out, re.M)


def test_nothing_said_is_wrong_use(say):
    r = say()
    assert r.code == 2 and r.out == "" and "Usage: stoke COMMAND" in r.err


@pytest.mark.parametrize("command", ["run", "mock"])
def test_help_of_a_command(say, command):
    r = say(command, "--help")
    assert r.code == 0 and r.err == ""
    assert r.out.startswith(f"Usage: stoke {command} ")
    assert r.out == say("help", command).out
    lines = r.out.split("\nExamples:")[0].splitlines()
    assert max(len(line) for line in lines) <= 80


def test_help_searches(say):
    r = say("run", "--help=timeout")
    assert r.code == 0
    assert "--ttft-timeout" in r.out and "--model" not in r.out


def test_help_wins_over_mistakes(say):
    assert say("run", "-c", "0", "--nonsense", "--help").code == 0


def test_b156_versions_of_all_parts(say):
    r = say("--version")
    assert r.code == 0
    for part in ("stoke ", "libcurl ", "OpenSSL", "libev ", "LuaJIT ",
                 "cJSON "):
        assert part in r.out
    assert r.out == say("version").out == say("run", "--version").out


def test_starts_fast(say):
    def once():
        start = time.monotonic()
        say("--version")
        return time.monotonic() - start
    assert any(once() < 0.1 * PATIENCE for _ in range(50))


# ---- mistakes ----

def test_unknown_command_suggests(say):
    r = say("rum")
    assert r.code == 2 and "did you mean run?" in r.err


def test_options_without_a_command(say):
    r = say("--url", "http://h")
    assert r.code == 2 and "stoke run --url" in r.err


def test_all_mistakes_at_once(say):
    r = say("run", "-c", 0, "--request-rat", "x", "--nope", "-u", "",
            "-P", "nothing=1", "-o", "/no/such/folder/x.json")
    assert r.code == 2 and r.out == ""
    for words in ("-c 0: must be at least 1",
                  "--request-rat x: not a number",
                  "--nope: no such option",
                  "--url : empty",
                  "nothing",
                  "/no/such/folder"):
        assert words in r.err, words


def test_a_mistake_in_a_flag_hides_none_in_a_scenario_of_ones_own(say,
                                                                   tmp_path):
    (tmp_path / "own.lua").write_text(
        "return { load = { request_rate = -1 },"
        " request = function() return { prompt = 'hi' } end }")
    r = say("run", tmp_path / "own.lua", "--nope", "-m", "m")
    assert r.code == 2 and "--nope: no such option" in r.err
    assert "request_rate" in r.err and "--endpoint" not in r.err


def test_a_url_alone_is_no_scenario(say):
    r = say("run", "http://me:secret@127.0.0.1:9/v1")
    assert r.code == 2 and "--url" in r.err and "secret" not in r.err


def test_options_without_dashes(stoke, raw_server, say):
    server = raw_server(lambda r: fine())
    r = stoke.load(server.url, "num_prompts=3", "max-concurrency=1")
    assert r.json["completed"] == 3 and r.json["max_concurrency"] == 1
    r = say("run", "num_promts=3")
    assert r.code == 2 and "neither an option nor a scenario" in r.err


def test_a_full_disk_is_no_success(stoke, raw_server):
    server = raw_server(lambda r: fine())
    with open("/dev/full", "w", encoding="utf-8") as full:
        r = stoke.load(server.url, "-n", 1, stdout=full, code=1)
    assert "No space left" in r.err and r.json["completed"] == 1


@pytest.mark.parametrize("args", [
    ["--version"], ["run", "--help"], ["run", "--print-config"],
    ["scenario", "list"]])
def test_x14_what_could_not_be_printed_is_no_success(stoke, args):
    with open("/dev/full", "w", encoding="utf-8") as full:
        r = stoke.command(*args, stdout=full).wait()
    assert r.code == 1 and "output could not be written" in r.err


def test_x14_closed_streams_are_nobody_elses(stoke, raw_server, tmp_path):
    """Or the table would go to the file of the results, that is 1 then."""
    server = raw_server(lambda r: fine())
    r = stoke.load(server.url, "-n", 2, code=1, prefix=(
        "/bin/sh", "-c", 'exec "$@" <&- >&-', "sh"))
    assert r.json["completed"] == 2 and len(r.requests) == 2
    assert "Bad file descriptor" in r.err


@pytest.mark.parametrize("verb", [["run"], ["check"], ["bench", "serve"]])
def test_b112_a_model_without_a_name(say, verb):
    """-m "$MODEL", and there is no MODEL."""
    r = say(*verb, "--model", "", "--url" if verb != ["bench", "serve"]
            else "--base-url", "http://127.0.0.1:9")
    assert r.code == 2 and "--model: empty" in r.err, r


def test_ambiguous_beginning(say):
    r = say("run", "--ma", "5")
    assert r.code == 2
    assert "--max-concurrency" in r.err and "--max-tokens" in r.err


# ---- where it goes ----

def test_x04_one_v1_on_the_wire(stoke, raw_server):
    server = raw_server(lambda r: fine())
    r = stoke.load(server.url + "/v1/v1", "-n", 1)
    assert server.requests[0].path == "/v1/chat/completions"
    assert "/v1/v1" in r.err


def test_whole_request_urls(stoke, raw_server):
    server = raw_server(lambda r: fine())
    stoke.load(server.url + "/v1/chat/completions", "-n", 1)
    stoke.load(server.url + "/azure/chat/completions?api-version=1", "-n", 1)
    stoke.load(server.url + "/paas/v4/", "-n", 1)
    assert [q.path for q in server.requests] == [
        "/v1/chat/completions", "/azure/chat/completions?api-version=1",
        "/paas/v4/chat/completions"]
    assert all("messages" in q.json for q in server.requests)


def test_no_scheme_is_told(stoke, raw_server):
    server = raw_server(lambda r: fine())
    r = stoke.load(server.url.removeprefix("http://"), "-n", 1)
    assert "no scheme" in r.err and len(server.requests) == 1


def test_ipv6(stoke, raw_server, ipv6):
    server = raw_server(lambda r: fine(), host="::1")
    stoke.load(server.url + "/v1", "-n", 1)
    assert len(server.requests) == 1


def test_names_in_other_letters(stoke, raw_server):
    """Whatever the locale: libidn2 would go by it."""
    server = raw_server(lambda r: fine())
    stoke.load(f"http://b\u00fccher.localhost:{server.port}", "-n", 1,
               env={"LC_ALL": "C"})
    host = server.requests[0].headers["host"]
    assert host == f"xn--bcher-kva.localhost:{server.port}"


def test_secrets_are_masked_in_the_command(stoke, raw_server):
    server = raw_server(lambda r: fine())
    r = stoke.load(server.url + "?api_key=sk-in-the-query", "-n", 1,
                   "--api-key", "sk-on-the-line",
                   "-H", "Cookie: sk-in-a-header",
                   "-H", "X-Mine: sk-from-environment",
                   env={"OPENAI_API_KEY": "sk-not-used"})
    everything = json.dumps(r.json) + r.out + r.err
    for secret in ("sk-in-the-query", "sk-on-the-line", "sk-in-a-header"):
        assert secret not in everything
    assert r.stoke["command"].startswith("stoke run -u ")
    assert "***" in r.stoke["command"]


def test_keys_that_a_server_repeats_are_masked(stoke, raw_server):
    def answer(r):
        words = f"bad key {r.headers['authorization']}"
        return [whole({"error": {"message": words}}, "401 Unauthorized")]

    for flags, env in ((["-H", "Authorization: Bearer sk-0123456789"], {}),
                       ([], {"OPENAI_API_KEY": "sk-0123456789"})):
        r = stoke.load(raw_server(answer).url, "-n", 2, *flags, env=env,
                       code=1)
        everything = json.dumps([r.json, r.requests]) + r.out + r.err
        assert "bad key Bearer ***" in everything
        assert "sk-0123456789" not in everything


# ---- the request before the load ----

def preflight(stoke, server, *args, **more):
    url = server if isinstance(server, str) else server.url
    return stoke.run("-u", url, "-m", "m", "-n", 3, *args, **more)


def test_preflight_is_not_counted(stoke, raw_server):
    server = raw_server(lambda r: fine())
    r = preflight(stoke, server)
    assert r.json["completed"] == 3 and len(server.requests) == 4
    first, second = server.requests[:2]
    own = {"x-request-id"}  # requests of the load are numbered
    assert first.path == second.path and first.headers.keys() == \
        second.headers.keys() - own
    assert sorted(first.json) == sorted(second.json)


def test_preflight_of_long_answers_is_short(stoke, raw_server):
    """A stream that works is left after two seconds."""
    server = raw_server(lambda r: stream(
        *([text("x"), 0.1] * (300 if r.index == 0 else 2)), delta("stop")))
    r = preflight(stoke, server)
    assert r.json["completed"] == 3 and r.seconds < 15 * PATIENCE


@pytest.mark.parametrize("answer, words", [
    (whole({"detail": "Not Found"}, "404 Not Found"),
     ["HTTP status 404", "Not Found", "no such path"]),
    (whole({"error": {"message": "The model `m` does not exist."}},
           "404 Not Found"), ["does not exist", "--model"]),
    (whole({"error": {"message": "Invalid token"}}, "401 Unauthorized"),
     ["HTTP status 401", "Invalid token", "no key was sent"]),
    (whole({"detail": [{"loc": ["body", "prompt"], "msg": "Field required"}]},
           "422 Unprocessable Entity"), ["422", "different kinds"]),
    (whole("", "301 Moved", "text/html", "Location: https://h/v1"),
     ["301", "https://h/v1", "--url"]),
    (whole("<html>Hello</html>", "200 OK", "text/html"),
     ["text/html", "web page"]),
    (whole("no", "405 Method Not Allowed", "text/plain"), ["405", "POST"]),
    (whole("<html>The plain HTTP request was sent to HTTPS port</html>",
           "400 Bad Request", "text/html"), ["https://"]),
])
def test_preflight_stops_what_cannot_work(stoke, raw_server, answer, words):
    server = raw_server(lambda r: [answer])
    r = preflight(stoke, server, code=1)
    assert len(posts(server)) == 1 and r.json is None
    for word in words:
        assert word in r.err, word


def test_preflight_lists_the_models_that_there_are(stoke, raw_server):
    def answer(r):
        if r.method == "GET":
            return [whole({"data": [{"id": "llama-8b"}, {"id": "qwen"}]})]
        return [whole({"error": {"message": "no model m"}}, "404 Not Found")]

    r = preflight(stoke, raw_server(answer), code=1)
    assert "it has llama-8b, qwen" in r.err


def test_preflight_refused_key_is_named_not_shown(stoke, raw_server):
    def answer(r):
        words = f"bad key {r.headers['authorization']}"
        return [whole({"error": {"message": words}}, "401 Unauthorized")]

    r = preflight(stoke, raw_server(answer), code=1,
                  env={"OPENAI_API_KEY": "sk-0123456789"})
    assert "the key from OPENAI_API_KEY was refused" in r.err
    assert "sk-0123456789" not in r.err


def test_preflight_nobody_there(stoke, refused):
    r = preflight(stoke, refused, code=1)
    assert "refused" in r.err and "nothing listens there" in r.err


def test_preflight_not_http_at_all(stoke, raw_server):
    server = raw_server(lambda r: [b"\x15\x03\x01\x00\x02\x02\x16", FIN])
    r = preflight(stoke, server, code=1)
    assert "https://" in r.err


@pytest.mark.parametrize("answer, words", [
    (whole({"error": {"message": "Loading model"}}, "503 Unavailable"),
     "Loading model"),
    (whole({"error": {"message": "slow down"}}, "429 Too Many Requests"),
     "throttles"),
])
def test_preflight_accidents_do_not_stop_the_run(stoke, raw_server, answer,
                                                 words):
    server = raw_server(lambda r: fine() if r.index else [answer])
    r = preflight(stoke, server)
    assert words in r.err and "goes on" in r.err
    assert r.json["completed"] == 3


def test_b027_preflight_tells_when_nothing_is_streamed(stoke, raw_server):
    server = raw_server([whole({
        "choices": [{"index": 0, "message": {"content": "hi"},
                     "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1}})])
    r = preflight(stoke, server)
    assert "not streamed (content-type application/json)" in r.err
    assert "not streamed" not in preflight(stoke, server, "--no-stream").err


def test_no_preflight_sends_all_the_same(stoke, raw_server):
    server = raw_server([whole({"detail": "x"}, "404 Not Found")])
    r = preflight(stoke, server, "--no-preflight", code=1)
    assert r.json["failed"] == 3


# ---- the model ----

def test_without_a_list_the_model_must_be_named(stoke, raw_server):
    server = raw_server([whole({"detail": "Not Found"}, "404 Not Found")])
    r = stoke.run("-u", server.url, "-n", 1, code=2)
    assert "--model" in r.err and not posts(server)


def test_models_are_asked_with_key_and_headers(stoke, raw_server):
    server = raw_server(lambda r: fine() if r.method == "POST" else [
        whole({"data": [{"id": "tiny"}]})])
    r = stoke.run("-u", server.url + "/p/v1?a=b", "-n", 1, "-H", "X-A: 1",
                  env={"OPENAI_API_KEY": "sk-1"})
    get = server.requests[0]
    assert (get.method, get.path) == ("GET", "/p/v1/models?a=b")
    assert get.headers["authorization"] == "Bearer sk-1"
    assert get.headers["x-a"] == "1" and "tiny" in r.err


def test_no_model_and_nobody_there(stoke, refused):
    r = stoke.run("-u", refused, "-n", 1, code=1)
    assert "nothing listens there" in r.err


# ---- with the embedded server, and real notices ----

def test_against_the_mock(stoke, mock):
    server = mock("--tokens", 4)
    r = stoke.run("-u", server.url, "-n", 8, "-c", 2)
    assert r.json["completed"] == 8
    assert "requests at a time" in r.err


def test_key_from_another_variable(stoke, mock):
    server = mock("--api-key", "sk-mock")
    r = stoke.run("-u", server.url, "-n", 2, "--api-key-env", "MY_KEY",
                  env={"MY_KEY": "sk-mock\n"})
    assert r.json["completed"] == 2 and "line breaks" in r.err
    r = stoke.run("-u", server.url, "-m", "m", "-n", 2, code=1)
    assert "401" in r.err
