-- scenarios/embeddings.lua: texts in, vectors out; an answer has no tokens
local vectors = { embeddings = true, embeddings_chat = true, pooling = true }

local function text(ctx)
  local rng, words = ctx.rng, ctx.params.words
  return ctx.data and rng:pick(ctx.data) or rng:words(math.max(1, words:sample(rng)))
end

return {
  description = "Embeddings of random words or of texts from a file, some a request",
  params = {
    file = { type = "path", help = 'texts: one a line, or rows with a "prompt"' },
    words = { default = "200", type = "dist", min = 1, help = "length of a text without a file" },
    batch = { default = 1, min = 1, max = 2048, help = "texts a request" },
    dimensions = { type = "integer", min = 1, help = "of a vector, where the model lets choose" },
  },

  setup = function(run)
    if run.endpoint == "embeddings_chat" and run.params.batch > 1 then
      return nil, "batch: embeddings_chat takes one text a request"
    end
    return run.params.file and require("stoke.prompts").load(run.params.file)
  end,

  request = function(ctx)
    local params, texts = ctx.params, {}
    for i = 1, params.batch do texts[i] = text(ctx) end
    return {
      -- How its bodies are made: lua/stoke/backends/embeddings.lua
      endpoint = vectors[ctx.endpoint] and ctx.endpoint or "embeddings",
      prompt = params.batch == 1 and texts[1] or texts,
      dimensions = params.dimensions,
    }
  end,
}
