-- Reranking as Jina, Cohere and vLLM spell it: the prompt is the query.
return {
  path = "/v1/rerank",
  dialect = "rerank",
  stream = false,
  fields = { "prompt", "documents", "top_n" },
  body = function(q)
    if type(q.documents) ~= "table" or #q.documents == 0 then
      error("rerank needs documents, a list of strings", 0)
    end
    return { model = q.model, query = q.prompt, documents = q.documents, top_n = q.top_n }
  end,
}
