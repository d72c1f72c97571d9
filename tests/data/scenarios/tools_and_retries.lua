-- An agent whose server is sometimes busy: model calls are tried again, tools may fail.
local TOOLS = { { type = "function", ["function"] = { name = "weather" } } }

return {
  params = {
    retries = { default = 3, min = 0, type = "integer" },
    backoff = { default = "10ms", type = "duration" },
  },
  metrics = { retries = "counter", steps = "trend" },
  thresholds = { "sessions.failed < 5" },
  load = { session_rate = 40, num_sessions = 10, max_concurrency = 10 },

  session = function(s)
    local chat = s:conversation { system = "Use tools.", tools = TOOLS, max_tokens = 6 }
    chat:add("user", "What is the weather in Oslo?")

    -- The history has the question once, however often it is sent.
    local function answer(options)
      local r = chat:continue(options)
      for attempt = 1, s.params.retries do
        if r.ok or (r.status or 500) < 500 then break end
        s:record("retries")
        s:sleep(s.params.backoff * 2 ^ (attempt - 1))
        r = chat:continue(options)
      end
      return r.ok and r or s:fail("gave up: " .. r.error)
    end

    local r, steps = answer(), 1
    while r.tool_calls and steps < 4 do
      for _, call in ipairs(r.tool_calls) do
        chat:tool(call.id, s.rng:bool(0.2) and { error = "timeout" } or { degrees = s.rng:int(-10, 30) })
      end
      r = answer { tool_choice = steps == 3 and "none" or nil }
      steps = steps + 1
    end
    s:record("steps", steps)
  end,
}
