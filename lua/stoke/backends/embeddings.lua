-- Embeddings: one text, a list of texts or of token ids; vLLM takes messages as well.
return {
  path = "/v1/embeddings",
  dialect = "embeddings",
  stream = false,
  fields = { "prompt", "messages", "dimensions", "encoding_format" },
  body = function(q)
    return {
      model = q.model,
      input = q.prompt,
      messages = q.messages,
      dimensions = q.dimensions,
      encoding_format = q.encoding_format,
    }
  end,
}
