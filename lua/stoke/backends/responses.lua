-- OpenAI's responses.
local messages = require "stoke.messages"

local results, shapes, said = {}, {}, {}

function results.text(part) return { type = "input_text", text = part.text } end

function results.image_url(part)
  return {
    type = "input_image", image_url = messages.url(part),
    detail = messages.inner(part).detail or "auto",
  }
end

function results.file(part)
  local file = messages.inner(part)
  return {
    type = "input_file", filename = file.filename, file_data = file.file_data,
    file_id = file.file_id,
  }
end

for kind, shape in pairs(results) do shapes[kind] = shape end
function shapes.input_audio(part) return part end

-- What the model has said.
function said.text(part) return { type = "output_text", text = part.text } end
function said.refusal(part) return part end

local function add_calls(input, calls)
  for _, call in ipairs(type(calls) == "table" and calls or {}) do
    input[#input + 1] = {
      type = "function_call", call_id = call.id,
      name = call["function"].name, arguments = call["function"].arguments,
    }
  end
end

-- Calls and their results are items of their own.
local function input_of(list)
  local input = stoke.json.array {}
  for _, m in ipairs(list) do
    messages.check_calls(m, "responses")
    if m.role == "tool" then
      input[#input + 1] = {
        type = "function_call_output", call_id = m.tool_call_id,
        output = messages.content(m, results, "responses: a tool's result"),
      }
    else
      local parts = m.role == "assistant" and said or shapes
      local content = messages.content(m, parts, "responses: " .. m.role)
      if content and content ~= "" then
        input[#input + 1] = { role = m.role, content = content }
      end
      add_calls(input, m.tool_calls)
    end
  end
  return input
end

local function tool_of(tool)
  local f = tool["function"]
  return f and {
    type = "function", name = f.name, description = f.description,
    parameters = f.parameters, strict = f.strict,
  } or tool
end

local function choice_of(choice)
  local f = type(choice) == "table" and choice["function"]
  return f and { type = "function", name = f.name } or choice
end

local function format_of(format)
  local schema = format and format.json_schema
  return format and {
    format = schema and {
      type = "json_schema", name = schema.name, schema = schema.schema, strict = schema.strict,
    } or format,
  }
end

return {
  path = "/v1/responses",
  dialect = "responses",
  fields = {
    "prompt", "messages", "max_tokens", "temperature", "top_p", "tools", "tool_choice",
    "response_format", "reasoning_effort", "ignore_eos",
  },
  body = function(q)
    return {
      model = q.model,
      input = q.messages and input_of(q.messages) or q.prompt,
      max_output_tokens = q.max_tokens,
      temperature = q.temperature,
      top_p = q.top_p,
      tools = messages.map(q.tools, tool_of),
      tool_choice = choice_of(q.tool_choice),
      text = format_of(q.response_format),
      reasoning = q.reasoning_effort and { effort = q.reasoning_effort },
      ignore_eos = q.ignore_eos,
      stream = q.stream,
    }
  end,
}
