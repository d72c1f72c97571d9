-- Embeddings of a talk: vLLM applies the model's chat template to messages.
return {
  path = "/v1/embeddings",
  dialect = "embeddings",
  stream = false,
  fields = { "prompt", "messages", "dimensions", "encoding_format" },
  body = function(q)
    return {
      model = q.model,
      messages = q.messages or { { role = "user", content = q.prompt } },
      dimensions = q.dimensions,
      encoding_format = q.encoding_format,
    }
  end,
}
