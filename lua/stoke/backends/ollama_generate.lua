-- Ollama's native completions, an NDJSON stream.
local ollama = require "stoke.ollama"

local fields = { "prompt" }
for _, name in ipairs(ollama.fields) do fields[#fields + 1] = name end

return {
  path = "/api/generate",
  dialect = "ollama",
  fields = fields,
  body = function(q)
    return {
      model = q.model,
      prompt = q.prompt,
      options = ollama.options(q),
      format = ollama.format(q.response_format),
      think = ollama.think(q.reasoning_effort),
      stream = q.stream,
    }
  end,
}
