-- An API of the house's own.

return {
  description = "Acme's own API",
  backends = { acme = {
    path = "/acme/v3/write",
    body = { prompt = "input.text", model = "engine", max_tokens = "limit", stream = "live" },
    headers = { ["Acme-Version"] = "3" },
    key_header = "X-Acme-Key",
    dialect = { stream = {
      { "kind", "type" },
      { "piece.text", "content", "delta" },
      { "stats.out", "completion_tokens", "done" },
      { "stats.in", "prompt_tokens", "done" },
      { "why", "finish", "done" },
      { "problem.message", "error", "oops" },
    } },
  } },
  load = { num_requests = 4, max_concurrency = 1 },
  request = function(ctx) return { endpoint = "acme", prompt = "Hi " .. ctx.id, max_tokens = 5 } end,
}
