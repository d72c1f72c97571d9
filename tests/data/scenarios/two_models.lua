-- Two models side by side, told apart by a tag.
return {
  params = { a = { default = "small" }, b = { default = "large" } },
  metrics = { words_a = "trend", words_b = "trend" },

  request = function(ctx)
    local arm = ctx.rng:bool() and "a" or "b"
    return {
      prompt = ctx.rng:words(4), model = ctx.params[arm], tags = { arm = arm },
      max_tokens = arm == "a" and 3 or 6,
    }
  end,

  on_response = function(r)
    if r.ok then stoke.record("words_" .. r.tags.arm, #r.text) end
  end,

  summary = function(results)
    local a, b = results.tags.arm.a, results.tags.arm.b
    return ("TTFT p50: a %.1f ms, b %.1f ms"):format(a.latency.ttft.p50, b.latency.ttft.p50)
  end,
}
