-- scenarios/completions.lua: text to be continued, without a chat around it
return {
  description = "One text completion a request, of random words or from a file",
  params = {
    file = { type = "path", help = 'prompts: one a line, or rows with a "prompt"' },
    words = { default = "200", type = "dist", min = 1, help = "length of a prompt without a file" },
    max_tokens = { default = 128, type = "integer", min = 1, help = "tokens an answer, at most" },
    ignore_eos = { default = false, help = "always generate max_tokens (vLLM and others)" },
  },

  setup = function(run)
    return run.params.file and require("stoke.prompts").load(run.params.file)
  end,

  request = function(ctx)
    local params, rng = ctx.params, ctx.rng
    return {
      endpoint = "completions",
      prompt = ctx.data and rng:pick(ctx.data) or rng:words(math.max(1, params.words:sample(rng))),
      max_tokens = params.max_tokens,
      ignore_eos = params.ignore_eos or nil,
    }
  end,
}
