-- scenarios/burst.lua: quiet hours with crowds that come all at once, again and again
local prompts = require "stoke.prompts"

local params

return {
  description = "A low rate, and a burst of a high one every now and then",
  params = {
    base = { default = 1, min = 0, help = "requests a second between bursts" },
    peak = { default = 20, min = 0, help = "requests a second in a burst" },
    every = { default = 20, min = 0.1, help = "seconds from one burst to the next" },
    length = { default = 3, min = 0.01, help = "seconds that a burst takes" },
    max_tokens = { default = 64, type = "integer", min = 1, help = "tokens an answer, at most" },
  },

  -- On the main thread, before load.rate is asked there.
  setup = function(run) params = run.params end,

  load = {
    duration = "60s",
    -- A burst ends each period, so that the run begins in quiet.
    rate = function(t)
      local quiet = math.max(0, params.every - params.length)
      return t % params.every < quiet and params.base or params.peak
    end,
  },

  request = function(ctx)
    local burst = ctx.now() % ctx.params.every >= ctx.params.every - ctx.params.length
    return {
      prompt = ctx.rng:pick(prompts.list),
      max_tokens = ctx.params.max_tokens,
      tags = { when = burst and "burst" or "quiet" },
    }
  end,
}
