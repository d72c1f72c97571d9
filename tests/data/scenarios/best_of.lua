-- Ask n times at once, at several temperatures, and take the first answer that
-- is long enough. The others are hung up on.

return {
  description = "Best of n: the first good answer wins",
  params = {
    n = { default = 4, min = 2, help = "how many race" },
    enough = { default = 5, min = 1, help = "tokens of a good answer" },
  },
  metrics = { winner_time = "trend", won = "rate" },
  load = { max_concurrency = 2, num_sessions = 6 },
  thresholds = { "won > 99%", "winner_time.p95 < 60s" },

  session = function(s)
    local racers = {}
    for i = 1, s.params.n do
      racers[i] = function(b)
        local r = b:request {
          prompt = "Race: " .. b.rng:words(20),
          temperature = 0.2 * i,
          max_tokens = 4000 * (i - 1) + s.params.enough,
          tags = { racer = i },
        }
        return r.ok and r.tokens >= s.params.enough and r
      end
    end
    local best, place = s:race(racers)
    s:record("won", best ~= nil)
    if not best then return s:fail("nobody won") end
    s:record("winner_time", best.e2el)
    s:check("the shortest won", place == 1 and best.tags.racer == "1")
  end,
}
