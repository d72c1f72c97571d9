-- A spike, and how long the server needs to be itself again.
return {
  params = { base = { default = 20 }, peak = { default = 80 } },

  request = function(ctx)
    return { prompt = ctx.rng:words(3), max_tokens = 2 }
  end,

  control = function(run)
    local function measure(label, rate, duration)
      run:set { request_rate = rate }
      return run:measure { label = label, duration = duration }
    end
    local before = measure("before", run.params.base, "500ms")
    local spike = measure("spike", run.params.peak, "500ms")
    local limit, recovered = ("ttft.p50 < %gs"):format(before.ttft.p50 * 20), nil
    for i = 1, 5 do
      local m = measure("after " .. i, run.params.base, "300ms")
      if m:holds(limit) then recovered = i break end
    end
    run:report("spike", { before = before.sent, peak = spike.sent, recovered = recovered or 0 })
    run:say("recovered after " .. (recovered or "never"))
  end,
}
