-- scenarios/long_context.lua: one needle in a long text, at a place of your choice
return {
  description = "Long prompts with a number hidden in them, and whether it was found",
  params = {
    words = { default = "8000", type = "dist", min = 1, help = "length of the text" },
    depth = { default = "uniform(0, 1)", type = "dist",
      help = "where the number stands: 0 is the start, 1 the end" },
    max_tokens = { default = 64, min = 1, type = "integer", help = "tokens an answer, at most" },
  },
  metrics = { found = "rate" },

  -- A session of one request, as what was asked is needed when the answer is there.
  session = function(s)
    local params, rng = s.params, s.rng
    local words = math.max(2, math.floor(params.words:sample(rng)))
    local depth = math.min(1, math.max(0, params.depth:sample(rng)))
    local before, number = math.floor(words * depth), rng:int(100000, 999999)
    local r = s:request {
      prompt = table.concat({
        rng:words(before),
        ("The secret number is %d."):format(number),
        rng:words(words - before),
        "What is the secret number? Answer with the number alone.",
      }, " "),
      prompt_tokens = words + 20,
      max_tokens = params.max_tokens,
      tags = { depth = ("%d%%"):format(math.floor(depth * 4) * 25) },
    }
    if not r.ok then return s:fail(r.error) end
    s:record("found", r.text:find(number, 1, true) ~= nil)
  end,
}
