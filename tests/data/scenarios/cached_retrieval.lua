-- Retrieval with a cache: popular documents need no search.
return {
  params = { docs = { default = 20, type = "integer" }, hot = { default = 1.1 } },
  metrics = { hits = "rate" },
  load = { max_concurrency = 4, num_sessions = 30 },
  thresholds = { "ttft{cache=hit}.p95 < 10s", "check{not empty} > 0.99" },

  setup = function(run)
    local health = run:http { path = "/health" }
    assert(health.ok, health.error)
    local docs = {}
    for i = 1, run.params.docs do docs[i] = stoke.rng(i):words(20) end
    return { docs = docs }
  end,

  session = function(s)
    local hit = s.rng:bool(0.5)
    s:record("hits", hit)
    if not hit then
      local found = s:http { path = "/v1/models", name = "search" }
      if not found.ok then return nil, "search: " .. found.error end
    end
    local r = s:request {
      messages = {
        { role = "system", content = s.data.docs[s.rng:zipf(s.params.docs, s.params.hot)] },
        { role = "user", content = "What about " .. s.rng:words(5) .. "?" },
      },
      max_tokens = 4,
      tags = { cache = hit and "hit" or "miss" },
    }
    s:check("not empty", r.ok and r.text ~= "")
  end,
}
