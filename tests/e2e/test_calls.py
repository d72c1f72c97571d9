"""What the reference promises of single fields and calls, as a server sees
it, where no other test comes by."""

import json

import pytest
from harness.raw import delta, stream, text, usage
from harness.stalls import stalls_spoil_a_try, timely

pytestmark = pytest.mark.asan


@pytest.fixture
def run(stoke, raw_server, tmp_path):
    """run(lua, *flags, answer=…): the table `{ lua }`; `bodies` came."""
    def go(lua, *flags, answer=None, **keywords):
        server = raw_server(answer or (lambda q: stream(
            text("a"), delta("stop"), usage(3, 1))))
        (tmp_path / "s.lua").write_text("return {\n" + lua + "\n}\n")
        r = stoke.load(server.url, "s.lua", *flags, **keywords)
        r.bodies = [q.json for q in server.requests]
        r.prompts = [b["messages"][-1]["content"] for b in r.bodies]
        return r
    return go


def test_every_field_of_a_request_has_its_place(run):
    r = run("""request = function() return {
      prompt = "x", model = "other", max_tokens = 5, min_tokens = 2, n = 2,
      temperature = 0.5, top_p = 0.9, top_k = 20, min_p = 0.1,
      presence_penalty = 0.2, frequency_penalty = 0.3, stop = { "a", "b" },
      seed = 7, logprobs = true, reasoning_effort = "low", ignore_eos = true,
      tool_choice = "none", response_format = { type = "json_object" },
      tools = { { type = "function", ["function"] = { name = "f" } } },
      extra = { priority = 1, chat_template_kwargs = { thinking = false } },
    } end""", "-n", 1)
    body = r.bodies[0]
    for name, value in {
            "model": "other", "min_tokens": 2, "n": 2, "temperature": 0.5,
            "top_p": 0.9, "top_k": 20, "min_p": 0.1, "presence_penalty": 0.2,
            "frequency_penalty": 0.3, "stop": ["a", "b"], "seed": 7,
            "logprobs": True, "reasoning_effort": "low", "ignore_eos": True,
            "tool_choice": "none", "response_format": {"type": "json_object"},
            "priority": 1, "chat_template_kwargs": {"thinking": False},
            "stream": True}.items():
        assert body[name] == value, name
    assert 5 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize("field, steps, outcome", [
    ("ttft_timeout = '100ms'", [10], "timeout_ttft"),
    ("idle_timeout = 0.1", [*stream(text("a"), 10)], "timeout_idle"),
    ("timeout = '100ms'", [10], "timeout_total"),
])
@stalls_spoil_a_try
def test_times_of_a_request(run, field, steps, outcome):
    r = run('request = function() return { prompt = "x", ' + field + " } end",
            "-n", 1, answer=lambda q: steps, code=1)
    # A stall may leave not even a connection in time.
    timely("timeout_connect" not in r.outcomes, r)
    assert r.outcomes == {outcome: 1}


ROWS = """params = { file = { type = "path", default = "rows.jsonl" } },
  setup = function(run)
    return stoke.data.open(run.params.file, { %s })
  end,
  request = function(ctx)
    local row = ctx.data:%s
    return row and { prompt = row.prompt } or nil
  end"""


@pytest.fixture
def rows(tmp_path):
    def write(*lines):
        (tmp_path / "rows.jsonl").write_text("".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n"
            for line in lines))
    return write


def test_rows_by_number(run, rows):
    rows(*({"prompt": p} for p in "abc"))
    r = run(ROWS % ("", "at(ctx.id)"), "-n", 5)
    assert r.prompts == ["a", "b", "c"]
    r = run(ROWS % ('when_exhausted = "cycle"', "at(ctx.id + 1)"), "-n", 4)
    assert r.prompts == ["b", "c", "a", "b"]
    r = run(ROWS % ("", "row(#ctx.data)"), "-n", 2)
    assert r.prompts == ["c", "c"]


def test_bad_rows_are_left_out(run, rows):
    rows({"prompt": "a"}, "{", {"text": "b"}, "", {"prompt": "c"})
    r = run(ROWS % ("skip_bad_rows = true", "next()"), "-n", 9)
    assert r.prompts == ["a", "c"] and "2 bad ones skipped" in r.err
    r = run(ROWS % ("", "next()"), "-n", 9, code=2)
    assert "rows.jsonl:2: bad JSON" in r.err
    assert 'rows.jsonl:3: no "prompt"' in r.err


def test_rows_kept_for_the_warmup(run, rows):
    rows(*({"prompt": p} for p in "abcd"))
    r = run(ROWS % ("warmup_rows = 2", "next()"), "-n", 9, "--warmup", 3)
    assert r.prompts[3:] == ["a", "b"]
    assert set(r.prompts[:3]) == {"c", "d"}


def test_times_of_a_trace(run, tmp_path):
    (tmp_path / "t.jsonl").write_text("".join(
        json.dumps({"timestamp": t, "input_length": 3, "output_length": 2})
        + "\n" for t in (5000, 5500, 7000)))
    run("""setup = function()
        local d = stoke.data.open("t.jsonl", { format = "mooncake" })
        assert(d:time(1) == 0 and d:time(2) == 0.5 and d:time(3) == 2)
        assert(d:row(3).timestamp == 2 and d:row(3).input_len == 3)
      end,
      request = function() return { prompt = "x" } end""", "-n", 1)


def test_one_at_a_time_waits_for_its_first_token(stoke, mock, tmp_path):
    m = mock("--ttft", "20ms", "--itl", "10ms")
    (tmp_path / "s.lua").write_text("""return {
      load = { request_rate = 200, max_prefill = 1, num_requests = 12 },
      request = function() return { prompt = "x", max_tokens = 6 } end }""")
    r = stoke.load(m.url, "s.lua")
    assert r.outcomes == {"ok": 12}
    log = sorted(m.stop(), key=lambda q: q["recv_ns"])
    for a, b in zip(log, log[1:]):
        assert b["recv_ns"] >= a["first_ns"]
    assert any(b["recv_ns"] < a["end_ns"] for a, b in zip(log, log[1:]))


@pytest.mark.parametrize("shape, later", [
    ("linear", 0.5), ("exponential", 0.6), ("step', steps = 2, arrival = "
                                            "'constant", 0.6)])
def test_shapes_of_a_ramp(run, shape, later):
    """More than half is sent in the second half."""
    r = run(f"""load = {{ stages = {{ {{ duration = "1s", shape = '{shape}',
        request_rate = {{ 5, 80 }} }} }} }},
      request = function() return {{ prompt = "x" }} end""")
    due = [q["due_s"] for q in r.requests]
    assert sum(t > 0.5 for t in due) > later * len(due) > 5
    assert max(due) <= 1


def test_draws_have_their_distributions(run):
    r = run("""metrics = { n = "trend", g = "trend", l = "trend", e = "trend" },
      request = function(ctx)
        local rng = ctx.rng
        for _ = 1, 50 do
          ctx:record("n", rng:normal(10, 2))
          ctx:record("g", rng:gamma(4, 0.5))
          ctx:record("l", rng:lognormal(3, 0.5))
          ctx:record("e", rng:exp(2))
        end
        assert(#rng:hex(8) == 8 and rng:hex(8):find("^%x+$"))
        local z = rng:zipf(10, 1.2)
        assert(z >= 1 and z <= 10 and z % 1 == 0)
        return { prompt = "x" }
      end""", "-n", 100, "-c", 4)
    c = r.stoke["custom"]
    assert abs(c["n"]["mean"] - 10) < 0.2 and abs(c["n"]["std"] - 2) < 0.2
    assert abs(c["g"]["mean"] - 2) < 0.1 and abs(c["g"]["std"] - 1) < 0.1
    assert abs(c["l"]["p50"] - 3) < 0.2
    assert abs(c["e"]["mean"] - 2) < 0.2 and abs(c["e"]["std"] - 2) < 0.2
