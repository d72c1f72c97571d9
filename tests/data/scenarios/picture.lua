-- A picture as a data URL.
return {
  params = { image = { type = "path", default = "pixel.gif" } },

  setup = function(run)
    local bytes = assert(stoke.read(run.params.image))
    return { url = "data:image/gif;base64," .. stoke.base64(bytes) }
  end,

  request = function(ctx)
    return {
      messages = { { role = "user", content = {
        { type = "text", text = "What is in this picture?" },
        { type = "image_url", image_url = { url = ctx.data.url, detail = "low" } },
      } } },
      max_tokens = 4,
    }
  end,
}
