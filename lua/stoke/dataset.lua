-- stoke.dataset: what rows of data files have in common.
-- Returns shape(format, raw, …) -> row. The raw row keeps its fields; added
-- are `prompt`, `messages` (OpenAI's), `turns`, `reference`, `output_len`. A
-- turn is what is sent until the next answer: { messages, prompt, reference,
-- answer }, the last two as the data has them. Files are checked when they
-- are opened (src/data/shape.c), so nothing is checked here.

local ipairs, type, table = ipairs, type, table
local concat, tonumber = table.concat, tonumber

local speakers = {
  human = "user", user = "user", system = "system", developer = "system",
  gpt = "assistant", chatgpt = "assistant", bing = "assistant", bard = "assistant",
  model = "assistant", assistant = "assistant", function_call = "assistant",
  tool = "tool", observation = "tool", function_response = "tool",
}

-- The text of a message: content is a text or a list of parts.
local function text_of(content)
  if type(content) ~= "table" then return content end
  local parts = {}
  for _, part in ipairs(content) do
    if type(part) == "table" and type(part.text) == "string" then parts[#parts + 1] = part.text end
  end
  return concat(parts, "\n")
end

-- Answers that nobody asked for, at the start, are dropped; several in a row
-- are one turn, and the last counts.
local function turns_of(messages)
  local turns, pending, asked, prompt = {}, {}, false, nil
  for _, message in ipairs(messages) do
    if message.role ~= "assistant" then
      pending[#pending + 1], asked = message, true
      if message.role == "user" then prompt = text_of(message.content) end
    elseif asked then
      turns[#turns + 1] = {
        messages = pending, prompt = prompt, answer = message,
        reference = text_of(message.content),
      }
      pending, asked, prompt = {}, false, nil
    elseif #turns > 0 then
      turns[#turns].answer, turns[#turns].reference = message, text_of(message.content)
    end
  end
  if asked then turns[#turns + 1] = { messages = pending, prompt = prompt } end
  return turns
end

-- Other datasets' speakers become OpenAI's roles.
local function translate(conversations)
  local messages = {}
  for _, said in ipairs(conversations) do
    local role = speakers[said.from or said.role]
    if #messages > 0 or role ~= "assistant" then
      messages[#messages + 1] = { role = role, content = said.value or said.content }
    end
  end
  return messages
end

local function first_text(row, ...)
  for _, name in ipairs { ... } do
    if type(row[name]) == "string" then return row[name] end
  end
end

local function common(row)
  if type(row.messages) ~= "table" and type(row.prompt) == "string" then
    row.messages = { { role = "user", content = row.prompt } }
    row.turns = row.turns or { {
      messages = row.messages, prompt = row.prompt,
      reference = first_text(row, "reference", "completion", "response", "answer", "output"),
    } }
  elseif type(row.messages) == "table" then
    row.turns = turns_of(row.messages)
  end
  local first = type(row.turns) == "table" and row.turns[1]
  if type(first) == "table" then
    row.prompt = row.prompt or first.prompt
    row.reference = row.reference or first.reference
  end
  row.output_len = tonumber(row.output_len or row.max_tokens)
  return row
end

local shapes = {}

function shapes.sharegpt(row)
  row.messages = translate(row.conversations)
  return common(row)
end

-- The body goes out byte for byte; its messages are there to look at.
shapes["openai-batch"] = function(row, text)
  local body = row.body
  row.body = text
  if type(body) == "table" then
    row.messages, row.prompt, row.output_len = body.messages, body.prompt, body.max_tokens
  end
  return common(row)
end

local function trace(row, text, seconds, input_len, output_len)
  row.prompt, row.timestamp = text, seconds
  row.input_len, row.output_len = input_len, output_len
  return common(row)
end
for _, name in ipairs { "mooncake", "azure", "burstgpt", "requests-out" } do
  shapes[name] = trace
end

return function(format, row, ...)
  if type(row) ~= "table" then row = { prompt = row } end
  return (shapes[format] or common)(row, ...)
end
