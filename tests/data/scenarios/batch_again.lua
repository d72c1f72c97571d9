-- The bodies of an OpenAI batch once more, at another temperature.

return {
  description = "A batch, sampled another way",
  params = {
    file = { type = "path", required = true, help = "the batch" },
    temperature = { default = 0.2, min = 0, max = 2 },
  },
  setup = function(run)
    return stoke.data.open(run.params.file, { format = "openai-batch" })
  end,
  request = function(ctx)
    local row = ctx.data:next()
    return row and {
      endpoint = row.url,
      body = row.body,
      extra = { temperature = ctx.params.temperature, seed = stoke.json.null, stream = true },
      tags = { custom_id = row.custom_id },
    }
  end,
}
