-- @NAME@: say here in a line what this load stands for.
--   stoke scenario check @NAME@.lua     what it would send
--   stoke run @NAME@.lua -u URL         the load itself
-- Everything that a scenario may say is in lua/README.md.

return {
  name = "@NAME@",
  version = "1",
  description = "Short questions, one a request",

  -- What people may set with -P name=value; ctx.params has the values.
  params = {
    max_tokens = { default = 128, type = "integer", min = 1, help = "longest answer to ask for" },
  },

  -- The load, where the command line (-c, -R, -n, -d) says nothing else.
  load = { max_concurrency = 4, duration = "30s" },

  -- Once a request. ctx.id counts them, ctx.rng draws the same for the same
  -- id and --seed, on however many threads. Return nil to end the run.
  request = function(ctx)
    local rivers = { "Danube", "Nile", "Amazon", "Mekong" }
    return {
      messages = {
        { role = "system", content = "You answer in two sentences." },
        { role = "user", content = "Tell me about the " .. ctx.rng:pick(rivers) .. "." },
      },
      max_tokens = ctx.params.max_tokens,
    }
  end,

  -- A word on each answer: nothing keeps the verdict, false fails it.
  on_response = function(r)
    if r.ok and #r.text == 0 then return false, "an empty answer" end
  end,
}
