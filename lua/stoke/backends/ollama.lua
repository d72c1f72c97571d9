-- Ollama's native chats, an NDJSON stream.
local messages = require "stoke.messages"
local ollama = require "stoke.ollama"

local fields = { "prompt", "messages", "tools" }
for _, name in ipairs(ollama.fields) do fields[#fields + 1] = name end

local shapes = {}
function shapes.text(part) return part.text end
function shapes.refusal(part) return part.refusal end
function shapes.image_url(part)
  local _, data = messages.data_of(messages.url(part))
  if data then return { image = data } end
  error("ollama: an image must be a data: URL in base64", 0)
end

-- A text, and the images beside it.
local function split(m)
  local parts = messages.content(m, shapes, "ollama")
  if type(parts) ~= "table" then return parts end
  local texts, images = {}, {}
  for _, part in ipairs(parts) do
    if type(part) == "string" then
      texts[#texts + 1] = part
    elseif part.type then
      error("ollama: there is no place for a part " .. part.type, 0)
    else
      images[#images + 1] = part.image
    end
  end
  return table.concat(texts, "\n"), images[1] and images
end

-- Arguments are objects, and results name the tool, whose calls have no ids.
local function turns_of(list)
  local names = {}
  local function call_of(call)
    if call.id then names[call.id] = call["function"].name end
    return {
      ["function"] = { name = call["function"].name, arguments = messages.arguments(call) },
    }
  end
  return messages.map(list, function(m)
    messages.check_calls(m, "ollama")
    local text, images = split(m)
    return {
      role = m.role == "developer" and "system" or m.role,
      content = text or "",
      thinking = m.reasoning_content,
      images = images or m.images,
      tool_calls = type(m.tool_calls) == "table" and messages.map(m.tool_calls, call_of) or nil,
      tool_name = m.tool_name or m.role == "tool" and names[m.tool_call_id] or nil,
      tool_call_id = m.tool_call_id,
    }
  end)
end

return {
  path = "/api/chat",
  dialect = "ollama",
  fields = fields,
  body = function(q)
    return {
      model = q.model,
      messages = turns_of(messages.of(q)),
      tools = q.tools,
      options = ollama.options(q),
      format = ollama.format(q.response_format),
      think = ollama.think(q.reasoning_effort),
      stream = q.stream,
    }
  end,
}
