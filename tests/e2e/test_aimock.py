"""Against @copilotkit/aimock, an OpenAI-like server that nobody here wrote."""

import json

import pytest
from harness.stalls import stalls_spoil_a_try, timely

TEXT = "Hello there, this is what the fixture says, in a few small pieces."
FIXTURES = [
    {"match": {"userMessage": "tool"},
     "response": {"toolCalls": [{"name": "get_weather",
                                 "arguments": {"city": "Oslo"}}]}},
    {"match": {}, "response": {"content": TEXT}},
]


@pytest.fixture
def scenario(tmp_path):
    def write(lua):
        (tmp_path / "case.lua").write_text("return { " + lua + " }")
        return "case.lua"

    return write


@pytest.mark.asan
@stalls_spoil_a_try
def test_streamed_chat(stoke, aimock, scenario):
    server = aimock(FIXTURES, "-c", 8, "-l", 10)
    case = scenario(f"""
        request = function() return {{ prompt = "hello" }} end,
        on_response = function(r) return r.text == {json.dumps(TEXT)} end""")
    r = stoke.run("-u", server.url, "-m", "gpt-4o", case, "-n", 20, "-c", 4)
    assert r.outcomes == {"ok": 20}
    pieces = -(-len(TEXT) // 8)
    for q in r.requests:
        assert q["chunks"] == pieces and len(q["itl_ms"]) == pieces - 1
        assert q["finish_reason"] == "stop"
    timely(8 < r.json["median_itl_ms"] < 60, r)


def test_plain_chat(stoke, aimock):
    r = stoke.run("-u", aimock(FIXTURES).url + "/v1", "-m", "gpt-4o", "-n", 5,
                  "--no-stream")
    assert r.outcomes == {"ok": 5} and r.json["mean_ttft_ms"] is None
    assert r.json["total_output_tokens"] > 0


def test_a_path_it_lacks(stoke, aimock):
    """It has no completions endpoint; the pre-flight says so."""
    r = stoke.run("-u", aimock(FIXTURES).url, "-m", "gpt-4o", "completions",
                  "-n", 5, code=1)
    assert "404" in r.err and "/v1/completions" in r.err


def test_tool_call(stoke, aimock, scenario):
    case = scenario("""
        request = function() return { prompt = "tool" } end,
        on_response = function(r)
          local call = r.tool_calls and r.tool_calls[1]
          if not call then return false, "no call" end
          return call.name == "get_weather"
            and call.arguments:find("Oslo") ~= nil, call.arguments
        end""")
    r = stoke.run("-u", aimock(FIXTURES).url, "-m", "gpt-4o", case, "-n", 3)
    assert r.outcomes == {"ok": 3}
    assert all(q["ttft_ms"] is not None for q in r.requests)


@pytest.mark.parametrize("chaos, outcomes", [
    ("--chaos-ratelimit", {"rate_limited"}),
    ("--chaos-drop", {"http_5xx"}),
    ("--chaos-malformed", {"not_json", "malformed"}),
    ("--chaos-disconnect", {"reset", "truncated"}),
])
def test_chaos_is_called_by_its_name(stoke, aimock, chaos, outcomes):
    server = aimock(FIXTURES, chaos, 1)
    r = stoke.load(server.url, "-n", 4, code=1)
    assert set(r.outcomes) <= outcomes and r.json["failed"] == 4, r


def test_no_fixture_is_the_servers_own_words(stoke, aimock):
    server = aimock(FIXTURES[:1])
    r = stoke.load(server.url, "-n", 1, code=1)
    (error,) = r.stoke["errors"]
    assert error["status"] == 404 and error["message"]
