-- scenarios/sharegpt.lua: real questions, each as long as people write them

-- What a row asks first: messages, and the recorded answer if there is one.
-- Rows with `turns` of their own have texts there.
local function question(row)
  local first = type(row.turns) == "table" and row.turns[1]
  if type(first) == "string" then first = { messages = { { role = "user", content = first } } } end
  if type(first) == "table" and first.messages then return first.messages, first.reference end
end

return {
  description = "The first question of each recorded conversation, from a file",
  params = {
    file = { type = "path", required = true, help = "ShareGPT, or rows with messages or a prompt" },
    max_tokens = { default = 0, min = 0, type = "integer",
      help = "tokens an answer, at most; 0: about as many as the recorded one has" },
    shuffle = { default = false, help = "in an order of the seed's, not the file's" },
    when_exhausted = { default = "stop", choices = { "stop", "cycle", "random" },
      help = "after the last row" },
    skip_bad_rows = { default = false, help = "count bad rows instead of refusing the file" },
  },

  -- An open data file is handed to all threads as it is: the rows stay outside.
  setup = function(run)
    local params = run.params
    local file = stoke.data.open(params.file, {
      shuffle = params.shuffle,
      cumulative = "join",
      when_exhausted = params.when_exhausted,
      skip_bad_rows = params.skip_bad_rows,
    })
    if question(file:row(1)) then return file end
    return nil, file.path .. ": its rows have neither conversations, messages nor a text prompt"
  end,

  request = function(ctx)
    local row = ctx.data:next()
    if not row then return nil end
    local messages, answer = question(row)
    assert(messages, "this row of the file has no question")
    local wanted = ctx.params.max_tokens
    if wanted == 0 then
      -- English has about four bytes a token.
      wanted = row.output_len or answer and math.max(1, math.ceil(#answer / 4))
    end
    return { messages = messages, max_tokens = wanted }
  end,
}
