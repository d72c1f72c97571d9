-- Embeddings of a talk: vLLM applies the model's chat template to messages.
local embeddings = require "stoke.backends.embeddings"

local talk = {}
for key, value in pairs(embeddings) do talk[key] = value end

function talk.body(q)
  local body = embeddings.body(q)
  if body.input then
    body.messages, body.input = { { role = "user", content = body.input } }, nil
  end
  return body
end

return talk
