"""The ready scenarios about users: what they send, as the server got it."""

import json

import pytest
from harness.raw import delta, stream, text, usage, whole
from harness.stalls import stalls_spoil_a_try, timely

pytestmark = pytest.mark.asan


def messages(server):
    return [q.json["messages"] for q in server.requests
            if q.path.startswith("/v1/chat")]


def roles(list_of_messages):
    return [m["role"] for m in list_of_messages]


def tool_call(index, id):
    return delta(None, tool_calls=[{
        "index": index, "id": id, "type": "function",
        "function": {"name": "search", "arguments": '{"query":"x"}'}}])


def agent_server(request):
    """Two calls at first, then an answer."""
    last = request.json["messages"][-1]
    if last["role"] == "tool":
        return stream(text("a plan"), delta("stop"), usage(9, 2))
    return stream(tool_call(0, "c1"), tool_call(1, "c2"),
                  delta("tool_calls"), usage(5, 8))


def test_agent(stoke, raw_server):
    server = raw_server(agent_server)
    r = stoke.load(server.url, "agent", "--num-sessions", 4, "-c", 2, "-P",
                   "tool_latency=constant(10ms)")
    assert r.outcomes == {"ok": 8}
    sent = messages(server)
    first = [m for m in sent if len(m) == 2]
    second = [m for m in sent if len(m) == 5]
    assert len(first) == len(second) == 4
    for m in second:
        assert m[:2] in first
        assert roles(m) == ["system", "user", "assistant", "tool", "tool"]
        assert [c["id"] for c in m[2]["tool_calls"]] == ["c1", "c2"]
        assert [t["tool_call_id"] for t in m[3:]] == ["c1", "c2"]
        assert json.loads(m[3]["content"])["ok"] is True
    assert all(q.json["tools"][0]["function"]["name"] == "search"
               for q in server.requests)
    custom = r.stoke["custom"]
    assert custom["tool_calls"]["sum"] == 8
    assert custom["finished"]["rate"] == 1
    assert r.stoke["sessions"]["completed"] == 4


def test_agent_fans_out_and_joins(stoke, raw_server):
    server = raw_server(agent_server)
    r = stoke.load(server.url, "agent", "--num-sessions", 1, "-P", "agents=3",
                   "-P", "tool_latency=constant(10ms)")
    # Plan, three sub-agents, the join: two model calls each.
    assert r.outcomes == {"ok": 10}
    assert len({q["branch"] for q in r.requests}) == 4
    parts = [m for m in messages(server) if m[-1]["content"].startswith(
        "You are agent")]
    assert len(parts) == 3 and all(len(m) == 7 for m in parts)
    (join,) = [m for m in messages(server)
               if m[-1]["content"].startswith("Put this")]
    assert join[-1]["content"] == "Put this together:\n" + "\n".join(
        3 * ["a plan"])
    assert join[:6] == parts[0][:6]


def test_agent_gives_up_after_so_many_turns(stoke, raw_server):
    server = raw_server(lambda r: stream(tool_call(0, "c"),
                                         delta("tool_calls")))
    r = stoke.load(server.url, "agent", "--num-sessions", 1, "-P", "turns=3",
                   "-P", "tool_latency=constant(1ms)")
    assert r.outcomes == {"ok": 3}
    assert r.stoke["custom"]["finished"]["rate"] == 0


def test_agent_against_aimock(stoke, aimock):
    """Tool calls of a server that nobody here wrote."""
    server = aimock([
        {"match": {"toolCallId": "call_1"},
         "response": {"content": "It will rain."}},
        {"match": {}, "response": {"toolCalls": [
            {"id": "call_1", "name": "search",
             "arguments": '{"query":"weather"}'}]}}])
    r = stoke.run("-u", server.url, "-m", "gpt-4o", "agent",
                  "--num-sessions", 3, "-P", "tool_latency=constant(5ms)")
    assert r.outcomes == {"ok": 6}
    assert {q["turn"]: q["finish_reason"] for q in r.requests} == {
        1: "tool_calls", 2: "stop"}
    assert r.stoke["custom"]["tool_calls"]["sum"] == 3


@pytest.mark.parametrize("peak, slack, recovers", [
    (100, 1000, True), (400, 1, False)])
@stalls_spoil_a_try
def test_spike(stoke, mock, peak, slack, recovers):
    """Two slots serve 95 a second: some of a spike of 400 wait 3 s more."""
    m = mock("--slots", 2, "--ttft", "20ms", "--itl", "1ms")
    r = stoke.load(m.url, "spike", "-P", "base=10", "-P", f"peak={peak}",
                   "-P", "calm=1s", "-P", "length=1s", "-P",
                   "window=300ms", "-P", "patience=600ms", "-P",
                   f"slack={slack}", "-P", "max_tokens=2", "--drain", "10s")
    labels = [s["label"] for s in r.stoke["stages"]]
    assert labels[:2] == ["before", "spike"] and set(labels[2:]) == {"after"}
    told = r.stoke["custom"]["spike"]
    assert told["ttft_p95_before_ms"] >= 20
    recovered = told["recovered_after_s"] is not None
    assert ("Recovered within" in r.out) == recovered, r
    assert ("Not recovered" in r.out) == (not recovered), r
    timely(recovered == recovers, r)
    if recovers:
        assert told["recovered_after_s"] > 0
    else:
        timely(told["ttft_p95_spike_ms"] > told["ttft_p95_before_ms"], told)


def test_a_spike_that_a_limit_ends(stoke, mock):
    m = mock("--ttft", "5ms", "--itl", "1ms")
    r = stoke.load(m.url, "spike", "-d", "0.5")
    assert "script error" not in r.err
    assert r.stoke["stop_reason"] == "duration"


def rag_server(request):
    if request.path == "/search":
        return [whole({"hits": [1]})]
    return stream(text("yes"), delta("stop"), usage(3, 1))


def test_rag(stoke, raw_server):
    server = raw_server(rag_server)
    r = stoke.load(server.url, "rag", "--num-sessions", 20, "-c", 4, "-P",
                   "search=/search", "-P", "words=50", "-P", "documents=3")
    assert r.outcomes == {"ok": 20}
    assert r.stoke["http"]["search"]["count"] == 20
    searches = [q.json for q in server.requests if q.path == "/search"]
    questions = [m[1]["content"] for m in messages(server)]
    assert sorted(q["query"] for q in searches) == sorted(questions)
    assert len(set(questions)) == 20
    systems = {m[0]["content"] for m in messages(server)}
    assert 1 < len(systems) <= 3
    numbers = {s.split("Document ")[1].split(".")[0] for s in systems}
    assert len(numbers) == len(systems)


def test_rag_without_its_search(stoke, raw_server):
    server = raw_server(lambda r: [whole({"error": {"message": "down"}},
                                         "503 Busy")])
    r = stoke.load(server.url, "rag", "--num-sessions", 2, "-P",
                   "search=/search", code=1)
    assert r.stoke["sessions"]["failed"] == 2
    assert not messages(server) and r.stoke["custom"]["retrieved"]["rate"] == 0


def test_impatient(stoke, raw_server):
    server = raw_server(lambda r: stream(
        *[p for i in range(20) for p in (text(f"{i} "), 0.02)],
        delta("stop")))
    r = stoke.load(server.url, "impatient", "--num-sessions", 40, "-c", 40,
                   "-P", "patience=constant(50ms)", "-P",
                   "reads=constant(4)", code=None)
    assert set(r.outcomes) == {"ok", "cancelled"}
    kinds = {"hasty": [], "skimmer": [], "patient": []}
    for q in r.requests:
        kinds[q["tags"]["user"]].append(q)
    assert all(kinds.values())
    assert {q["outcome"] for q in kinds["patient"]} == {"ok"}
    assert {q["chunks"] for q in kinds["skimmer"]} == {4}
    assert {q["outcome"] for q in kinds["hasty"]} == {"cancelled"}
    share = len(kinds["hasty"] + kinds["skimmer"]) / 40
    assert r.stoke["custom"]["gave_up"]["rate"] == pytest.approx(share)


def test_x16_prefix_cache(stoke, raw_server):
    server = raw_server(lambda r: stream(
        text("x"), delta("stop"),
        usage(100, 1, prompt_tokens_details={"cached_tokens": 40})))
    r = stoke.load(server.url, "prefix_cache", "-c", 3, "-d", 60, "-P",
                   "prefixes=3", "-P", "reuse=4", "-P", "words=40",
                   "--threads", 2)
    assert r.outcomes == {"ok": 12}
    systems = [m[0]["content"] for m in messages(server)]
    assert len(set(systems)) == 3
    assert all(systems.count(s) == 4 for s in set(systems))
    assert len({m[1]["content"] for m in messages(server)}) == 12
    assert sorted(q["tags"]["use"] for q in r.requests) == sorted(
        3 * ["first"] + 9 * ["again"])
    assert r.stoke["custom"]["cached_share"]["mean"] == pytest.approx(0.4)
    assert r.stoke["tokens"]["cached"] == 480


def test_b165_the_warm_up_warms_no_prefix(stoke, raw_server):
    server = raw_server(lambda r: stream(text("x"), delta("stop"),
                                         usage(9, 1)))
    stoke.load(server.url, "prefix_cache", "-c", 1, "-n", 4, "--warmup", 2,
               "-P", "prefixes=2", "-P", "reuse=2", "-P", "words=40")
    systems = [m[0]["content"] for m in messages(server)]
    assert len(systems) == 6 and len(set(systems[2:])) == 2
    assert not set(systems[:2]) & set(systems[2:])


@stalls_spoil_a_try
def test_prefix_cache_shows_in_ttft(stoke, mock):
    """A server with a real prefix cache answers the second use sooner."""
    server = mock("--prefix-cache", 1 << 20, "--prefill", "100us", "--ttft",
                  "1ms", "--itl", "1ms", "--slots", 4)
    r = stoke.load(server.url, "prefix_cache", "-c", 1, "-d", 60, "-P",
                   "prefixes=4", "-P", "reuse=3", "-P", "words=2000")

    def ttfts(use):
        return [q["ttft_ms"] for q in r.requests if q["tags"]["use"] == use]

    assert len(ttfts("first")) == 4 and len(ttfts("again")) == 8
    assert min(ttfts("first")) > 200
    timely(2 * max(ttfts("again")) < min(ttfts("first")), r)
