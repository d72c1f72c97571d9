-- scenarios/spike.lua: a spike of load, and how long the server needs to be itself again
-- control drives the load: it looks at what was measured and decides what comes next.
return {
  version = "1.0",
  description = "A spike between calm stretches; reports how long the server is slow after it",
  params = {
    base = { default = 2, min = 0.01, help = "requests a second when it is calm" },
    peak = { default = 20, min = 0.01, help = "requests a second in the spike" },
    calm = { default = "20s", type = "duration", help = "measured before the spike" },
    length = { default = "10s", type = "duration", help = "of the spike" },
    window = { default = "5s", type = "duration", help = "of each look at the server after it" },
    patience = { default = "2m", type = "duration", help = "how long to wait for the server" },
    slack = { default = 1.5, min = 1, help = "times the p95 of TTFT before: itself again" },
    max_tokens = { default = 64, type = "integer", min = 1, help = "tokens an answer, at most" },
  },

  request = function(ctx)
    return {
      prompt = "Tell me about " .. ctx.rng:words(4) .. ".",
      max_tokens = ctx.params.max_tokens,
    }
  end,

  control = function(run)
    local p = run.params
    local function measure(label, rate, duration)
      run:set { request_rate = rate }
      return run:measure { label = label, duration = duration }
    end

    local before = measure("before", p.base, p.calm)
    if not before then return end -- the run ends
    if not before.ttft then error("no answer before the spike: a longer calm, or a higher base") end
    local limit = before.ttft.p95 * p.slack
    local spike = measure("spike", p.peak, p.length) or {}

    local started, recovered = run.now(), nil
    repeat
      local after = measure("after", p.base, p.window)
      if not after then break end
      if after.ttft and after.ttft.p95 <= limit then recovered = run.now() - started end
    until recovered or run.now() - started >= p.patience

    run:report("spike", {
      ttft_p95_before_ms = before.ttft.p95 * 1000,
      ttft_p95_spike_ms = spike.ttft and spike.ttft.p95 * 1000 or stoke.json.null,
      recovered_after_s = recovered or stoke.json.null,
    })
    run:say(recovered and ("Recovered within %.1f s after the spike."):format(recovered)
      or ("Not recovered %.0f s after the spike."):format(p.patience))
  end,
}
