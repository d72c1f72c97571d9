"""s:conversation: what stands in the messages of every turn, byte for byte."""

import json

import pytest
from harness.raw import delta, stream, text, usage, whole
from harness.stalls import stalls_spoil_a_try, timely

pytestmark = pytest.mark.asan


def call(index, name, arguments, id):
    return delta(None, tool_calls=[{
        "index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}}])


@pytest.fixture
def talk(stoke, raw_server, tmp_path):
    """talk(body, answer): one session; gives the messages of each turn."""

    def go(body, answer=None, *flags, code=0, setup=""):
        answer = answer or (lambda r: stream(
            text(f"L{r.index + 1}"), delta("stop"), usage(3, 2)))
        server = raw_server(answer)
        (tmp_path / "case.lua").write_text(
            "return { " + setup + " session = function(s)\n" + body
            + "\nend }")
        r = stoke.load(server.url, "case.lua", "--num-sessions", 1, *flags,
                       code=code)
        r.server = server
        r.bodies = [q.body for q in server.requests]
        r.turns = [q.json["messages"] for q in server.requests]
        return r

    return go


def user(content):
    return {"role": "user", "content": content}


def said(content):
    return {"role": "assistant", "content": content}


SYSTEM = {"role": "system", "content": "S"}


def test_b170_system_once_and_live_history(talk):
    r = talk("""
    local chat = s:conversation { system = "S", max_tokens = 7 }
    chat:ask("one")
    local r = chat:ask("two", { max_tokens = 9 })
    assert(r.text == "L2" and #chat.messages == 5 and chat.turn == 2)
    chat:add("user", "three")
    chat:continue { temperature = 0 }""")
    a, b, c = r.turns
    assert a == [SYSTEM, user("one")]
    assert b == a + [said("L1"), user("two")]
    assert c == b + [said("L2"), user("three")]
    assert [q.json["max_tokens"] for q in r.server.requests] == [7, 9, 7]
    assert r.server.requests[2].json["temperature"] == 0


def test_b005_text_returns_as_it_came(talk):
    odd = "\u4f60\u597d \U0001f600 \"quoted\" \\ \n\ttab \u2028 end"
    r = talk("""
    local chat = s:conversation {}
    chat:ask("one") chat:ask("two")""",
             lambda r: stream(*[text(c) for c in odd], delta("stop")))
    assert r.turns[1][1]["content"] == odd


def test_tool_calls_and_their_answers(talk):
    def answer(request):
        if request.index:
            return stream(text("done"), delta("stop"))
        return stream(call(0, "look", '{"a":', "c1"),
                      call(1, "find", '{"b":2}', "c2"),
                      delta(None, tool_calls=[
                          {"index": 0, "function": {"arguments": "1}"}}]),
                      delta("tool_calls"), usage(3, 9))

    r = talk("""
    local chat = s:conversation { tools = { { type = "function",
      ["function"] = { name = "look" } } } }
    local r = chat:ask("go")
    assert(#r.tool_calls == 2 and r.finish_reason == "tool_calls")
    for _, call in ipairs(r.tool_calls) do
      chat:tool(call.id, { ok = call.name })
    end
    assert(chat:continue().text == "done")""", answer)
    assert r.turns[1] == [
        user("go"),
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "look", "arguments": '{"a":1}'}},
            {"id": "c2", "type": "function",
             "function": {"name": "find", "arguments": '{"b":2}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"ok":"look"}'},
        {"role": "tool", "tool_call_id": "c2", "content": '{"ok":"find"}'}]
    assert all(q.json["tools"][0]["function"] == {"name": "look"}
               for q in r.server.requests)


def test_calls_without_ids_get_some(talk):
    """Two answers to two calls without a name could not be told apart."""
    def answer(request):
        if request.index:
            return stream(text("done"), delta("stop"))
        return stream(call(0, "look", "{}", None), call(1, "find", "{}", ""),
                      delta("tool_calls"), usage(3, 9))

    r = talk("""
    local chat = s:conversation {}
    local r = chat:ask("go")
    chat:tool(r.tool_calls[2].id, "two")
    chat:tool(r.tool_calls[1].id, "one")
    chat:continue()""", answer)
    _, asked, two, one = r.turns[1]
    ids = [c["id"] for c in asked["tool_calls"]]
    assert len(set(ids)) == 2 and all(ids)
    assert [one["tool_call_id"], two["tool_call_id"]] == ids


def test_anthropics_system_has_parts_and_its_calls_objects(talk):
    """[1] and half an object are no arguments there."""
    r = talk("""
    local chat = s:conversation {
      system = { { type = "text", text = "S" } } }
    chat:add("user", "go")
    chat:add { role = "assistant", tool_calls = {
      { id = "a", type = "function", ["function"] = {
        name = "f", arguments = "[1]" } },
      { id = "b", type = "function", ["function"] = {
        name = "g", arguments = '{"x":' } },
      { id = "c", type = "function", ["function"] = {
        name = "h", arguments = '{"x":1}' } } } }
    chat:continue()""", lambda r: [whole({})], "--endpoint", "anthropic",
             code=1)
    body = r.server.requests[0].json
    assert body["system"] == [{"type": "text", "text": "S"}]
    assert [block["input"] for block in body["messages"][1]["content"]] == [
        {}, {}, {"x": 1}]


def test_forgotten_calls_take_their_answers_along(talk):
    def answer(request):
        if request.index:
            return stream(text("done"), delta("stop"))
        return stream(call(0, "look", "{}", "c1"), call(1, "find", "{}", "c2"),
                      delta("tool_calls"), usage(3, 9))

    r = talk("""
    local chat = s:conversation { system = "S" }
    chat:ask("go")
    chat:tool("c1", "one") chat:tool("c2", "two")
    chat:continue()
    chat:forget(2)
    chat:ask("and")""", answer)
    assert r.turns[2] == [SYSTEM, said("done"), user("and")]


def test_recorded_talks_begin_and_end_as_they_like(talk):
    """Nobody asked for the greeting, and the second of two answers counts; a
    system's message may stand anywhere."""
    r = talk("""
    local chat = s:conversation { history = "recorded", messages = {
      { role = "assistant", content = "hi" },
      { role = "user", content = "one" },
      { role = "assistant", content = "R0" },
      { role = "assistant", content = "R1" },
      { role = "system", content = "S" },
      { role = "user", content = "two" },
      { role = "user", content = "three" } } }
    assert(chat:left() == 2)
    while chat:next() do end""")
    assert r.turns == [
        [user("one")],
        [user("one"), said("R1"), SYSTEM, user("two"), user("three")]]


RECORDED = """
local chat = s:conversation { history = "%s", system = "S", turns = {
  { messages = { { role = "user", content = "one" } },
    answer = { role = "assistant", content = "R1" } },
  { prompt = "two", reference = "R2" },
  "three" } }
s:plan(chat:left())
while chat:next() do end
assert(chat:next() == nil and chat:left() == 0)"""


def test_b172_recorded_bodies_are_the_same_in_every_run(talk):
    a = talk(RECORDED % "recorded")
    b = talk(RECORDED % "recorded", lambda r: stream(
        text("something else"), delta("stop")))
    assert a.bodies == b.bodies
    assert a.turns[2] == [SYSTEM, user("one"), said("R1"), user("two"),
                          said("R2"), user("three")]


def test_b172_live_bodies_hold_what_was_said(talk):
    r = talk(RECORDED % "live")
    assert r.turns[2] == [SYSTEM, user("one"), said("L1"), user("two"),
                          said("L2"), user("three")]


def test_b172_recorded_goes_on_after_a_failure(talk):
    r = talk(RECORDED % "recorded", lambda q: [whole(
        {"error": {"message": "busy"}}, "503 Busy")] if q.index == 1
        else stream(text("x"), delta("stop")))
    assert [len(t) for t in r.turns] == [2, 4, 6]
    assert r.outcomes == {"ok": 2, "http_5xx": 1}


@pytest.mark.parametrize("turns", [
    """{ { messages = { U "1" }, answer = A "a" },
         { messages = { U "2" }, answer = A "b" },
         { messages = { U "3" } } }""",
    """{ { messages = { U "1" } },
         { messages = { U "1", A "a", U "2" } },
         { messages = { U "1", A "a", U "2", A "b", U "3" } } }""",
])
def test_b166_cumulative_rows_are_not_repeated(talk, turns):
    r = talk(f"""
    local function U(t) return {{ role = "user", content = t }} end
    local function A(t) return {{ role = "assistant", content = t }} end
    local chat = s:conversation {{ history = "recorded", turns = {turns} }}
    while chat:next() do end""")
    assert [len(t) for t in r.turns] == [1, 3, 5]
    assert r.turns[2] == [user("1"), said("a"), user("2"), said("b"),
                          user("3")]


def test_b171_rounds_of_several_messages(talk):
    r = talk("""
    local calls = { { id = "c1", type = "function",
                      ["function"] = { name = "f", arguments = "{}" } },
                    { id = "c2", type = "function",
                      ["function"] = { name = "f", arguments = "{}" } } }
    local chat = s:conversation { history = "recorded", messages = {
      { role = "system", content = "S" },
      { role = "user", content = "go" },
      { role = "assistant", content = stoke.json.null, tool_calls = calls },
      { role = "tool", tool_call_id = "c1", content = "4" },
      { role = "tool", tool_call_id = "c2", content = "5" },
      { role = "assistant", content = "9" } } }
    while chat:next() do end""")
    assert [len(t) for t in r.turns] == [2, 5]
    assert r.turns[1][3:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
        {"role": "tool", "tool_call_id": "c2", "content": "5"}]
    assert r.turns[1][2]["content"] is None


@pytest.mark.parametrize("policy, second", [
    ("keep", [user("one"), said(""), user("two")]),
    ("drop", [user("one"), user("two")]),
])
def test_b162_empty_answers(talk, policy, second):
    r = talk(f"""
    local chat = s:conversation {{ empty = "{policy}" }}
    chat:ask("one") chat:ask("two")""",
             lambda q: stream(delta(None, reasoning_content="hm"),
                              delta("length"), usage(1, 1)))
    assert r.turns[1] == second


def test_x01_a_refusal_is_an_answer(talk):
    r = talk("""
    local chat = s:conversation { empty = "fail" }
    local r = chat:ask("one")
    assert(r.ok and r.text == "" and r.refusal == "I cannot", r.refusal)
    chat:ask("two")""", lambda r: stream(
        delta(None, refusal="I "), delta(None, refusal="cannot"),
        delta("stop"), usage(3, 2)))
    assert r.turns[1] == [user("one"), {
        "role": "assistant", "content": None, "refusal": "I cannot"},
        user("two")]


def test_b162_an_empty_answer_may_fail_the_session(talk):
    r = talk("""
    local chat = s:conversation { empty = "fail" }
    chat:ask("one") chat:ask("two")""",
             lambda q: stream(delta(None, reasoning_content="hm"),
                              delta("length"), usage(1, 1)), code=1)
    assert len(r.turns) == 1
    assert r.stoke["sessions"]["failed"] == 1
    assert "turn 1: the answer is empty" in json.dumps(r.stoke["sessions"])


def test_failed_turns_add_nothing(talk):
    r = talk("""
    local chat = s:conversation {}
    if not chat:ask("one").ok then chat:continue() end
    chat:ask("two")""", lambda q: [whole({"error": {"message": "busy"}},
                                         "503 Busy")] if not q.index
             else stream(text("x"), delta("stop")))
    assert r.turns == [[user("one")], [user("one")],
                       [user("one"), said("x"), user("two")]]


@stalls_spoil_a_try
def test_forks_go_their_own_ways(talk):
    r = talk("""
    local chat = s:conversation { system = "S" }
    chat:ask("one")
    s:parallel {
      function(b) b:sleep(0.01) chat:fork(b):ask("left") end,
      function(b) b:sleep(0.2) chat:fork(b):ask("right") end }
    chat:ask("two")
    chat:forget(2)
    chat:ask("three")""")
    order = [t[-1]["content"] for t in r.turns]
    timely(order.index("left") < order.index("right"), order)
    assert order == ["one", "left", "right", "two", "three"]
    assert [len(t) for t in r.turns] == [2, 4, 4, 4, 4]
    assert r.turns[4] == [SYSTEM, user("two"), said("L4"), user("three")]


def test_max_turns(talk):
    r = talk("""
    local chat = s:conversation { max_turns = 2 }
    while true do chat:ask("again") end""", code=1)
    assert len(r.turns) == 2 and r.stoke["sessions"]["failed"] == 1


@pytest.mark.parametrize("options, words", [
    ('{ history = "dead" }', "history cannot be dead"),
    ('{ turns = { 5 } }', "turn 1 is a number"),
    ('{ turns = { {} } }', "turn 1"),
    ('{ messages = { { role = "bot", content = "x" } } }', "role must be"),
    ('{ messages = { { role = "tool", content = "x" } } }', "tool_call_id"),
    ('{ messages = { { role = "user" } } }', "message 1 has no content"),
    ('{ messages = { { role = "user", content = 5 } } }', "not a number"),
    ('{ system = "a", messages = { { role = "system", content = "b" } } }',
     "stands first"),
    ('{ history = "recorded", system = "a", messages = { { role = "system", '
     'content = "b" }, { role = "user", content = "q" } } }',
     "give no other as system"),
    ('{ turns = { { prompt = "a", answer = 5 } } }', "turn 1: its answer must be"),
    ('{ turns = { { prompt = "a", answer = { role = "user", content = "b" } } '
     '} }', "turn 1: its answer must be"),
    ('{ history = "recorded", turns = { "a", "b" } }',
     'turn 1 has no recorded answer; say history = "live"'),
    ('{}:continue()', "messages is empty"),
    ('{}:ask {}', "not a table without any"),
    ('{}:ask { type = "text", text = "x" }', "not a table without any"),
    ('{}:ask { "x" }', "content[1] must be a part"),
    ('{ sytem = "a" }:ask("b")', "unknown field 'sytem'"),
    ('{ max_turns = "two" }', "max_turns must be a number"),
    ('{}:forget("all")', "keep is a number of messages, not all"),
    ('{}:forget(1.5)', "keep is a number of messages, not 1.5"),
])
def test_wrong_shapes_are_told(talk, options, words):
    r = talk(f"s:conversation {options}", code=1)
    told = next(line for line in r.err.splitlines() if words in line)
    assert "case.lua:" in told and not r.turns
