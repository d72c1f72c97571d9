-- Ollama's native chats, an NDJSON stream.
local messages = require "stoke.messages"
local ollama = require "stoke.ollama"

local fields = { "prompt", "messages", "tools" }
for _, name in ipairs(ollama.fields) do fields[#fields + 1] = name end

-- It wants the arguments of calls as objects.
local function message_of(m)
  if not m.tool_calls then return m end
  local copy = {}
  for key, value in pairs(m) do copy[key] = value end
  copy.tool_calls = messages.map(m.tool_calls, function(call)
    return {
      ["function"] = { name = call["function"].name, arguments = messages.arguments(call) },
    }
  end)
  return copy
end

return {
  path = "/api/chat",
  dialect = "ollama",
  fields = fields,
  body = function(q)
    return {
      model = q.model,
      messages = messages.map(messages.of(q), message_of),
      tools = q.tools,
      options = ollama.options(q),
      format = ollama.format(q.response_format),
      think = ollama.think(q.reasoning_effort),
      stream = q.stream,
    }
  end,
}
