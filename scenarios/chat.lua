-- scenarios/chat.lua: one question, one answer, as a chat
local prompts = require "stoke.prompts"

return {
  description = "One chat completion a request, prompts drawn at random",
  params = {
    file = { type = "path", help = 'prompts: one a line, or rows with a "prompt"' },
    max_tokens = { default = 128, type = "integer", min = 1, help = "tokens an answer, at most" },
  },

  -- Once, before any load. What it returns is ctx.data on every thread.
  setup = function(run)
    return run.params.file and prompts.load(run.params.file)
  end,

  request = function(ctx)
    return {
      prompt = ctx.rng:pick(ctx.data or prompts.list),
      max_tokens = ctx.params.max_tokens,
    }
  end,
}
