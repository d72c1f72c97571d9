-- Steps up until users give up: the run ends there by itself.

return {
  description = "More and more users, until too many of them give up",
  params = { patience = { default = "100ms", type = "duration", help = "then a user gives up" } },
  metrics = { gave_up = "rate" },
  load = {
    drain = "1s",
    stages = {
      { duration = "400ms", request_rate = { 10, 40 }, shape = "step", steps = 3, label = "up" },
      { duration = "400ms", request_rate = 40, label = "hold" },
      { duration = "60s", request_rate = { 40, 400 }, shape = "exponential", label = "break" },
    },
  },
  thresholds = {
    { "gave_up < 20%", abort_on_fail = true, grace = "500ms" },
    "ttft{stage=up}.count > 0",
  },
  request = function(ctx)
    return {
      prompt = ctx.stage .. ": " .. ctx.rng:words(10),
      max_tokens = 8,
      ttft_timeout = ctx.params.patience,
      tags = { step = ctx.stage },
    }
  end,
  on_response = function(r)
    stoke.record("gave_up", r.outcome == "timeout_ttft")
  end,
}
