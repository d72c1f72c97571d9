-- scenarios/haiku.lua: the smallest useful scenario
return {
  description = "One short chat completion a request",
  request = function(ctx)
    return {
      prompt = "Write a haiku about " .. ctx.rng:pick { "rain", "iron", "tea" } .. ".",
      max_tokens = 64,
    }
  end,
}
