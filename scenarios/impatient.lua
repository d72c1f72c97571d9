-- scenarios/impatient.lua: users who hang up
-- Three kinds: those who leave after a while, whatever has come by then, those
-- who stop reading after so many tokens, and those who read to the end. Who
-- hangs up is `cancelled`, which is no failure of the server's.
return {
  version = "1.0",
  description = "Users of whom some hang up: after a while, or when they have read enough",
  params = {
    patience = { default = "lognormal(2s, 0.5)", type = "dist",
      help = "when the hasty leave" },
    hasty = { default = 0.3, min = 0, max = 1, help = "share of users who leave then" },
    skimmers = { default = 0.3, min = 0, max = 1, help = "share of users who stop reading" },
    reads = { default = "uniform(5, 50)", type = "dist", help = "tokens that those read" },
    max_tokens = { default = 256, type = "integer", min = 1, help = "tokens an answer, at most" },
  },
  metrics = { gave_up = "rate" },

  session = function(s)
    local p, kind = s.params, s.rng:uniform(0, 1)
    local request = {
      prompt = "Tell me a long story about " .. s.rng:words(4) .. ".",
      max_tokens = p.max_tokens,
      tags = { user = "patient" },
    }
    if kind < p.hasty then
      request.tags.user = "hasty"
      request.cancel_after = { seconds = math.max(0.001, p.patience:sample(s.rng)) }
    elseif kind < p.hasty + p.skimmers then
      request.tags.user = "skimmer"
      request.cancel_after = { tokens = math.max(1, math.floor(p.reads:sample(s.rng))) }
    end
    local r = s:request(request)
    s:record("gave_up", r.outcome == "cancelled")
  end,
}
