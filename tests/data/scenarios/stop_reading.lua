-- Readers who have seen enough after some tokens.
return {
  params = { enough = { default = 3, type = "integer", min = 1 } },
  metrics = { read = "trend" },

  request = function()
    return { prompt = "Count to one hundred.", max_tokens = 50 }
  end,

  on_chunk = function(r)
    if r.chunks >= r.params.enough then
      stoke.record("read", r.chunks)
      return false
    end
  end,
}
