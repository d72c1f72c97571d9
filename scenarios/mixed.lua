-- scenarios/mixed.lua: two kinds of traffic on one server, each with its own promise
local classes = {
  chat = {
    prompt = "lognormal(200, 0.6)", max_tokens = 150,
    slo = { ttft = "500ms", tpot = "50ms" },
  },
  batch = {
    prompt = "lognormal(3000, 0.4)", max_tokens = 400,
    slo = { e2el = "60s" },
  },
}
for _, class in pairs(classes) do class.prompt = stoke.dist(class.prompt) end

return {
  description = "Short chats and long documents together, with tags and an SLO each",
  params = {
    batch_share = { default = 0.2, min = 0, max = 1, help = "of the requests that are documents" },
  },
  load = { request_rate = 2 },

  request = function(ctx)
    local rng = ctx.rng
    local name = rng:bool(ctx.params.batch_share) and "batch" or "chat"
    local class = classes[name]
    return {
      prompt = "Summarise: " .. rng:words(math.max(1, class.prompt:sample(rng))),
      max_tokens = class.max_tokens,
      tags = { class = name },
      slo = class.slo,
    }
  end,
}
