-- stoke.messages: messages as OpenAI's chats have them (scenarios and data files
-- speak of them so), read, and in the shapes that other APIs want.
local keys = require "stoke.keys"

local messages = {}

-- The messages, or the prompt as the only one.
function messages.of(q)
  if q.messages then return q.messages end
  if type(q.prompt) ~= "string" then
    error("prompt must be a string here; give a list as messages", 0)
  end
  return { { role = "user", content = q.prompt } }
end

-- What a content says: it is a text, or a list of parts.
function messages.text(content)
  if type(content) ~= "table" then return content end
  local parts = {}
  for _, part in ipairs(content) do
    if type(part) == "table" and type(part.text) == "string" then parts[#parts + 1] = part.text end
  end
  return table.concat(parts, "\n")
end

-- The text of the system messages (nil: none; parts where one of them has
-- parts), and the others.
function messages.split_system(list)
  local texts, parts, split, rest = {}, {}, false, {}
  for _, m in ipairs(list) do
    if m.role ~= "system" and m.role ~= "developer" then
      rest[#rest + 1] = m
    elseif type(m.content) == "table" then
      for _, part in ipairs(m.content) do parts[#parts + 1] = part end
      split = true
    else
      texts[#texts + 1] = m.content
      parts[#parts + 1] = { type = "text", text = m.content }
    end
  end
  if split then return parts, rest end
  return texts[1] and table.concat(texts, "\n\n"), rest
end

-- A tool call's arguments, which chats write as JSON in a string.
function messages.arguments(call)
  local text = call["function"].arguments
  if type(text) ~= "string" then return text or {} end
  local value = stoke.json.decode(text)
  return type(value) == "table" and next(value) ~= nil and value[1] == nil and value or {}
end

-- Kinds of parts that chats have. Others are taken for the API's own.
local kinds = keys.set_of {
  "text", "refusal", "image_url", "input_audio", "audio_url", "video_url", "file",
}

-- A message's content (nil: none) with each part as an API has it: shapes[type]
-- makes it. A kind that chats have and `api` has not is an error.
function messages.content(m, shapes, api)
  local content = m.content
  if content == nil or content == stoke.json.null then
    return type(m.refusal) == "string" and m.refusal or nil
  end
  if type(content) ~= "table" then return content end
  return messages.map(content, function(part)
    local kind = type(part) == "table" and part.type
    if type(kind) ~= "string" then error("a part of messages needs a type, such as \"text\"", 0) end
    if shapes[kind] then return shapes[kind](part) end
    if kinds[kind] then error(("%s: there is no place for a part %s"):format(api, kind), 0) end
    return part
  end)
end

-- The field that says what a part holds, which must be a table.
function messages.inner(part)
  local inner = part[part.type]
  if type(inner) == "table" then return inner end
  error(("a part %s needs %s = { … }"):format(part.type, part.type), 0)
end

-- The address of an image_url.
function messages.url(part)
  local url = messages.inner(part).url
  if type(url) == "string" then return url end
  error(("a part %s needs an url"):format(part.type), 0)
end

-- Media type and base64 of a data: URL, or nil.
function messages.data_of(url)
  local comma = url:find(",", 1, true)
  local kind = comma and url:sub(1, comma - 1):match("^data:([^;]+).*;base64$")
  if kind then return kind, url:sub(comma + 1) end
end

-- Chats of before tool calls, whose answers have no ids to go by.
function messages.check_calls(m, api)
  if m.role == "function" or type(m.function_call) == "table" then
    error(api .. ": there is no place for function_call; say tool_calls, and role = \"tool\"", 0)
  end
end

-- Each of a list (nil: none), changed.
function messages.map(list, change)
  if not list then return nil end
  local out = stoke.json.array {}
  for i, item in ipairs(list) do out[i] = change(item) end
  return out
end

return messages
