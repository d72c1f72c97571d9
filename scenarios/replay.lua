-- scenarios/replay.lua: the requests of an OpenAI batch file, byte for byte
return {
  description = "The bodies of an OpenAI batch file, sent as they are",
  params = {
    file = { type = "path", required = true,
      help = 'JSON Lines with "custom_id", "url" and "body"' },
    when_exhausted = { default = "stop", choices = { "stop", "cycle", "random" },
      help = "after the last request" },
    skip_bad_rows = { default = false, help = "count bad rows instead of refusing the file" },
  },

  setup = function(run)
    return stoke.data.open(run.params.file, {
      format = "openai-batch",
      when_exhausted = run.params.when_exhausted,
      skip_bad_rows = run.params.skip_bad_rows,
    })
  end,

  request = function(ctx)
    local row = ctx.data:next()
    return row and { endpoint = row.url, body = row.body }
  end,
}
