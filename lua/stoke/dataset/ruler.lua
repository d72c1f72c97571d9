-- stoke.dataset.ruler: how long texts are, and texts of a wanted length.
-- open(run) -> ruler, on the main thread, in setup; ruler:plain() is what the
-- other threads get as data, and bind(plain) makes a ruler of it again.
-- ruler.kind says what measures, best first:
--   "tokenizer"  the model's own, in this process: exact
--   "server"     the server's /tokenize: texts are made of words that it said
--                are one token each, others are counted by asking
--   "words"      neither: English words, of which the server's first answers
--                say how many tokens they are, and four bytes a token
-- ruler:text(rng, n[, prefix]) -> text of n tokens, behind the prefix
-- ruler:count(text) -> tokens, with those that are put around a prompt
-- ruler.special  how many these are

local sampling = require "stoke.dataset.sampling"

local ruler = {}
ruler.__index = ruler

local BYTES_A_TOKEN = 4
-- Asking the server takes a round trip each: after so many, or so many seconds,
-- the rest is reckoned from its bytes.
local QUESTIONS, PATIENCE = 512, 20
-- How often a text is mended whose tokens cannot be strung together.
local FITTINGS = 32
-- Tokens of a text that tokenizers are compared by.
local SAMPLE = 256
-- Answers that a thread learns from, and how long a prompt must be for what a
-- chat template adds not to matter.
local LESSONS, LONG = 16, 64
-- More than anybody puts around a prompt: who says so counts something else.
local SPECIAL = 64
-- Words of the built-in list that are asked about together.
local CHUNK = 24

-- ---- the server's /tokenize ----

local function ask(run, text, special)
  local r = run:http {
    method = "POST", path = "/tokenize", timeout = "10s",
    body = { model = run.model, prompt = text, add_special_tokens = special },
  }
  if not r.ok then return nil, r.status end
  local answer = r:json()
  if type(answer) ~= "table" then return nil end
  if sampling.is_length(answer.count, 0) then return answer.count end
  return type(answer.tokens) == "table" and #answer.tokens or nil
end

-- Words that the server takes as one token each behind a blank, and those that
-- are one where a text begins.
local function server_words(run)
  local rng, seen, list, heads = stoke.rng(0), {}, {}, {}
  local enough = os.time() + PATIENCE
  for _ = 1, 40 do
    if os.time() > enough and #heads > 0 then break end
    local chunk = {}
    for word in rng:words(4 * CHUNK):gmatch("%S+") do
      if not seen[word] and #chunk < CHUNK then
        seen[word], chunk[#chunk + 1] = true, word
      end
    end
    if #chunk > 0 and ask(run, table.concat(chunk, " "), false) == #chunk then
      heads[#heads + 1] = chunk[1]
      for i = 2, #chunk do list[#list + 1] = chunk[i] end
    end
  end
  return list, heads
end

-- Tokens that are put around a prompt. Some servers refuse an empty one.
local function server_special(run)
  local n, status = ask(run, "", true)
  if n or status ~= 400 and status ~= 422 then return n end
  local with, without = ask(run, "the", true), ask(run, "the", false)
  return with and without and with - without
end

local function open_server(run)
  local special = server_special(run)
  if not sampling.is_length(special, 0) or special > SPECIAL then return nil end
  local words, heads = server_words(run)
  if #words < CHUNK then return nil end
  return setmetatable({ kind = "server", words = words, heads = heads, special = special,
    run = run, asked = 0, reckoned = 0, bytes = 0, tokens = 0, lessons = 0,
    enough = os.time() + PATIENCE }, ruler)
end

-- ---- which one ----

local function open_tokenizer(run)
  local params = run.params
  if params.tokenizer then
    local opened, tokenizer = pcall(stoke.tokenizer.open, params.tokenizer)
    return opened and tokenizer or sampling.refuse("%s", tokenizer)
  end
  if params.skip_tokenizer_init or not run.model:find("/", 1, true) then return nil end
  local found, tokenizer = pcall(stoke.tokenizer.open, run.model)
  return found and tokenizer or nil
end

local function from_tokenizer(tokenizer)
  return setmetatable({ kind = "tokenizer", tokenizer = tokenizer,
    special = tokenizer.special }, ruler)
end

-- Is what we take for n tokens n tokens to the server? True when it can't say.
local function agrees(run, tokenizer)
  local text = tokenizer:random(run.rng, SAMPLE)
  local asked, n = pcall(ask, run, text or "", false)
  if not text or not asked or not n or n == SAMPLE then return true end
  print(("WARNING: tokenizer mismatch (server=%d, expected=%d), so lengths are the server's")
    :format(n, SAMPLE))
  return false
end

-- `align`: ask the server whether it counts as the tokenizer does.
function ruler.open(run, align)
  local mode = run.params.tokenizer_mode
  if mode ~= "auto" and mode ~= "hf" and mode ~= "slow" then
    print(("tokenizer_mode %s: taken as auto, a tokenizer.json or tiktoken's ranks"):format(mode))
  end
  local tokenizer = open_tokenizer(run)
  if tokenizer and (not align or agrees(run, tokenizer)) then return from_tokenizer(tokenizer) end
  local asked, server = pcall(open_server, run)
  if asked and server then return server end
  if tokenizer then return from_tokenizer(tokenizer) end
  return ruler.bind { kind = "words", special = 0 }
end

function ruler:plain()
  return { kind = self.kind, tokenizer = self.tokenizer, words = self.words,
    heads = self.heads, special = self.special }
end

function ruler.bind(plain)
  return setmetatable({ kind = plain.kind, tokenizer = plain.tokenizer, words = plain.words,
    heads = plain.heads, special = plain.special, ratio = 1, seen_words = 0, seen_tokens = 0,
    lessons = plain.kind == "words" and LESSONS or 0 }, ruler)
end

-- What the server says of a prompt that we sent: so many words, so many tokens.
function ruler:learn(words, tokens)
  if self.lessons == 0 or words < LONG then return end
  self.lessons = self.lessons - 1
  self.seen_words, self.seen_tokens = self.seen_words + words, self.seen_tokens + tokens
  self.ratio = math.min(2, math.max(0.5, self.seen_tokens / self.seen_words))
end

-- ---- lengths ----

-- In setup every text may be counted; later the server cannot be asked.
local function ask_and_learn(self, text)
  local n = ask(self.run, text, true)
  if not n then return nil end
  self.asked, self.bytes, self.tokens = self.asked + 1, self.bytes + #text, self.tokens + n
  return n
end

function ruler:count(text)
  if self.kind == "tokenizer" then return self.tokenizer:count(text, true) end
  local asks = self.run and self.asked < QUESTIONS and os.time() <= self.enough
  local n = asks and ask_and_learn(self, text)
  if n then return n end
  self.reckoned = (self.reckoned or 0) + 1
  local share = self.tokens and self.tokens > 0 and self.bytes / self.tokens or BYTES_A_TOKEN
  return math.ceil(#text / share)
end

-- ---- texts ----

local function drawn(words, heads, rng, n)
  if n < 1 then return "" end
  local head = rng:pick(heads)
  return n == 1 and head or head .. " " .. rng:words(n - 1, words)
end

-- For vocabularies without words: cut and filled up until it fits.
local function fitted(tokenizer, rng, n, prefix)
  local text, wanted = prefix, tokenizer:count(prefix) + n
  for _ = 1, FITTINGS do
    local ids = tokenizer:encode(text)
    if #ids == wanted then break end
    if #ids < wanted then
      text = text .. (text ~= "" and " " or "") .. rng:words(math.ceil((wanted - #ids) / 2))
    else
      for i = #ids, wanted + 1, -1 do ids[i] = nil end
      text = tokenizer:decode(ids)
    end
  end
  return text
end

function ruler:text(rng, n, prefix)
  local text
  if self.kind == "tokenizer" then
    return self.tokenizer:random(rng, n, prefix) or fitted(self.tokenizer, rng, n, prefix or "")
  end
  if self.words then
    text = drawn(self.words, self.heads, rng, n)
  else
    text = rng:words(n > 0 and math.max(1, math.floor(n / (self.ratio or 1) + 0.5)) or 0)
  end
  return prefix and prefix ~= "" and n > 0 and prefix .. " " .. text or (prefix or "") .. text
end

return ruler
