-- Embed the question, rank documents, answer from the best of them.
return {
  load = { num_sessions = 4, max_concurrency = 2 },

  session = function(s)
    local question, docs = s.rng:words(6), {}
    for i = 1, 5 do docs[i] = ("Document %d: %s"):format(i, s.rng:words(10)) end
    local vector = s:request {
      endpoint = "embeddings", prompt = { question }, model = "embedder", tags = { step = "embed" },
    }
    if not vector.ok then return s:fail("embed: " .. vector.error) end
    assert(#vector:json().data[1].embedding > 0)
    local ranked = s:request {
      endpoint = "rerank", prompt = question, documents = docs, top_n = 2, tags = { step = "rank" },
    }
    if not ranked.ok then return s:fail("rank: " .. ranked.error) end
    local best = {}
    for i, hit in ipairs(ranked:json().results) do best[i] = docs[hit.index + 1] end
    s:request {
      prompt = table.concat(best, "\n") .. "\n" .. question, max_tokens = 4, tags = { step = "answer" },
    }
  end,
}
