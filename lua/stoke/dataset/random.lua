-- Random words: exactly as many tokens as wanted.

local sampling = require "stoke.dataset.sampling"

local random = { measures = true, ignore_eos = true, aligns = true }

-- "0.2" or {"input": 0.5, "output": 0} -> shares of input and output.
function random.shares(params, problems)
  local text = params.random_range_ratio
  local input, output = tonumber(text), tonumber(text)
  if not input then
    local both = text:find("^%s*{") and stoke.json.decode(text)
    if type(both) == "table" and sampling.only(both, { input = true, output = true }) then
      input, output = both.input or 0, both.output or 0
    end
  end
  local function fine(x) return type(x) == "number" and x >= 0 and x < 1 end
  if fine(input) and fine(output) then return input, output end
  problems:add("random_range_ratio %s: say a number from 0 to below 1, or {\"input\": 0.5, "
    .. "\"output\": 0}: lengths are drawn from (1 - ratio) to (1 + ratio) of the wanted ones", text)
  return 0, 0
end

function random.input_len(params) return params.input_len or params.random_input_len end
function random.output_len(params) return params.output_len or params.random_output_len end

function random.check(params, problems)
  random.shares(params, problems)
  if random.input_len(params) + params.random_prefix_len < 1 then
    problems:add("random_input_len 0: there is nothing to send; say 1 or more, or a "
      .. "random_prefix_len")
  end
  sampling.no_file(params, problems)
end

function random.check_endpoint(endpoint, params, problems)
  if params.random_batch_size > 1 and (endpoint == "chat" or endpoint == "completions"
    or endpoint == "embeddings_chat") then
    problems:add("random_batch_size %d: several texts a request are for embeddings, not for %s",
      params.random_batch_size, endpoint)
  end
end

function random.open(run, ruler)
  local params = run.params
  local input, output = random.shares(params, {})
  local least = params.random_prefix_len > 0 and 0 or 1 -- a prefix alone is a prompt
  local n = math.max(least, random.input_len(params) - ruler.special)
  local m = random.output_len(params)
  return {
    n = math.max(1, math.ceil(params.num_prompts / params.random_batch_size)),
    input = { sampling.around(n, input, least) }, output = { sampling.around(m, output, 1) },
  }
end

local prefixes = {} -- of this thread: the measurement's, and the warm-up's

-- What all prompts begin with; the warm-up's begin otherwise, or it would
-- warm the measured ones.
local function prefix_of(ctx, ruler)
  local key = ctx.warmup and "warm-up" or "measured"
  prefixes[key] = prefixes[key]
    or ruler:text(sampling.rng("prefix", key), ctx.params.random_prefix_len)
  return prefixes[key]
end

local function draw(data, ctx, ruler)
  local n = ctx.rng:int(data.input[1], data.input[2])
  return ruler:text(ctx.rng, n, prefix_of(ctx, ruler)),
    ctx.params.random_prefix_len + n + ruler.special
end

-- The last batch has what is left.
function random.request(data, i, ctx, ruler)
  local prompts, input, batch = {}, 0, ctx.params.random_batch_size
  for k = 1, math.min(batch, ctx.params.num_prompts - (i - 1) * batch) do
    local n
    prompts[k], n = draw(data, ctx, ruler)
    input = input + n
  end
  return { prompt = batch > 1 and prompts or prompts[1], input = input,
    output = ctx.rng:int(data.output[1], data.output[2]) }
end

return random
