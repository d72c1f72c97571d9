-- scenarios/sharegpt_turns.lua: whole conversations, a turn after the other
return {
  description = "Recorded conversations with all their turns, from a file",
  params = {
    file = { type = "path", required = true, help = "ShareGPT, or rows with messages" },
    history = { default = "recorded", choices = { "recorded", "live" },
      help = "whose answers the next turn sees: the file's (the same prompts in every run), or "
        .. "the server's" },
    turns = { default = 0, min = 0, type = "integer", help = "of a conversation, at most; 0: all" },
    think = { default = "exp(2s)", type = "dist", help = "how long a user thinks before a turn" },
    max_tokens = { default = 256, min = 1, type = "integer", help = "tokens an answer, at most" },
    shuffle = { default = false, help = "in an order of the seed's, not the file's" },
    when_exhausted = { default = "stop", choices = { "stop", "cycle", "random" },
      help = "after the last conversation" },
    skip_bad_rows = { default = false, help = "count bad rows instead of refusing the file" },
  },

  setup = function(run)
    local params = run.params
    local file = stoke.data.open(params.file, {
      shuffle = params.shuffle,
      when_exhausted = params.when_exhausted,
      skip_bad_rows = params.skip_bad_rows,
      cumulative = "join",
    })
    local turns = file:row(1).turns
    if type(turns) ~= "table" then return nil, file.path .. ": its rows are no conversations" end
    if params.history == "recorded" and type(turns[1]) == "string" then
      return nil, file.path .. ": its turns have no recorded answers; say history=live"
    end
    return file
  end,

  session = function(s)
    local params, row = s.params, s.data:next()
    if not row then return s:stop("every conversation of the file was held") end
    local turns = row.turns
    assert(type(turns) == "table", "this row of the file is no conversation")
    local last = params.turns > 0 and math.min(params.turns, #turns) or #turns
    local chat = s:conversation {
      turns = turns, history = params.history, max_tokens = params.max_tokens,
    }
    s:plan(last)
    for i = 1, last do
      if i > 1 then s:think(params.think) end
      local r = chat:next()
      if not r.ok then return s:fail(r.error) end
    end
  end,
}
