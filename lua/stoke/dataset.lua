-- stoke.dataset: what rows of data files have in common.
-- Returns shape(format, raw, …) -> row. The raw row keeps its fields; added
-- are `prompt`, `messages` (OpenAI's), `turns`, `reference`, `output_len`. A
-- turn is what is sent until the next answer: { messages, prompt, reference,
-- answer }, the last two as the data has them. Files are checked when they
-- are opened (src/data/shape.c), so nothing is checked here.

local ipairs, type, table = ipairs, type, table
local concat, tonumber, json = table.concat, tonumber, stoke.json
local text_of = require("stoke.messages").text

local speakers = {
  human = "user", user = "user", system = "system", developer = "system",
  gpt = "assistant", chatgpt = "assistant", bing = "assistant", bard = "assistant",
  model = "assistant", assistant = "assistant", function_call = "assistant",
  tool = "tool", observation = "tool", function_response = "tool",
}

-- What it says, or the arguments of its calls.
local function said_by(message)
  local calls = message.content == nil and message.tool_calls
  if type(calls) ~= "table" then return text_of(message.content) end
  local parts = {}
  for _, call in ipairs(calls) do
    local f = type(call) == "table" and call["function"]
    if type(f) == "table" and type(f.arguments) == "string" then parts[#parts + 1] = f.arguments end
  end
  return parts[1] and concat(parts, "\n")
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
        reference = said_by(message),
      }
      pending, asked, prompt = {}, false, nil
    elseif #turns > 0 then
      turns[#turns].answer, turns[#turns].reference = message, said_by(message)
    end
  end
  if asked then turns[#turns + 1] = { messages = pending, prompt = prompt } end
  return turns
end

-- { name, arguments } in a text, one or a list of them -> calls with ids, or
-- nil when it says none.
local function calls_in(text, number)
  local value = type(text) == "string" and json.decode(text)
  if type(value) ~= "table" then return nil end
  local calls = {}
  for i, call in ipairs(value.name and { value } or value) do
    if type(call) ~= "table" or type(call.name) ~= "string" then return nil end
    local arguments = call.arguments
    calls[i] = { id = ("call_%d_%d"):format(number, i), type = "function", ["function"] = {
      name = call.name,
      arguments = type(arguments) == "string" and arguments or json.encode(arguments or {}),
    } }
  end
  return calls[1] and calls
end

-- Other datasets' speakers become OpenAI's roles. Calls and their answers have
-- no ids there, and get some; an answer without a call is said by the user.
local function translate(conversations)
  local messages, open, answered = {}, {}, 0
  for number, said in ipairs(conversations) do
    local from, content = said.from or said.role, said.value or said.content
    local message = { role = speakers[from], content = content }
    local calls = from == "function_call" and calls_in(content, number)
    if calls then
      message.content, message.tool_calls = nil, calls
      open, answered = calls, 0
    end
    if message.role == "tool" then
      answered = answered + 1
      local call = open[answered]
      message.role, message.tool_call_id = call and "tool" or "user", call and call.id
    end
    if #messages > 0 or message.role ~= "assistant" then messages[#messages + 1] = message end
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
