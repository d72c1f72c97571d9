-- @NAME@: say here in a line what this user does.
--   stoke scenario check @NAME@.lua     what one session would send
--   stoke run @NAME@.lua -u URL         the load itself
-- Everything that a scenario may say is in lua/README.md.

return {
  name = "@NAME@",
  version = "1",
  description = "A user who asks, reads, and asks again",

  -- What people may set with -P name=value; s.params has the values.
  params = {
    turns = { default = 3, min = 1, type = "integer", help = "questions in a session" },
    think = { default = "lognormal(2s, 0.5)", type = "dist", help = "time to read an answer" },
  },

  -- The load, where the command line (-c, -R, -n, -d) says nothing else.
  load = { session_rate = 1, duration = "30s" },

  -- Once a session, as a coroutine: whatever waits lets the others run.
  session = function(s)
    local chat = s:conversation { max_tokens = 128 }
    for turn = 1, s.params.turns do
      local r = chat:ask(turn == 1 and "Tell me about a river." or "And another one?")
      if not r.ok then return s:fail(r.error) end
      s:check("says something", #r.text > 0)
      s:think(s.params.think)
    end
  end,
}
