-- Anthropic's messages.
local messages = require "stoke.messages"

local function assistant_of(m)
  if not m.tool_calls then return { role = "assistant", content = m.content } end
  local blocks = {}
  if m.content and m.content ~= "" then blocks[1] = { type = "text", text = m.content } end
  for _, call in ipairs(m.tool_calls) do
    blocks[#blocks + 1] = {
      type = "tool_use", id = call.id, name = call["function"].name,
      input = messages.arguments(call),
    }
  end
  return { role = "assistant", content = blocks }
end

-- Results of tools are the user's blocks; those of one round share a message.
local function turns_of(list)
  local turns, results = {}, nil
  for _, m in ipairs(list) do
    if m.role == "tool" then
      if not results then
        results = {}
        turns[#turns + 1] = { role = "user", content = results }
      end
      results[#results + 1] = {
        type = "tool_result", tool_use_id = m.tool_call_id, content = m.content,
      }
    else
      results = nil
      turns[#turns + 1] = m.role == "assistant" and assistant_of(m)
        or { role = m.role, content = m.content }
    end
  end
  return turns
end

local function tool_of(tool)
  local f = tool["function"]
  return f and {
    name = f.name, description = f.description,
    input_schema = f.parameters or { type = "object" },
  } or tool
end

local choices = { auto = "auto", required = "any", none = "none" }

local function choice_of(choice)
  if type(choice) == "string" then return { type = choices[choice] or choice } end
  local f = choice and choice["function"]
  return f and { type = "tool", name = f.name } or choice
end

return {
  path = "/v1/messages",
  dialect = "anthropic",
  headers = { ["anthropic-version"] = "2023-06-01" },
  key_header = "x-api-key",
  fields = {
    "prompt", "messages", "max_tokens", "temperature", "top_p", "top_k", "stop", "tools",
    "tool_choice",
  },
  body = function(q)
    local system, rest = messages.split_system(messages.of(q))
    return {
      model = q.model,
      max_tokens = q.max_tokens or 1024, -- it must be there
      system = system,
      messages = turns_of(rest),
      temperature = q.temperature,
      top_p = q.top_p,
      top_k = q.top_k,
      stop_sequences = type(q.stop) == "string" and { q.stop } or q.stop,
      tools = messages.map(q.tools, tool_of),
      tool_choice = choice_of(q.tool_choice),
      stream = q.stream,
    }
  end,
}
