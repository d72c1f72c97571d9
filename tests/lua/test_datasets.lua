-- Which lengths, rows and pictures the data sets draw, in the long run.

local function generator(seed)
  local x = seed
  local rng = {}
  local function uniform()
    x = (x * 16807) % 2147483647
    return x / 2147483647
  end
  function rng.int(_, lo, hi) return lo + math.floor(uniform() * (hi - lo + 1)) end
  function rng:pick(list) return list[self:int(1, #list)] end
  function rng:shuffle(list)
    for i = #list, 2, -1 do
      local j = self:int(1, i)
      list[i], list[j] = list[j], list[i]
    end
    return list
  end
  function rng.weighted(_, weights)
    local sum = 0
    for _, w in ipairs(weights) do sum = sum + w end
    local at = uniform() * sum
    for i, w in ipairs(weights) do
      at = at - w
      if at < 0 then return i end
    end
    return #weights
  end
  function rng:words(n)
    local list = {}
    for i = 1, n do list[i] = "w" .. self:int(1, 1e6) end
    return table.concat(list, " ")
  end
  return rng
end

stoke.rng = generator
stoke.noise_image = function(w, h)
  return {
    url = function() return w .. "x" .. h end,
    video = function(_, _, frames) return w .. "x" .. h .. "x" .. frames end,
  }
end
-- One level of names and numbers is all that is needed here.
stoke.json.decode = function(text)
  local t = {}
  for key, value in text:gmatch('"(%w+)":%s*([%d.]+)') do t[key] = tonumber(value) end
  return t
end

local function words_in(text) return select(2, text:gsub("%S+", "")) end

-- What is printed is no TAP.
local function quietly(f, ...)
  local before = print
  rawset(_G, "print", function() end)
  local result = f(...)
  rawset(_G, "print", before)
  return result
end

local ruler = { kind = "tokenizer", special = 1 }
function ruler.text(_, rng, n, prefix)
  return ((prefix or "") .. " " .. rng:words(n)):match("^%s*(.-)%s*$")
end
function ruler.count(_, text) return words_in(text) + 1 end

local sampling = require "stoke.dataset.sampling"
local defaults = require "stoke.dataset.params"

local function params(changes)
  local p = {}
  for name, declared in pairs(defaults) do p[name] = declared.default end
  for name, value in pairs(changes or {}) do p[name] = value end
  return p
end

-- n requests of a data set, each with random numbers of its own.
local function requests(name, changes, n)
  package.loaded["stoke.dataset." .. name] = nil -- what it kept is the last run's
  local set, p = require("stoke.dataset." .. name), params(changes)
  local data = set.open({ params = p, rng = generator(99) }, ruler)
  if set.prepare then set.prepare(data) end
  local list = {}
  for i = 1, n do
    list[i] = set.request(data, i, { params = p, rng = generator(i * 7919) }, ruler)
  end
  return list, data
end

local function problems(name, changes)
  local found = sampling.problems()
  require("stoke.dataset." .. name).check(params(changes), found)
  return found
end

-- The values of one thing, and how often each came.
local function tally(list, of)
  local seen, low, high = {}, math.huge, -math.huge
  for _, item in ipairs(list) do
    local v = of(item)
    seen[v] = (seen[v] or 0) + 1
    low, high = math.min(low, v), math.max(high, v)
  end
  return seen, low, high
end

describe("random", function()
  it("draws lengths evenly, ends included", function()
    local list = requests("random", { num_prompts = 7000, random_input_len = 11,
      random_output_len = 10, random_range_ratio = "0.3" }, 7000)
    local seen, low, high = tally(list, function(q) return words_in(q.prompt) end)
    equal({ low, high }, { 7, 13 }) -- one of the 11 is the tokenizer's own
    for n = 7, 13 do assert(math.abs(seen[n] - 1000) < 150, n .. ": " .. seen[n]) end
    seen, low, high = tally(list, function(q) return q.output end)
    equal({ low, high }, { 7, 13 })
    for n = 7, 13 do assert(math.abs(seen[n] - 1000) < 150, n .. ": " .. seen[n]) end
  end)

  it("plans what the server will count", function()
    for _, q in ipairs(requests("random", { random_input_len = 20, random_prefix_len = 4 }, 5)) do
      equal(words_in(q.prompt) + 1, q.input)
      equal(q.input, 24)
    end
  end)

  it("makes several texts a request for embeddings", function()
    local list, data = requests("random", { random_input_len = 5, random_batch_size = 4,
      num_prompts = 10 }, 3)
    equal(data.n, 3)
    equal({ #list[1].prompt, #list[3].prompt }, { 4, 2 })
  end)

  it("knows a ratio for each side", function()
    local _, data = requests("random", { random_input_len = 101, random_output_len = 100,
      random_range_ratio = '{"input": 0.5, "output": 0.1}' }, 1)
    equal(data.input, { 50, 150 })
    equal(data.output, { 90, 110 })
  end)

  it("refuses what is no ratio", function()
    for _, ratio in ipairs { "1", "1.0", "-0.1", "half", "{}x", '{"input": 2}' } do
      local text = problems("random", { random_range_ratio = ratio })[1]
      assert(ratio == "{}x" or text and text:find("random_range_ratio", 1, true), ratio)
    end
    equal(#problems("random", { random_range_ratio = "0.99" }), 0)
  end)
end)

describe("rows", function()
  local function take(i) return i % 3 == 0 and i or nil, "odd" end

  it("are taken in order until there are enough", function()
    equal(sampling.collect("f", 30, 4, true, generator(1), take), { 3, 6, 9, 12 })
  end)

  it("are drawn again, evenly, when there are too few", function()
    local list = quietly(sampling.collect, "f", 9, 3003, true, generator(1), take)
    equal(#list, 3003)
    local seen = tally(list, function(i) return i end)
    for _, i in ipairs { 3, 6, 9 } do assert(math.abs(seen[i] - 1000) < 120) end
    equal(#quietly(sampling.collect, "f", 9, 100, false, generator(1), take), 3)
    equal(#sampling.collect("f", 9, 0, true, generator(1), take), 3)
  end)

  it("that are none are an error with the reasons", function()
    local fine, err = pcall(sampling.collect, "f", 2, 5, true, generator(1), take)
    equal(fine, false)
    equal(err.told, "f: none of its 2 rows can be sent: 2 odd")
  end)

  it("are pruned as vLLM does", function()
    local cases = {
      { 3, 100, false, "a prompt of fewer than 4 tokens" },
      { 4, 3, false, "an answer of fewer than 4 tokens" },
      { 4, 3, true }, { 4, 4, false }, { 1024, 1024, false },
      { 1025, 4, false, "a prompt of more than 1024 tokens" },
      { 1024, 1025, false, "more than 2048 tokens with its answer" },
      { 1024, 1025, true, "more than 2048 tokens with its answer" },
    }
    for _, case in ipairs(cases) do
      equal(sampling.unfit(case[1], case[2], case[3]), case[4])
    end
  end)
end)

describe("prefix_repetition", function()
  it("uses each beginning as often as the others", function()
    local list = requests("prefix_repetition", { num_prompts = 103,
      prefix_repetition_prefix_len = 3, prefix_repetition_suffix_len = 2 }, 103)
    local seen, n = {}, 0
    for _, q in ipairs(list) do
      local head = q.prompt:match("^(%S+ %S+ %S+) ")
      equal(q.input, 6)
      if not seen[head] then n = n + 1 end
      seen[head] = (seen[head] or 0) + 1
    end
    equal(n, 10)
    local eleven = 0
    for _, uses in pairs(seen) do
      assert(uses == 10 or uses == 11)
      if uses == 11 then eleven = eleven + 1 end
    end
    equal(eleven, 3)
  end)
end)

describe("random-mm", function()
  it("draws pictures by their weights, and how many evenly", function()
    local list = requests("random_mm", { num_prompts = 3000, random_input_len = 5,
      random_mm_base_items_per_request = 2, random_mm_num_mm_items_range_ratio = 0.5,
      random_mm_bucket_config = "{(10, 20, 1): 0.75, (30, 40, 1): 0.25, (9, 9, 16): 0}" }, 3000)
    local numbers, sizes, all = {}, {}, 0
    for _, q in ipairs(list) do
      local parts = q.messages[1].content
      numbers[#parts - 1] = (numbers[#parts - 1] or 0) + 1
      for i = 2, #parts do
        local url = parts[i].image_url.url
        sizes[url], all = (sizes[url] or 0) + 1, all + 1
      end
    end
    for n = 1, 3 do assert(math.abs(numbers[n] - 1000) < 120, numbers[n]) end
    assert(math.abs(sizes["20x10"] / all - 0.75) < 0.03) -- width by height
    assert(math.abs(sizes["40x30"] / all - 0.25) < 0.03)
  end)

  it("keeps to the limit of pictures", function()
    local _, data = requests("random_mm", { num_prompts = 3000, random_input_len = 5,
      random_mm_base_items_per_request = 2, random_mm_num_mm_items_range_ratio = 0.5,
      random_mm_limit_mm_per_prompt = '{"image": 2, "video": 0}' }, 1)
    equal({ data.least, data.most }, { 1, 2 })
    assert(problems("random_mm", { random_mm_base_items_per_request = 3,
      random_mm_limit_mm_per_prompt = '{"image": 2}' })[1]:find("3 items are more than the limit "
      .. "of 2", 1, true))
  end)

  -- As vLLM: a kind at its limit is drawn no more, and the others share its weight.
  it("draws videos until there are enough", function()
    local list = requests("random_mm", { num_prompts = 2000, random_input_len = 5,
      random_mm_base_items_per_request = 3, random_mm_limit_mm_per_prompt =
      '{"image": 9, "video": 1}', random_mm_bucket_config =
      "{(10, 20, 4): 0.4, (9, 9, 2): 0.1, (30, 40, 1): 0.5}" }, 2000)
    local without, long = 0, 0
    for _, q in ipairs(list) do
      local parts, videos = q.messages[1].content, 0
      equal(#parts, 4)
      for i = 2, 4 do
        if parts[i].type == "video_url" then
          videos = videos + 1
          long = long + (parts[i].video_url.url == "20x10x4" and 1 or 0)
        else
          equal(parts[i].image_url.url, "40x30")
        end
      end
      assert(videos <= 1)
      without = without + (videos == 0 and 1 or 0)
    end
    assert(math.abs(without / 2000 - 0.125) < 0.04, without)
    assert(math.abs(long / (2000 - without) - 0.8) < 0.05, long)
    -- Only a kind that is drawn makes room.
    assert(problems("random_mm", { random_mm_base_items_per_request = 2,
      random_mm_bucket_config = "{(8, 8, 2): 1}" })[1]:find("2 items are more than the limit of 1",
      1, true))
  end)

  it("knows its mistakes", function()
    local function told(said, words)
      local list = problems("random_mm", said)
      assert(#list > 0 and list[1]:find(words, 1, true), list[1])
    end
    equal(#problems("random_mm", {}), 0)
    equal(#problems("random_mm", { random_mm_bucket_config = "{'(8, 8, 2)': 1,}" }), 0)
    told({ random_mm_bucket_config = "8x8" }, "say sizes")
    told({ random_mm_bucket_config = "{(8, 8, 0): 1}" }, "frames 1 and more")
    told({ random_mm_bucket_config = "{(4096, 4096, 9): 1}" }, "at most 134217728 pixels in all")
    told({ random_mm_bucket_config = "{(8, 8, 2): 1}",
      random_mm_limit_mm_per_prompt = '{"image": 2}' }, "the kind video, whose limit is not said")
    told({ random_mm_limit_mm_per_prompt = '{"image": 2, "sound": 1}' }, "how many of each kind")
    told({ random_mm_limit_mm_per_prompt = '{"image": 1.5}' }, "how many of each kind")
  end)
end)

describe("random-rerank", function()
  it("counts documents, and shares the length with the question", function()
    local list, data = requests("random_rerank", { num_prompts = 7, random_batch_size = 3,
      random_input_len = 20 }, 3)
    equal(data.n, 3)
    equal({ #list[1].fields.documents, #list[3].fields.documents }, { 3, 1 })
    equal(words_in(list[1].prompt), 9)
    equal(words_in(list[1].fields.documents[1]), 10)
    list = requests("random_rerank", { num_prompts = 2, random_batch_size = 2,
      random_input_len = 20, no_reranker = true }, 1)
    equal(#list[1].prompt, 3)
  end)
end)

describe("shared random streams", function()
  it("are told apart by kind and key", function()
    local seen = {}
    for _, kind in ipairs { "prefix", "block" } do
      for key = -50, 5000 do
        local n
        stoke.rng = function(x)
          n = x
          return generator(1)
        end
        sampling.rng(kind, key)
        assert(not seen[n] and n >= 0 and n < 2 ^ 53)
        seen[n] = true
      end
    end
    stoke.rng = generator
  end)
end)
