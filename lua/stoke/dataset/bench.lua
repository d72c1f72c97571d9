-- stoke.dataset.bench: the hooks of the ready scenario `bench`. A data set is
-- a module of this folder:
--   measures           it needs to know how long texts are (a ruler)
--   aligns             its lengths are checked against the server's /tokenize
--   file               it is a file: dataset_path
--   ignore_eos         its answers are exactly as long as asked for
--   timed              it says when requests leave: data.times
--   needs_chat         what only a chat can take; pictures can be embedded, too
--   sounds             it has recordings, for transcriptions
--   ranks              it has documents, for rerank
--   measuring(params)               measures, if that depends
--   check(params, problems), check_endpoint(name, params, problems)
--                                   mistakes, before anything is opened
--   open(run, ruler) -> data        plain; data.rows or data.n: how many
--   prepare(data)                   once on every thread
--   request(data, i, ctx, ruler)    -> { prompt, messages, fields …,
--                                   input and output: planned tokens;
--                                   template: is a question, not a text;
--                                   written: its parts are the user's own }

local Ruler = require "stoke.dataset.ruler"
local pictures = require "stoke.dataset.pictures"
local sampling = require "stoke.dataset.sampling"
local template = require "stoke.dataset.template"

local bench = {}

local function find(name) return require("stoke.dataset." .. name:gsub("-", "_")) end

-- The API that is spoken; a path that is like none takes a chat's bodies.
local function api_of(endpoint) return endpoint:sub(1, 1) == "/" and "chat" or endpoint end

local function words(list)
  local names = {}
  for name in (list or ""):gmatch("[^%s,]+") do names[#names + 1] = name end
  return names
end

-- ---- setup ----

local used  -- what measured the lengths: for the results
local total -- requests there are, on the main thread
local times -- when they leave, of a data set that says so

local function check_media(set, params, api, problems)
  local how = params.image_embeddings
  local wanted = how and pictures.endpoints[how]
  if how and api ~= wanted then
    problems:add("image_embeddings %s: speaks to the endpoint %s, not %s", how, wanted, api)
  elseif set.needs_chat and api ~= "chat" and api ~= "embeddings_chat"
    and not (how and set.needs_chat == "pictures") then
    problems:add("%s sends %s, which only a chat takes: endpoint chat (backend openai-chat), "
      .. "not %s%s", params.dataset_name, set.needs_chat, api,
      api == "embeddings" and set.needs_chat == "pictures" and "; to embed them: backend "
      .. "openai-embeddings-chat, -clip or -vlm2vec, or infinity-embeddings-clip" or "")
  elseif (api == "transcriptions" or api == "translations") and not set.sounds then
    problems:add("%s has no recordings, which the endpoint %s wants (backend openai-audio): "
      .. "dataset_name custom_audio", params.dataset_name, api)
  elseif api == "rerank" and not set.ranks then
    problems:add("%s has no documents, which the endpoint rerank wants (backend vllm-rerank): "
      .. "dataset_name random-rerank", params.dataset_name)
  end
end

local function check(set, run)
  local problems, params, api = sampling.problems(), run.params, api_of(run.endpoint)
  if set.check then set.check(params, problems) end
  if set.check_endpoint then set.check_endpoint(api, params, problems) end
  check_media(set, params, api, problems)
  if set.file and not params.dataset_path then
    problems:add("dataset_path: which file is the data set '%s'?", params.dataset_name)
  end
  if not set.file and params.num_prompts < 1 then
    problems:add("num_prompts: the data set '%s' never ends; say how many requests, 1 or more",
      params.dataset_name)
  end
  local kwargs = params.chat_template_kwargs
  if kwargs and type(stoke.json.decode(kwargs)) ~= "table" then
    problems:add("chat_template_kwargs %s: say a JSON object", kwargs)
  end
  if params.self_timed and not set.timed then
    problems:add("self_timed: only timed_trace says when its requests leave")
  end
  problems:raise()
end

local function measure(set, run)
  local measures = set.measures or set.measuring and set.measuring(run.params)
  if not measures and not run.params.tokenizer then return nil end
  local ruler = Ruler.open(run, set.aligns)
  used = { lengths = ruler.kind, tokenizer = ruler.tokenizer and ruler.tokenizer.path }
  if ruler.kind == "words" and measures then
    print("lengths: there is no tokenizer and no /tokenize, so they are in words, each about a "
      .. "token")
  end
  return ruler
end

-- The chat template for completions of questions; chats have the server's.
local function wrap(set, run)
  if not set.file or set.measures or run.endpoint ~= "completions"
    or run.params.skip_chat_template then
    return nil
  end
  local asked, found = pcall(template.find, run)
  if asked and found then return found end
  print("chat template: the server does not tell it, so completions get the bare prompts "
    .. "(skip_chat_template says the same; the endpoint chat has the server's)")
end

local function open(run)
  local set = find(run.params.dataset_name)
  check(set, run)
  local ruler = measure(set, run)
  local data = set.open(run, ruler)
  data.ruler = ruler and ruler:plain()
  if ruler and ruler.kind == "server" and ruler.reckoned > 0 then
    used.reckoned = ruler.reckoned
    print(("lengths: the server counted %d texts; those of %d more are reckoned from their bytes")
      :format(ruler.asked, ruler.reckoned))
  end
  data.n = data.n or #data.rows
  data.wrapped = wrap(set, run)
  total, times = data.n, data.times
  data.times = nil
  return data
end

-- The user's mistakes are told without a traceback.
function bench.setup(run)
  local fine, data = pcall(open, run)
  if fine then return data end
  if type(data) == "table" and data.told then return nil, data.told end
  error(data, 0)
end

-- ---- when ----

-- The gap before request i. How many a whole file has, and at what times, is
-- not known before setup.
local function arrivals(i)
  if i > total then return nil end
  return times and times[i] - (times[i - 1] or 0) or 0
end

-- All at once, as many as wanted: what vLLM does when no flag says otherwise.
function bench.load(params)
  local timed = find(params.dataset_name).timed and params.self_timed ~= false
  if params.num_prompts > 0 and not timed then
    return { request_rate = math.huge, num_requests = params.num_prompts }
  elseif params.self_timed == false then
    return { duration = 1e6 } -- the end of the file comes first
  end
  return { arrivals = arrivals }
end

-- ---- requests ----

local set, ruler, loras

local function prepare(ctx)
  set = find(ctx.params.dataset_name)
  ruler = ctx.data.ruler and Ruler.bind(ctx.data.ruler)
  loras = words(ctx.params.lora_modules)
  if set.prepare then set.prepare(ctx.data) end
end

bench.init = prepare

-- ---- learning how many tokens a word is, where nothing else can say ----

local sent = {} -- words of the prompts on their way, by request

local function note(q, id)
  if not ruler or ruler.lessons == 0 or type(q.prompt) ~= "string" then return end
  sent[id] = select(2, q.prompt:gsub("%S+", ""))
end

function bench.on_response(r)
  local words_sent = sent[r.id]
  if not words_sent then return end
  sent[r.id] = nil
  local usage = r.usage
  if usage and usage.prompt_tokens then ruler:learn(words_sent, usage.prompt_tokens) end
end

function bench.exit() return ruler and ruler.seen_words > 0 and ruler.ratio or nil end

-- ---- bodies ----

-- How each API calls the length of an answer; others make none.
local lengths = {
  completions = "max_tokens", chat = "max_completion_tokens", responses = "max_tokens",
  transcriptions = "max_completion_tokens", translations = "max_completion_tokens",
  anthropic = "max_tokens", ollama = "max_tokens", ollama_generate = "max_tokens",
}

-- Those that can be asked for answers of exactly that length.
local endless = {
  completions = true, chat = true, responses = true, transcriptions = true, translations = true,
}

-- What depends on the API that is spoken.
local function speak(q, made, ctx)
  local api, params = api_of(ctx.endpoint), ctx.params
  local completions = api == "completions"
  local name = lengths[api]
  if name and made.output then q[name] = math.max(1, made.output) end
  if not endless[api] then return end
  q.ignore_eos = (params.ignore_eos or set.ignore_eos) or nil
  if completions then
    q.logprobs = params.logprobs
    local around = made.template and ctx.data.wrapped
    if around and q.prompt then q.prompt = around[1] .. q.prompt .. around[2] end
  end
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
  note(q, ctx.id)
  if ctx.params.image_embeddings then
    pictures.shape(q, ctx.params.image_embeddings, not ctx.warmup and ctx.id - 1 or nil,
      made.written)
  end
  local prefix = ctx.params.request_id_prefix
  if prefix and not ctx.warmup then q.headers = { ["x-request-id"] = prefix .. (ctx.id - 1) } end
  return q
end

-- ---- the results ----

-- What measured the lengths; by words, how many tokens one was found to be.
function bench.summary(results)
  local sum, n = 0, 0
  for _, ratio in pairs(results.threads or {}) do
    if type(ratio) == "number" then sum, n = sum + ratio, n + 1 end
  end
  if used and n > 0 then used.tokens_a_word = sum / n end
  return used
end

return bench
