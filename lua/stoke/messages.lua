-- stoke.messages: messages as OpenAI's chats have them (scenarios and data files
-- speak of them so), read, and in the shapes that other APIs want.
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

-- Each of a list (nil: none), changed.
function messages.map(list, change)
  if not list then return nil end
  local out = stoke.json.array {}
  for i, item in ipairs(list) do out[i] = change(item) end
  return out
end

return messages
