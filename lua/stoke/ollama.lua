-- stoke.ollama: what its two native APIs have in common.
local ollama = {}

ollama.fields = {
  "max_tokens", "temperature", "top_p", "top_k", "min_p", "presence_penalty",
  "frequency_penalty", "seed", "stop", "response_format", "reasoning_effort",
}

-- nil when there is nothing to say.
function ollama.options(q)
  local options = {
    num_predict = q.max_tokens, temperature = q.temperature, top_p = q.top_p, top_k = q.top_k,
    min_p = q.min_p, presence_penalty = q.presence_penalty,
    frequency_penalty = q.frequency_penalty, seed = q.seed,
    stop = type(q.stop) == "string" and { q.stop } or q.stop,
  }
  return next(options) and options
end

-- "json", or a schema.
function ollama.format(format)
  local schema = format and format.json_schema
  return schema and schema.schema or format and format.type == "json_object" and "json" or nil
end

-- "none" thinks not at all.
function ollama.think(effort)
  if effort == "none" then return false end
  return effort
end

return ollama
