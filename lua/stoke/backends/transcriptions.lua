-- OpenAI's transcriptions: a form with a recording, and a stream that vLLM
-- writes as that of a chat, OpenAI as events of its own.
local form = require "stoke.form"

local known = {
  "prompt", "temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty",
  "frequency_penalty", "response_format", "ignore_eos",
}
local fields = { "file", "language", "max_tokens", "max_completion_tokens" }
for _, name in ipairs(known) do fields[#fields + 1] = name end

local function file_of(q)
  local file = q.file
  if type(file) ~= "table" or type(file.bytes) ~= "string"
    or tostring(file.type):find("%c") then
    error("transcriptions send a recording: file = { bytes = …, name = \"a.wav\", type = "
      .. "\"audio/wav\" }", 0)
  end
  return { bytes = file.bytes, name = file.name or "audio.wav", type = file.type or "audio/wav" }
end

local usage = {
  { "usage.prompt_tokens", "prompt_tokens" }, { "usage.completion_tokens", "completion_tokens" },
  { "usage.input_tokens", "prompt_tokens" }, { "usage.output_tokens", "completion_tokens" },
  { "error", "error" }, { "object", "kind" },
}

local function with_usage(rules)
  for _, rule in ipairs(usage) do rules[#rules + 1] = rule end
  return rules
end

return {
  path = "/v1/audio/transcriptions",
  fields = fields,
  body = function(q)
    local texts = {
      model = q.model,
      language = q.language or "en",
      max_completion_tokens = q.max_tokens or q.max_completion_tokens,
      stream = q.stream,
      stream_include_usage = q.stream or nil,
      stream_continuous_usage_stats = q.stream or nil,
    }
    for _, name in ipairs(known) do texts[name] = q[name] end
    for name, value in pairs(q.extra or {}) do
      if value == stoke.json.null then value = nil end -- takes a field away
      texts[name] = value
    end
    texts.file = nil -- there is one part of that name
    return form.encode(file_of(q), texts)
  end,
  dialect = {
    stream = with_usage {
      { "type", "type" },
      { "choices[].delta.content", "content" },
      { "choices[].index", "choice_index" },
      { "choices[].finish_reason", "finish" },
      { "delta", "content", "transcript.text.delta" },
      { "type", "end", "transcript.text.done" },
    },
    plain = with_usage { { "text", "content" } },
  },
}
