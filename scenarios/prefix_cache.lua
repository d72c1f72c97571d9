-- scenarios/prefix_cache.lua: how much does the server's prefix cache save?
-- Each of `prefixes` long beginnings is used `reuse` times, each time with an
-- ending of its own. The first use is tagged use=first, the others
-- use=again: compare ttft{use=first} with ttft{use=again}.
-- Another --seed has other beginnings, which is a cold cache again; so has the
-- warm-up, or it would use them before they are measured.
local prefixes = {}

-- Beginning number n: the same bytes on every thread and machine.
local function prefix(n, words)
  prefixes[n] = prefixes[n] or ("Case %d. %s"):format(n, stoke.rng(n):words(words))
  return prefixes[n]
end

return {
  version = "1.0",
  description = "Shared system prompts, each used k times; cached tokens and TTFT by use",
  params = {
    prefixes = { default = 16, type = "integer", min = 1, help = "different system prompts" },
    reuse = { default = 8, type = "integer", min = 1, help = "requests for each" },
    words = { default = 1000, type = "integer", min = 1, help = "of a system prompt" },
    max_tokens = { default = 16, type = "integer", min = 1, help = "tokens an answer, at most" },
  },
  metrics = { cached_share = "trend" },

  -- Number 1 to `prefixes` are the first uses, then all again in turn, so a
  -- prefix comes back after all the others.
  request = function(ctx)
    local p, first = ctx.params, ctx.warmup and 2 ^ 32 or 0
    if ctx.id > p.prefixes * p.reuse then return nil end
    return {
      messages = {
        { role = "system", content = prefix(first + (ctx.id - 1) % p.prefixes + 1, p.words) },
        { role = "user", content = ("Question %d: %s?"):format(ctx.id, ctx.rng:words(8)) },
      },
      max_tokens = p.max_tokens,
      tags = { use = ctx.id <= p.prefixes and "first" or "again" },
    }
  end,

  on_response = function(r)
    local u = r.usage
    if r.ok and u and u.cached_tokens and u.prompt_tokens and u.prompt_tokens > 0 then
      stoke.record("cached_share", u.cached_tokens / u.prompt_tokens)
    end
  end,
}
