-- stoke.dataset.bench: the hooks of the ready scenario `bench`. A data set is
-- a module of this folder:
--   measures           it needs to know how long texts are (a ruler)
--   file               it is a file: dataset_path
--   ignore_eos         its answers are exactly as long as asked for
--   check(params, problems)         mistakes, before anything is opened
--   open(run, ruler) -> data        plain; data.rows or data.n: how many
--   request(data, i, ctx, ruler)    -> { prompt, messages, fields …,
--                                   input and output: planned tokens }

local Ruler = require "stoke.dataset.ruler"
local sampling = require "stoke.dataset.sampling"

local bench = {}

local function find(name) return require("stoke.dataset." .. name:gsub("-", "_")) end

local function words(list)
  local names = {}
  for name in (list or ""):gmatch("[^%s,]+") do names[#names + 1] = name end
  return names
end

-- ---- setup ----

local used  -- what measured the lengths: for the results
local total -- requests there are, on the main thread

local function check(set, params)
  local problems = sampling.problems()
  if set.check then set.check(params, problems) end
  if set.file and not params.dataset_path then
    problems:add("dataset_path: which file is the data set '%s'?", params.dataset_name)
  end
  if not set.file and params.num_prompts < 1 then
    problems:add("num_prompts %d: the data set '%s' never ends; say how many requests",
      params.num_prompts, params.dataset_name)
  end
  problems:raise()
end

local function open(run)
  local params = run.params
  local set = find(params.dataset_name)
  check(set, params)
  local ruler = (set.measures or params.tokenizer) and Ruler.open(run) or nil
  local data = set.open(run, ruler)
  data.ruler = ruler and ruler:plain()
  data.n = data.n or #data.rows
  total = data.n
  used = ruler and { lengths = ruler.kind,
    tokenizer = ruler.tokenizer and ruler.tokenizer.path }
  if ruler and ruler.kind == "words" and set.measures then
    print("lengths: no tokenizer and no /tokenize, so they are in words, each about a token")
  end
  return data
end

-- The user's mistakes are told without a traceback.
function bench.setup(run)
  local fine, data = pcall(open, run)
  if fine then return data end
  if type(data) == "table" and data.told then return nil, data.told end
  error(data, 0)
end

-- All at once, as many as wanted: what vLLM does when no flag says otherwise.
-- How many a whole file has is not known before setup.
function bench.load(params)
  if params.num_prompts > 0 then
    return { request_rate = math.huge, num_requests = params.num_prompts }
  elseif params.self_timed == false then
    return { duration = 1e6 } -- the end of the file comes first
  end
  return { arrivals = function(i) return i <= total and 0 or nil end }
end

-- ---- requests ----

local set, ruler, loras

local function prepare(ctx)
  set = find(ctx.params.dataset_name)
  ruler = ctx.data.ruler and Ruler.bind(ctx.data.ruler)
  loras = words(ctx.params.lora_modules)
end

-- What depends on the API that is spoken.
local function speak(q, made, ctx)
  local api, params = ctx.endpoint, ctx.params
  local completions = api == "completions"
  if not (completions or api == "chat") then
    if api ~= "embeddings" and api ~= "rerank" then q.max_tokens = made.output end
    return
  end
  q[completions and "max_tokens" or "max_completion_tokens"] = made.output
  q.ignore_eos = (params.ignore_eos or set.ignore_eos) or nil
  if completions then q.logprobs = params.logprobs end
end

local function adapter(ctx, i)
  if #loras == 0 then return nil end
  if ctx.params.lora_assignment == "round-robin" then return loras[(i - 1) % #loras + 1] end
  return ctx.rng:pick(loras)
end

function bench.request(ctx)
  local data = ctx.data
  if not set then prepare(ctx) end
  local i = ctx.id
  if ctx.warmup then
    i = data.n - (i - 1) % data.n -- from the end: what comes first stays cold
  elseif i > data.n then
    return nil
  end
  local made = set.request(data, i, ctx, ruler)
  local q = made.fields or {}
  q.prompt, q.messages, q.prompt_tokens = made.prompt, made.messages, made.input
  q.model = adapter(ctx, i)
  speak(q, made, ctx)
  local prefix = ctx.params.request_id_prefix
  if prefix and not ctx.warmup then q.headers = { ["x-request-id"] = prefix .. (ctx.id - 1) } end
  return q
end

-- ---- the results ----

function bench.summary() return used end

return bench
