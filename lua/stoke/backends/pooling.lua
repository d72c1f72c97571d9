-- vLLM's own endpoint for models that embed, classify or score.
return {
  path = "/pooling",
  dialect = "embeddings",
  stream = false,
  fields = { "prompt", "messages", "dimensions" },
  body = function(q)
    return { model = q.model, input = q.prompt, messages = q.messages, dimensions = q.dimensions }
  end,
}
