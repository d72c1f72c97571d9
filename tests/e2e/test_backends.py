"""Request backends: what goes out byte for byte, what comes back as recorded
from real servers, and a user's own API in ten lines."""

import json
from pathlib import Path

import pytest
from harness.raw import FIN
from harness.stalls import stalls_spoil_a_try, timely

STREAMS = Path(__file__).parents[1] / "data" / "streams"
TEXT = "Hello there, this is what the fixture says, in a few small pieces."
FIXTURES = [{"match": {}, "response": {"content": TEXT}}]


def recorded(name):
    """A recorded answer, with no more framing than its end."""
    head, _, body = (STREAMS / name).read_bytes().replace(
        b"\r\n", b"\n").partition(b"\n\n")
    kind = [line for line in head.split(b"\n")
            if line.lower().startswith(b"content-type:")]
    if b"chunked" in head.lower():
        body = unchunked((STREAMS / name).read_bytes())
    return [b"HTTP/1.1 200 OK\r\n" + kind[0] + b"\r\nconnection: close\r\n\r\n"
            + body, FIN]


def unchunked(answer):
    _, _, rest = answer.partition(b"\r\n\r\n")
    first, _, _ = rest.partition(b"\r\n")
    if len(first) > 6:  # the recorder took the chunks away
        return rest
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        n = int(size, 16)
        body += rest[:n]
        rest = rest[n + 2:]
    return body


def plain(document):
    body = json.dumps(document).encode()
    return [b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n" % len(body) + body]


@pytest.fixture
def scenario(tmp_path):
    def write(lua, name="case.lua"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(lua)
        return name

    return write


def asking(table):
    return f"return {{ request = function() return {table} end }}"


@pytest.mark.asan
@pytest.mark.parametrize("endpoint, file, path, body", [
    ("anthropic", "vllm-anthropic-messages.txt", "/v1/messages",
     '{"max_tokens":9,"messages":[{"content":"hi","role":"user"}],'
     '"model":"m","stream":true}'),
    ("responses", "vllm-responses.txt", "/v1/responses",
     '{"input":"hi","max_output_tokens":9,"model":"m","stream":true}'),
    ("ollama", "aimock-ollama.txt", "/api/chat",
     '{"messages":[{"content":"hi","role":"user"}],"model":"m",'
     '"options":{"num_predict":9},"stream":true}'),
    ("ollama_generate", "aimock-ollama.txt", "/api/generate",
     '{"model":"m","options":{"num_predict":9},"prompt":"hi","stream":true}'),
])
def test_bodies_and_recorded_streams(stoke, raw_server, scenario, endpoint,
                                     file, path, body):
    server = raw_server(lambda r: recorded(file))
    case = scenario(asking("{ prompt = 'hi', max_tokens = 9 }"))
    r = stoke.load(server.url, case, "--endpoint", endpoint, "-n", 2,
                   env={"OPENAI_API_KEY": "k"})
    assert r.outcomes == {"ok": 2}
    assert all(q["ttft_ms"] is not None for q in r.requests)
    for request in server.requests:
        assert request.path == path and request.body.decode() == body
        if endpoint == "anthropic":
            assert request.headers["x-api-key"] == "k"
            assert request.headers["anthropic-version"] == "2023-06-01"
            assert "authorization" not in request.headers
        else:
            assert request.headers["authorization"] == "Bearer k"
            assert "x-api-key" not in request.headers


def test_the_users_headers_win(stoke, raw_server, scenario):
    server = raw_server(lambda r: recorded("vllm-anthropic-messages.txt"))
    case = scenario(asking("{ prompt = 'hi', headers = { ['x-api-key'] = 'z' } }"))
    stoke.load(server.url + "/v1/messages", case, "-n", 1, "-H",
               "anthropic-version: 2024-01-01", env={"OPENAI_API_KEY": "k"})
    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert request.headers["anthropic-version"] == "2024-01-01"
    assert request.headers["x-api-key"] == "z"


def test_embeddings_have_no_tokens_to_wait_for(stoke, raw_server, scenario):
    server = raw_server(lambda r: plain({
        "object": "list", "data": [{"index": 0, "embedding": [0.5, 0.25]}],
        "usage": {"prompt_tokens": 7, "total_tokens": 7}}))
    case = scenario(asking("{ prompt = { 'a', 'b' } }"))
    r = stoke.load(server.url, case, "--endpoint", "/v1/embeddings", "-n", 3)
    assert server.requests[0].body == b'{"input":["a","b"],"model":"m"}'
    assert r.outcomes == {"ok": 3} and r.json["total_input_tokens"] == 21
    assert r.json["backend"] == "openai-embeddings"
    assert r.json["mean_e2el_ms"] > 0
    for absent in ("n/a", "Time to First Token", "generated tokens", "Output"):
        assert absent not in r.out
    assert "End-to-end Latency" in r.out


@pytest.mark.parametrize("batch", [1, 3])
def test_the_ready_scenario(stoke, raw_server, batch):
    server = raw_server(lambda r: plain({
        "data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 9}}))
    r = stoke.load(server.url, "embeddings", "-n", 5, "-P", f"batch={batch}",
                   "-P", "words=4", "-P", "dimensions=64")
    assert r.outcomes == {"ok": 5} and r.stoke["scenario"]["name"] == "embeddings"
    for request in server.requests:
        body = request.json
        assert set(body) == {"model", "input", "dimensions"}
        texts = [body["input"]] if batch == 1 else body["input"]
        assert [len(t.split()) for t in texts] == [4] * batch


@pytest.mark.parametrize("endpoint, content", [
    ("embeddings", "input"), ("embeddings_chat", "messages"),
    ("pooling", "input"), ("/v1/embeddings", "input")])
def test_no_scenario_named(stoke, mock, endpoint, content):
    """What is sent then suits the API; or else it is said what to run."""
    server = mock("--log-bodies")
    r = stoke.load(server.url, "--endpoint", endpoint, "-n", 2)
    assert r.outcomes == {"ok": 2}
    assert r.stoke["scenario"]["name"] == "embeddings"
    assert all(content in json.loads(q["body"]) for q in server.stop())


@pytest.mark.parametrize("endpoint, words", [
    ("rerank", "say stoke run bench -P dataset_name=random-rerank"),
    ("/v1/rerank", "say stoke run bench -P dataset_name=random-rerank"),
    ("transcriptions", "say stoke run bench -P dataset_name=custom_audio ")])
def test_no_scenario_named_where_none_fits(stoke, mock, endpoint, words):
    server = mock()
    r = stoke.load(server.url, "--endpoint", endpoint, "-n", 2, code=2)
    assert words in r.err and not server.stop()
    if endpoint == "rerank":
        server = mock()
        r = stoke.load(server.url, *words.split()[3:], "--endpoint", endpoint,
                       "-P", "num_prompts=2")
        assert r.outcomes == {"ok": 2}


@pytest.mark.parametrize("scenario_name", ["chat", "agent", "mixed", "rag",
                                           "long_context"])
def test_a_chat_for_what_is_none(stoke, mock, scenario_name):
    server = mock()
    for endpoint, words in (("embeddings", "embeddings"),
                            ("/v1/rerank", "bench -P dataset_name=random-rerank")):
        r = stoke.load(server.url, scenario_name, "--endpoint", endpoint,
                       "-n", 2, code=2)
        assert r.err.splitlines()[-1] == (
            f"stoke: --endpoint {endpoint}: what {scenario_name} sends is "
            f"nothing for it; say stoke run {words} --endpoint {endpoint}")
        assert "script error" not in r.err
    assert not server.stop()


@pytest.mark.parametrize("command", [
    ["embeddings", "--endpoint", "pooling"],
    ["completions", "--endpoint", "embeddings"],  # which names its own
    ["bench", "-P", "dataset_name=random-rerank", "-P", "num_prompts=2",
     "--endpoint", "rerank"]])
def test_what_suits_is_sent(stoke, mock, command):
    r = stoke.load(mock("--ttft", "1ms", "--itl", "1ms").url, *command, "-n", 2)
    assert r.outcomes == {"ok": 2}


@pytest.mark.parametrize("endpoint, path", [
    ("/v4/embeddings", "/v4/embeddings"), ("/x/pooling", "/x/pooling"),
    ("completions", "/v1/embeddings")])
def test_the_path_that_a_user_gave(stoke, raw_server, endpoint, path):
    """It is taken where a scenario names the same API; where it names another
    the option does nothing, and that is said."""
    server = raw_server(lambda r: plain({
        "data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 9}}))
    r = stoke.run("embeddings", "-u", server.url, "-m", "m", "--endpoint",
                  endpoint, "-n", 1)
    assert {q.path for q in server.requests} == {path}
    told = ("--endpoint completions is for requests that name none; the "
            "scenario's name their own, /v1/embeddings")
    assert (told in r.err) == (endpoint == "completions")


def test_rerank(stoke, raw_server, scenario):
    server = raw_server(lambda r: plain({
        "results": [{"index": 0, "relevance_score": 0.5}],
        "usage": {"prompt_tokens": 5, "total_tokens": 5}}))
    case = scenario(asking("{ endpoint = 'rerank', prompt = 'q', "
                           "documents = { 'a', 'b' }, top_n = 1 }"))
    r = stoke.load(server.url, case, "-n", 1)
    assert r.outcomes == {"ok": 1} and r.json["total_input_tokens"] == 5
    assert server.requests[0].path == "/v1/rerank"
    assert server.requests[0].body == (
        b'{"documents":["a","b"],"model":"m","query":"q","top_n":1}')


def test_an_answer_without_results_failed(stoke, raw_server, scenario):
    server = raw_server(lambda r: plain({"error": {"message": "no such head"}}))
    case = scenario(asking("{ endpoint = 'embeddings', prompt = 'q' }"))
    r = stoke.load(server.url, case, "-n", 1, code=1)
    assert r.outcomes == {"api_error": 1}


TGI = """\
return {
  path = "/generate_stream",
  body = { prompt = "inputs", max_tokens = "parameters.max_new_tokens" },
  dialect = {
    stream = {
      { "token.text", "content" },
      { "details.generated_tokens", "completion_tokens" },
      { "details.finish_reason", "finish" },
    },
  },
}
"""


@pytest.mark.asan
@pytest.mark.parametrize("threads", [1, 3])
def test_ten_lines_in_a_folder(stoke, raw_server, scenario, threads):
    events = [
        {"token": {"text": "one "}}, {"token": {"text": "two"}},
        {"token": {"text": "."}, "details": {"generated_tokens": 3,
                                             "finish_reason": "length"}}]
    body = b"".join(b"data:%s\n\n" % json.dumps(e).encode() for e in events)
    server = raw_server(lambda r: [
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        b"content-length: %d\r\n\r\n" % len(body), 0.02, body])
    scenario(TGI, "backends/tgi.lua")
    case = scenario("""return {
      request = function() return { endpoint = "tgi", prompt = "hi", max_tokens = 3 } end,
      on_response = function(r) return r.text == "one two.", r.text end,
    }""")
    r = stoke.load(server.url, case, "-n", 6, "-c", 3, "--threads", threads)
    assert r.outcomes == {"ok": 6} and r.json["total_output_tokens"] == 18
    assert {q["finish_reason"] for q in r.requests} == {"length"}
    assert r.json["backend"] == "tgi"
    for request in server.requests:
        assert request.path == "/generate_stream" and request.body == (
            b'{"inputs":"hi","parameters":{"max_new_tokens":3}}')


def test_mistakes_are_told_before_the_run(stoke, raw_server, scenario):
    server = raw_server(lambda r: plain({}))
    case = scenario("""return {
      backends = { foo = { path = "x", body = "chat", dialect = { stream = {
        { "a..b", "content" }, { "text", "contnt" } } } } },
      request = function() return { prompt = "hi" } end }""")
    r = stoke.load(server.url, case, "-n", 1, code=2)
    for said in ("path must be", '"a..b"', "did you mean content"):
        assert said in r.err
    r = stoke.load(server.url, "-n", 1, "--endpoint", "antropic", code=2)
    assert "did you mean anthropic?" in r.err
    assert not server.requests


PNG = "data:image/png;base64,iVBORw0K"
PDF = "data:application/pdf;base64,JVBERi0x"
MESSAGES = f"""{{
  {{ role = "system", content = "be brief" }},
  {{ role = "user", content = {{
    {{ type = "text", text = "look" }},
    {{ type = "image_url", image_url = {{ url = "{PNG}", detail = "low" }} }},
    PART
  }} }},
  {{ role = "assistant", content = stoke.json.null, tool_calls = {{
    {{ id = "c1", type = "function",
       ["function"] = {{ name = "find", arguments = '{{"q":1}}' }} }} }} }},
  {{ role = "tool", tool_call_id = "c1", content = {{
    {{ type = "text", text = "found" }} }} }},
  {{ role = "assistant", content = {{ {{ type = "text", text = "so" }} }} }},
  {{ role = "user", content = "and?" }},
}}"""
CALL = {"name": "find", "arguments": {"q": 1}}


@pytest.mark.asan
@pytest.mark.parametrize("endpoint, part, expected", [
    ("anthropic",
     f'{{ type = "file", file = {{ filename = "a.pdf", file_data = "{PDF}" }} }},'
     '{ type = "image_url", image_url = { url = "https://x.test/a.png" } }',
     {"system": "be brief", "messages": [
         {"role": "user", "content": [
             {"type": "text", "text": "look"},
             {"type": "image", "source": {
                 "type": "base64", "media_type": "image/png",
                 "data": "iVBORw0K"}},
             {"type": "document", "title": "a.pdf", "source": {
                 "type": "base64", "media_type": "application/pdf",
                 "data": "JVBERi0x"}},
             {"type": "image", "source": {
                 "type": "url", "url": "https://x.test/a.png"}}]},
         {"role": "assistant", "content": [
             {"type": "tool_use", "id": "c1", "name": "find",
              "input": {"q": 1}}]},
         {"role": "user", "content": [
             {"type": "tool_result", "tool_use_id": "c1", "content": [
                 {"type": "text", "text": "found"}]}]},
         {"role": "assistant", "content": [{"type": "text", "text": "so"}]},
         {"role": "user", "content": "and?"}]}),
    ("responses",
     f'{{ type = "file", file = {{ filename = "a.pdf", file_data = "{PDF}" }} }},'
     '{ type = "input_audio", input_audio = { data = "AAAA", format = "wav" } }',
     {"input": [
         {"role": "system", "content": "be brief"},
         {"role": "user", "content": [
             {"type": "input_text", "text": "look"},
             {"type": "input_image", "image_url": PNG, "detail": "low"},
             {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
             {"type": "input_audio",
              "input_audio": {"data": "AAAA", "format": "wav"}}]},
         {"type": "function_call", "call_id": "c1", "name": "find",
          "arguments": '{"q":1}'},
         {"type": "function_call_output", "call_id": "c1", "output": [
             {"type": "input_text", "text": "found"}]},
         {"role": "assistant", "content": [
             {"type": "output_text", "text": "so"}]},
         {"role": "user", "content": "and?"}]}),
    ("ollama", '{ type = "text", text = "closely" }',
     {"messages": [
         {"role": "system", "content": "be brief"},
         {"role": "user", "content": "look\nclosely", "images": ["iVBORw0K"]},
         {"role": "assistant", "content": "", "tool_calls": [
             {"function": CALL}]},
         {"role": "tool", "content": "found", "tool_name": "find",
          "tool_call_id": "c1"},
         {"role": "assistant", "content": "so"},
         {"role": "user", "content": "and?"}]}),
], ids=["anthropic", "responses", "ollama"])
def test_parts_and_calls(stoke, mock, scenario, endpoint, part, expected):
    """A chat's messages in the shapes of other APIs."""
    server = mock("--ttft", "1ms", "--itl", "1ms", "--log-bodies")
    case = scenario(asking("{ endpoint = '%s', messages = %s }" % (
        endpoint, MESSAGES.replace("PART", part))))
    r = stoke.load(server.url, case, "-n", 1)
    assert r.outcomes == {"ok": 1}
    body = json.loads(server.stop()[-1]["body"])
    assert {name: body[name] for name in expected} == expected


@pytest.mark.parametrize("endpoint, messages, why", [
    ("anthropic", '{ { type = "video_url", video_url = { url = "x" } } }',
     "anthropic: there is no place for a part video_url"),
    ("anthropic", '{ { type = "input_audio", input_audio = { data = "" } } }',
     "anthropic: there is no place for a part input_audio"),
    ("anthropic", '{ { type = "image_url", image_url = { url = "a.png" } } }',
     "anthropic: an image must be a data: URL in base64, or http(s)://"),
    ("anthropic", '{ { type = "file", file = { '
     'file_data = "data:text/plain;base64,AA" } } }',
     "anthropic: a file must be a PDF, not text/plain"),
    ("responses", '{ { type = "video_url", video_url = { url = "x" } } }',
     "responses: user: there is no place for a part video_url"),
    ("responses", '{ { type = "image_url", image_url = "x" } }',
     "a part image_url needs image_url = {"),
    ("ollama", '{ { type = "image_url", image_url = { url = "http://x" } } }',
     "ollama: an image must be a data: URL in base64"),
    ("ollama", '{ { type = "file", file = { file_id = "x" } } }',
     "ollama: there is no place for a part file"),
    ("ollama", '{ { type = "thing" } }',
     "ollama: there is no place for a part thing"),
    ("ollama", '{ { text = "x" } }', "a part of messages needs a type"),
])
def test_parts_without_a_place(stoke, raw_server, scenario, endpoint, messages,
                               why):
    server = raw_server(lambda r: plain({}))
    case = scenario(asking("{ endpoint = '%s', messages = { { role = 'user', "
                           "content = %s } } }" % (endpoint, messages)))
    r = stoke.load(server.url, case, "-n", 1, code=1)
    assert r.outcomes == {"script": 1} and why in r.err
    assert not server.requests


# ---- against the mock, whose log is the truth ----

TEXTUAL = ["responses", "anthropic", "ollama", "ollama_generate"]


def asked(scenario, endpoint, more=""):
    return scenario(f"""return {{ request = function()
        return {{ endpoint = "{endpoint}", prompt = "a b c d", max_tokens = 6 {more} }}
      end, on_response = function(r)
        if not r.ok then return end
        stoke.record("words", select(2, r.text:gsub("%S+", "")))
        stoke.record("thoughts", select(2, r.reasoning:gsub("%S+", "")))
      end, metrics = {{ words = "counter", thoughts = "counter" }} }}""")


@pytest.mark.asan
@pytest.mark.parametrize("endpoint", TEXTUAL)
@pytest.mark.parametrize("stream", [True, False])
@stalls_spoil_a_try
def test_mock_figures(stoke, mock, scenario, endpoint, stream):
    server = mock("--ttft", "30ms", "--itl", "5ms", "--cached", "0.5",
                  "--fault", "reasoning:2")
    case = asked(scenario, endpoint, "" if stream else ", stream = false")
    r = stoke.load(server.url, case, "-n", 8, "-c", 4)
    assert r.outcomes == {"ok": 8}
    assert r.json["total_input_tokens"] == 32
    assert r.json["total_output_tokens"] == 48
    assert r.stoke["custom"]["words"]["sum"] == 8 * 4
    assert r.stoke["custom"]["thoughts"]["sum"] == 8 * 2
    truth = {q["number"]: q for q in server.log}
    for q in r.requests:
        assert q["prompt_tokens"] == 4 and q["tokens"] == 6
        assert q["chunks"] == (6 if stream else 0)
        if not endpoint.startswith("ollama"):
            assert q["cached_tokens"] == 2
        assert q["finish_reason"] in (
            "length", "max_tokens", "max_output_tokens", "incomplete")
        assert (q["ttft_ms"] is not None) == stream
    if stream:
        assert all(q["events"] == 6 for q in truth.values())
        assert r.json["median_ttft_ms"] >= 30
        timely(r.json["median_ttft_ms"] < 60, r)


@pytest.mark.parametrize("endpoint", ["responses", "anthropic"])
@pytest.mark.parametrize("stream", ["true", "false"])
def test_mock_tool_calls(stoke, mock, scenario, endpoint, stream):
    server = mock("--ttft", "1ms", "--itl", "1ms", "--tokens", "9",
                  "--fault", "tool-calls:2")
    case = scenario(f"""return {{
      request = function()
        return {{ endpoint = "{endpoint}", prompt = "x", stream = {stream}, tools = {{
          {{ type = "function", ["function"] = {{ name = "find" }} }} }} }}
      end,
      on_response = function(r)
        local calls = r.tool_calls or {{}}
        if #calls ~= 2 then return false, #calls .. " calls" end
        for _, call in ipairs(calls) do
          local arguments = stoke.json.decode(call.arguments)
          if call.name ~= "find" or #call.id == 0 or not arguments or not arguments.text then
            return false, call.name .. call.arguments
          end
        end
      end }}""")
    r = stoke.load(server.url, case, "-n", 3)
    assert r.outcomes == {"ok": 3}, r
    assert r.json["total_output_tokens"] == 27


@pytest.mark.parametrize("endpoint", TEXTUAL)
@pytest.mark.parametrize("fault, outcomes", [
    ("cut:3", {"truncated"}), ("error:2", {"api_error"}),
    ("status:429", {"rate_limited"}), ("bad-json:2", {"malformed"}),
    ("no-finish", {"truncated"}), ("json-error", {"api_error"})])
def test_mock_faults(stoke, mock, scenario, endpoint, fault, outcomes):
    server = mock("--ttft", "1ms", "--itl", "1ms", "--fault", fault)
    r = stoke.load(server.url, asked(scenario, endpoint), "-n", 2, code=1)
    assert set(r.outcomes) == outcomes, r


def test_mock_keys(stoke, mock, scenario):
    """Anthropic's key has a header of its own."""
    server = mock("--ttft", "1ms", "--itl", "1ms", "--api-key", "sesame")
    for endpoint in ("anthropic", "responses"):
        case = asked(scenario, endpoint)
        r = stoke.load(server.url, case, "-n", 1,
                       env={"OPENAI_API_KEY": "sesame"})
        assert r.outcomes == {"ok": 1}
        r = stoke.load(server.url, case, "-n", 1, code=1,
                       env={"OPENAI_API_KEY": "wrong"})
        assert r.outcomes == {"auth": 1}


@pytest.mark.parametrize("table, tokens", [
    ('endpoint = "embeddings", prompt = { "a b", "c" }', 3),
    ('endpoint = "embeddings", prompt = "a b", dimensions = 3', 2),
    ('endpoint = "rerank", prompt = "q", documents = { "a b", "c d" }', 5),
    ('endpoint = "/rerank", prompt = "q", documents = { "a" }', 2)])
@stalls_spoil_a_try
def test_mock_pooling(stoke, mock, scenario, table, tokens):
    server = mock("--ttft", "20ms")
    r = stoke.run("-u", server.url, scenario(asking("{" + table + "}")),
                  "-n", 6, "-c", 3)
    assert r.outcomes == {"ok": 6}
    assert r.json["total_input_tokens"] == 6 * tokens
    assert "usage" not in r.err  # the pre-flight misses nothing
    assert r.json["median_e2el_ms"] >= 20
    timely(r.json["median_e2el_ms"] < 50, r)


# ---- against a server that nobody here wrote ----


@pytest.mark.parametrize("endpoint", ["responses", "anthropic", "ollama",
                                      "ollama_generate"])
@stalls_spoil_a_try
def test_aimock(stoke, aimock, scenario, endpoint):
    server = aimock(FIXTURES, "-c", 8, "-l", 10)
    case = scenario(f"""return {{
      request = function()
        return {{ endpoint = "{endpoint}", prompt = "hello", max_tokens = 99 }}
      end,
      on_response = function(r) return r.text == {json.dumps(TEXT)}, r.text end,
    }}""")
    r = stoke.run("-u", server.url, "-m", "gpt-4o", case, "-n", 4)
    assert r.outcomes == {"ok": 4}
    pieces = -(-len(TEXT) // 8)
    assert all(q["chunks"] == pieces for q in r.requests)
    timely(8 < r.json["median_itl_ms"] < 60, r)


@pytest.mark.parametrize("endpoint", ["responses", "anthropic", "ollama"])
def test_aimock_tool_calls(stoke, aimock, scenario, endpoint):
    """Tools and calls go out and come back as a chat's."""
    server = aimock([
        {"match": {"userMessage": "tool"},
         "response": {"toolCalls": [{"name": "get_weather",
                                     "arguments": {"city": "Oslo"}}]}}])
    case = scenario(f"""return {{
      request = function()
        return {{ endpoint = "{endpoint}", prompt = "tool", tools = {{
          {{ type = "function", ["function"] = {{ name = "get_weather",
            parameters = {{ type = "object" }} }} }} }} }}
      end,
      on_response = function(r)
        local call = r.tool_calls and r.tool_calls[1]
        if not call then return false, "no call" end
        return call.name == "get_weather"
          and call.arguments:find("Oslo") ~= nil, call.arguments
      end }}""")
    r = stoke.run("-u", server.url, "-m", "gpt-4o", case, "-n", 2)
    assert r.outcomes == {"ok": 2}


@pytest.mark.parametrize("endpoint", ["responses", "anthropic", "ollama"])
def test_aimock_parts(stoke, aimock, scenario, endpoint):
    """It finds a chat's text in the parts, and the call that a tool answers
    (which Ollama's API has no id for)."""
    server = aimock([
        {"match": {"toolCallId": "c1"}, "response": {"content": "found"}},
        {"match": {"userMessage": "look"}, "response": {"content": "seen"}}])
    case = scenario(f"""return {{ session = function(s)
        local messages = {{
          {{ role = "user", content = {{ {{ type = "text", text = "look" }},
            {{ type = "image_url", image_url = {{ url = "{PNG}" }} }} }} }} }}
        local function says(text)
          local r = s:request {{ endpoint = "{endpoint}", messages = messages }}
          if r.text ~= text then s:fail(r.error or r.text) end
        end
        says "seen"
        messages[2] = {{ role = "assistant", tool_calls = {{ {{ id = "c1",
          type = "function", ["function"] = {{ name = "f", arguments = "{{}}" }} }} }} }}
        messages[3] = {{ role = "tool", tool_call_id = "c1", content = {{
          {{ type = "text", text = "it" }} }} }}
        says "{'seen' if endpoint == 'ollama' else 'found'}"
      end }}""")
    r = stoke.run("-u", server.url, "-m", "gpt-4o", case, "--num-sessions", 1)
    assert r.outcomes == {"ok": 2}
    assert r.stoke["sessions"]["completed"] == 1, r


def test_aimock_embeddings(stoke, aimock, scenario):
    case = scenario(asking("{ endpoint = 'embeddings', prompt = 'x' }"))
    server = aimock([{"match": {}, "response": {"embedding": [0.5, 0.25]}}])
    r = stoke.run("-u", server.url, "-m", "gpt-4o", case, "-n", 2)
    assert r.outcomes == {"ok": 2}
