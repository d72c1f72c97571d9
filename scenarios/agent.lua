-- scenarios/agent.lua: an agent that plans, calls tools, hands work to
-- sub-agents and answers
local TOOLS = {
  {
    type = "function",
    ["function"] = {
      name = "search",
      description = "Look something up",
      parameters = {
        type = "object",
        properties = { query = { type = "string" } },
        required = { "query" },
      },
    },
  },
}
local TASKS = {
  "Plan a weekend in Oslo.", "Compare three electric bicycles.",
  "Find out why the build fails.", "Prepare a talk about tides.",
}

-- Answer every call of r; the tools run side by side, as their users' do.
local function run_tools(s, chat, r)
  local waits = {}
  for i in ipairs(r.tool_calls) do
    waits[i] = function(b)
      local wait = math.max(0, b.params.tool_latency:sample(b.rng))
      b:sleep(wait)
      b:record("tool_calls")
      b:record("tool_wait", wait)
      return { ok = true, text = b.rng:words(b.params.tool_words) }
    end
  end
  local results = s:parallel(waits)
  for i, call in ipairs(r.tool_calls) do chat:tool(call.id, results[i]) end
end

-- One agent's loop: ask, run tools, go on until it has an answer.
local function work(s, chat, task)
  local r = chat:ask(task)
  for _ = 2, s.params.turns do
    if not r.ok then return s:fail(r.error) end
    if not r.tool_calls then break end
    run_tools(s, chat, r)
    r = chat:continue()
  end
  return r
end

return {
  version = "1.0",
  description = "Agents that plan, call tools, fan out to sub-agents and join their answers",
  params = {
    turns = { default = 6, type = "integer", min = 1, help = "model calls of an agent, at most" },
    tool_latency = { default = "lognormal(0.4s, 0.3)", type = "dist",
      help = "how long a tool takes" },
    tool_words = { default = 60, type = "integer", min = 1, help = "length of a tool's answer" },
    agents = { default = 0, type = "integer", min = 0, help = "sub-agents after the plan" },
    max_tokens = { default = 256, type = "integer", min = 1, help = "tokens an answer, at most" },
  },
  metrics = { tool_calls = "counter", tool_wait = "trend", finished = "rate" },
  load = { max_concurrency = 8, num_sessions = 32 },

  session = function(s)
    local chat = s:conversation {
      system = "You are a careful planner. Use the tools you have.",
      tools = TOOLS, max_tokens = s.params.max_tokens,
    }
    local r = work(s, chat, s.rng:pick(TASKS))
    local branches = {}
    for i = 1, s.params.agents do
      branches[i] = function(b)
        return work(b, chat:fork(b), ("You are agent %d: do part %d of it."):format(i, i)).text
      end
    end
    if #branches > 0 and r.ok then
      local parts = s:parallel(branches)
      r = work(s, chat, "Put this together:\n" .. table.concat(parts, "\n"))
    end
    s:record("finished", r.ok and r.finish_reason == "stop")
    if not r.ok then return s:fail(r.error) end
  end,
}
