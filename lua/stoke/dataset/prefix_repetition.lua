-- A few long beginnings, each used by many prompts.

local sampling = require "stoke.dataset.sampling"

local repetition = { measures = true, aligns = true }

local function each_param(params)
  return params.prefix_repetition_prefix_len, params.prefix_repetition_suffix_len,
    params.prefix_repetition_num_prefixes
end

function repetition.check(params, problems)
  local prefix, suffix, n = each_param(params)
  sampling.no_file(params, problems)
  if params.num_prompts < n then
    problems:add("num_prompts %d: fewer than the %d prefixes (prefix_repetition_num_prefixes); "
      .. "each needs one prompt at least", params.num_prompts, n)
  end
  if prefix + suffix < 1 then
    problems:add("prefix_repetition_prefix_len and _suffix_len are both 0: prompts would be empty")
  end
end

-- Which request has which beginning: each as often as the others, but for
-- the first, which take what is left over.
function repetition.open(run)
  local params = run.params
  local _, _, n = each_param(params)
  local turns = {}
  for i = 1, params.num_prompts do turns[i] = (i - 1) % n + 1 end
  return { n = params.num_prompts, turns = run.rng:shuffle(turns) }
end

local prefixes = {} -- of this thread

-- The warm-up has beginnings of its own, or it would warm the measured ones.
local function prefix_of(k, ctx, ruler)
  local key = ctx.warmup and -k or k
  prefixes[key] = prefixes[key]
    or ruler:text(sampling.rng("prefix", key), (each_param(ctx.params)))
  return prefixes[key]
end

function repetition.request(data, i, ctx, ruler)
  local params = ctx.params
  local prefix, suffix = each_param(params)
  return {
    prompt = ruler:text(ctx.rng, suffix, prefix_of(data.turns[i], ctx, ruler)),
    input = prefix + suffix + ruler.special,
    output = params.output_len or params.prefix_repetition_output_len,
  }
end

return repetition
