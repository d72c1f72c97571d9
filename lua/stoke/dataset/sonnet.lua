-- Lines of a poem: the first ones begin all prompts, the others are drawn.

local sampling = require "stoke.dataset.sampling"

local sonnet = { measures = true, file = true }

local BASE = "Pick as many lines as you can from these poem lines:\n"
local TRIES = 50

function sonnet.check(params, problems)
  if params.sonnet_prefix_len > params.sonnet_input_len then
    problems:add("sonnet_prefix_len %d: more than sonnet_input_len, %d",
      params.sonnet_prefix_len, params.sonnet_input_len)
  end
end

local function read(path)
  local lines, err = stoke.lines(path)
  if not lines then sampling.refuse("%s", err) end
  local list = {}
  for _, line in ipairs(lines) do
    if line:find("%S") then list[#list + 1] = line .. "\n" end
  end
  if #list == 0 then sampling.refuse("%s: there is no line in it", path) end
  return list
end

function sonnet.open(run, ruler)
  local params = run.params
  local lines, sum = read(params.dataset_path), 0
  for _, line in ipairs(lines) do sum = sum + ruler:count(line) - ruler.special end
  local mean, base = sum / #lines, ruler:count(BASE)
  local function many(tokens) return math.max(0, math.floor((tokens - base) / mean + 0.5)) end
  local prefix, total = many(params.sonnet_prefix_len), many(params.sonnet_input_len)
  if params.sonnet_input_len <= base then
    sampling.refuse("sonnet_input_len %d: the question alone is %d tokens",
      params.sonnet_input_len, base)
  end
  if total < 1 then
    sampling.refuse("%s: its lines have %.0f tokens each, and sonnet_input_len %d leaves room for "
      .. "none", params.dataset_path, mean, params.sonnet_input_len)
  end
  return { n = params.num_prompts, lines = lines, mean = mean, drawn = total - prefix,
    head = BASE .. table.concat(lines, "", 1, math.min(prefix, #lines)) }
end

-- Drawings that come out too long are drawn anew, then with a line less.
function sonnet.request(data, _, ctx, ruler)
  local most, drawn = ctx.params.sonnet_input_len, data.drawn
  local text, n
  for try = 1, TRIES do
    local parts = { data.head }
    for _ = 1, drawn do parts[#parts + 1] = ctx.rng:pick(data.lines) end
    text = table.concat(parts)
    n = ruler:count(text)
    if n <= most or ruler.kind ~= "tokenizer" then break end
    if try % 10 == 0 then drawn = math.max(0, drawn - 1) end
  end
  return { prompt = text, input = n, output = ctx.params.sonnet_output_len }
end

return sonnet
