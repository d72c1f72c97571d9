-- A support desk: documents are looked up, the model may use a tool, a request
-- that failed is tried again with patience, and at last with another model.

local tools = { {
  type = "function",
  ["function"] = {
    name = "order_status",
    description = "Look an order up",
    parameters = {
      type = "object",
      properties = { id = { type = "string" } },
      required = { "id" },
    },
  },
} }

-- One turn: `first`, then the history again, then the same with the fallback.
local function turn(s, chat, first)
  local r = first()
  for attempt = 1, s.params.retries do
    if r.ok or (r.status and r.status < 500 and r.status ~= 429) then return r end
    local wait = tonumber(r.headers["retry-after"]) or 0.01 * 2 ^ attempt
    s:record("retries")
    s:record("backoff", wait)
    s:sleep(wait)
    r = chat:continue { tags = { attempt = attempt + 1 } }
  end
  if r.ok then return r end
  s:record("fallbacks")
  return chat:continue { model = s.params.fallback, tags = { attempt = "fallback" } }
end

return {
  version = "0.1",
  description = "Customer support: retrieval, a tool, retries and a fallback",
  params = {
    fallback = { default = "small", help = "the model when the first one fails" },
    retries = { default = 1, min = 0 },
    docs = { default = "/v1/models", help = "where documents are looked up" },
  },
  metrics = { fallbacks = "counter", retries = "counter", backoff = "trend", resolved = "rate" },
  load = { session_rate = 50, num_sessions = 10 },
  thresholds = { "resolved > 90%", "sessions.failed == 0" },

  session = function(s)
    local found = s:http { path = s.params.docs .. "?q=" .. s.rng:hex(8), name = "retrieval" }
    local chat = s:conversation {
      system = "You are support. What is known:\n" .. (found.ok and found.body or "nothing"),
      tools = tools,
      max_tokens = 16,
    }
    local r = turn(s, chat, function()
      return chat:ask("Where is my order " .. s.rng:hex(6) .. "?", { tags = { attempt = 1 } })
    end)
    while r.ok and r.tool_calls and chat.turn < 6 do
      for _, call in ipairs(r.tool_calls) do
        local arguments = stoke.json.decode(call.arguments) or {}
        s:sleep("exp(2ms)")
        chat:tool(call.id, { id = arguments.id or "?", status = "shipped" })
      end
      r = turn(s, chat, function() return chat:continue { tool_choice = "none" } end)
    end
    s:record("resolved", r.ok)
    if not r.ok then return s:fail(r.outcome .. ": " .. r.error) end
  end,
}
