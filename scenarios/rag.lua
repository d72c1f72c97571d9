-- scenarios/rag.lua: retrieve first, then ask about what was found
-- A shared instruction and a document that some questions share stand in
-- front, what is each question's own comes last: prefix caches live on that.
local function document(n, words)
  -- The same text for the same number, whoever asks for it.
  return ("Document %d. %s"):format(n, stoke.rng(n):words(words))
end

return {
  version = "1.0",
  description = "Retrieval over HTTP, then a question about a long shared context",
  params = {
    search = { type = "string", default = "",
      help = "URL or path that is asked first (POST, JSON); none: no retrieval" },
    documents = { default = 20, type = "integer", min = 1, help = "that there are" },
    words = { default = 1500, type = "integer", min = 1, help = "of a document" },
    max_tokens = { default = 128, type = "integer", min = 1, help = "tokens an answer, at most" },
  },
  metrics = { retrieved = "rate" },
  load = { max_concurrency = 8, num_sessions = 64 },

  session = function(s)
    local p, question = s.params, s.rng:words(12) .. "?"
    local found = s.rng:zipf(p.documents, 1)
    if p.search ~= "" then
      local where = p.search:find("^https?://") and "url" or "path"
      local r = s:http {
        [where] = p.search, name = "search", timeout = "5s",
        body = { query = question, top_k = 1 },
      }
      s:record("retrieved", r.ok)
      if not r.ok then return s:fail("retrieval: " .. r.error) end
    end
    local r = s:request {
      messages = {
        { role = "system", content = "Answer from the document and from nothing else.\n\n"
          .. document(found, p.words) },
        { role = "user", content = question },
      },
      max_tokens = p.max_tokens,
    }
    if not r.ok then return s:fail(r.error) end
  end,
}
