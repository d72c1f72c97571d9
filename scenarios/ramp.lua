-- scenarios/ramp.lua: more and more requests a second, to see where a server gives in
local prompts = require "stoke.prompts"

local params

return {
  description = "A rate that rises, stays, and shows where TTFT leaves the ground",
  params = {
    from = { default = 1, min = 0, help = "requests a second at first" },
    to = { default = 20, min = 0, help = "requests a second at the top" },
    rise = { default = 45, min = 0.1, help = "seconds to get there; the rest of the run stays" },
    curve = { default = "linear", choices = { "linear", "exponential" } },
    max_tokens = { default = 64, type = "integer", min = 1, help = "tokens an answer, at most" },
  },

  -- On the main thread, before load.rate is asked there.
  setup = function(run)
    params = run.params
    if params.curve == "exponential" and (params.from == 0 or params.to == 0) then
      error("an exponential ramp cannot begin or end at 0", 0)
    end
  end,

  load = {
    duration = "60s",
    rate = function(t)
      local x = math.min(1, t / params.rise)
      if params.curve == "exponential" then
        return params.from * (params.to / params.from) ^ x
      end
      return params.from + (params.to - params.from) * x
    end,
  },

  request = function(ctx)
    return { prompt = ctx.rng:pick(prompts.list), max_tokens = ctx.params.max_tokens }
  end,
}
