-- Prompts from a table, each row with its own length and language.
return {
  params = { file = { type = "path", default = "prompts.csv" } },

  setup = function(run)
    return stoke.data.open(run.params.file, { when_exhausted = "cycle", require = { "prompt", "lang" } })
  end,

  request = function(ctx)
    local row = ctx.data:next()
    return { prompt = row.prompt, max_tokens = tonumber(row.max_tokens), tags = { lang = row.lang } }
  end,
}
