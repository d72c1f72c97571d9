-- Anthropic's messages.
local messages = require "stoke.messages"

local function source_of(url, what)
  local kind, data = messages.data_of(url)
  if kind then return { type = "base64", media_type = kind, data = data } end
  if url:find("^[Hh][Tt][Tt][Pp][Ss]?://") then return { type = "url", url = url } end
  error(("anthropic: %s must be a data: URL in base64, or http(s)://…"):format(what), 0)
end

local function same(part) return part end
local texts = { text = same }
local shapes = { text = same }

function shapes.refusal(part) return { type = "text", text = part.refusal } end

function shapes.image_url(part)
  return {
    type = "image", source = source_of(messages.url(part), "an image"),
    cache_control = part.cache_control,
  }
end

-- Documents are PDFs; a file that was uploaded has an id.
function shapes.file(part)
  local file = messages.inner(part)
  local source = file.file_id and { type = "file", file_id = file.file_id }
    or source_of(file.file_data or "", "file_data")
  if source.media_type and source.media_type ~= "application/pdf" then
    error("anthropic: a file must be a PDF, not " .. source.media_type, 0)
  end
  return {
    type = "document", source = source, title = file.filename,
    cache_control = part.cache_control,
  }
end

local function content_of(m)
  return messages.content(m, shapes, "anthropic")
end

local function assistant_of(m)
  local content = content_of(m)
  if type(m.tool_calls) ~= "table" then return { role = "assistant", content = content } end
  local blocks = type(content) == "table" and content or stoke.json.array {}
  if type(content) == "string" and content ~= "" then
    blocks[1] = { type = "text", text = content }
  end
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
    messages.check_calls(m, "anthropic")
    if m.role == "tool" then
      if not results then
        results = {}
        turns[#turns + 1] = { role = "user", content = results }
      end
      results[#results + 1] = {
        type = "tool_result", tool_use_id = m.tool_call_id, content = content_of(m),
      }
    else
      results = nil
      turns[#turns + 1] = m.role == "assistant" and assistant_of(m)
        or { role = m.role, content = content_of(m) }
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
      system = messages.content({ content = system }, texts, "anthropic: system"),
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
