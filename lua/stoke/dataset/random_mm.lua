-- Random words with pictures and videos of noise. How many and of which sizes
-- is drawn from buckets {(height, width, frames): weight}; one frame is a
-- picture, more are a video.

local random = require "stoke.dataset.random"

local mm = { measures = true, ignore_eos = true, needs_chat = "pictures" }

-- "{(256, 256, 1): 0.5, (720, 1280, 1): 0.5}" -> { { height, width, frames, weight }, … }
local function buckets(text)
  local list, sum = {}, 0
  local rest = text:gsub("[%s\"']", ""):match("^{(.-),?}$")
  if not rest then return nil end
  rest = rest:gsub("%((%d+),(%d+),(%d+)%):([%d.eE+-]+),?", function(h, w, t, p)
    p = tonumber(p)
    if not p or p < 0 then return nil end
    list[#list + 1] = { tonumber(h), tonumber(w), tonumber(t), p }
    sum = sum + p
    return ""
  end)
  if rest ~= "" or sum <= 0 then return nil end
  return list
end

local function kind_of(bucket) return bucket[3] == 1 and "image" or "video" end

-- How many of each kind a request has at most: { image = …, video = … }.
local function limits(text)
  local t = stoke.json.decode((text:gsub("'", '"')))
  if type(t) ~= "table" then return nil end
  for kind, most in pairs(t) do
    if type(most) ~= "number" or most < 0 or most % 1 ~= 0
      or kind ~= "image" and kind ~= "video" then
      return nil
    end
  end
  return t
end

local function items(params)
  local n, r = params.random_mm_base_items_per_request,
    params.random_mm_num_mm_items_range_ratio
  return math.floor(n * (1 - r)), math.ceil(n * (1 + r))
end

-- The limits' sum, of the kinds that are drawn.
local function most_items(list, most)
  local drawn = {}
  for _, b in ipairs(list) do
    if b[4] > 0 then drawn[kind_of(b)] = true end
  end
  return (drawn.image and most.image or 0) + (drawn.video and most.video or 0)
end

-- How many items a request has, at least and at most.
local function numbers(params, list, most)
  local low, high = items(params)
  return low, math.min(high, most_items(list, most))
end

local PIXELS = 2 ^ 27 -- of a video, at most

local function check_bucket(b, most, problems)
  if b[3] < 1 or b[1] < 1 or b[2] < 1 or b[1] > 8192 or b[2] > 8192 then
    problems:add("random_mm_bucket_config: (%d, %d, %d): sides are 1 to 8192 pixels, frames 1 "
      .. "and more", b[1], b[2], b[3])
  elseif b[3] > 1 and b[1] * b[2] * b[3] > PIXELS then
    problems:add("random_mm_bucket_config: (%d, %d, %d): a video has at most %d pixels in all",
      b[1], b[2], b[3], PIXELS)
  elseif b[4] > 0 and not most[kind_of(b)] then
    problems:add("random_mm_limit_mm_per_prompt: (%d, %d, %d) is of the kind %s, whose limit is "
      .. "not said", b[1], b[2], b[3], kind_of(b))
  end
end

local function check_items(params, list, most, problems)
  local low, high = numbers(params, list, most)
  if low > high then
    problems:add("random_mm_base_items_per_request: %d items are more than the limit of %d "
      .. "(random_mm_limit_mm_per_prompt)", low, high)
  end
  if params.image_embeddings == "infinity_clip" and high > 1 then
    problems:add("random_mm_base_items_per_request: up to %d pictures a request, and Infinity "
      .. "embeds one", high)
  end
end

function mm.check(params, problems)
  random.check(params, problems)
  local list, most = buckets(params.random_mm_bucket_config),
    limits(params.random_mm_limit_mm_per_prompt)
  if not list then
    problems:add("random_mm_bucket_config %s: say sizes and their weights, as in "
      .. "{(256, 256, 1): 0.5, (720, 1280, 1): 0.5} (height, width, frames)",
      params.random_mm_bucket_config)
  end
  if not most then
    problems:add('random_mm_limit_mm_per_prompt %s: say how many of each kind, as in '
      .. '{"image": 255, "video": 1}', params.random_mm_limit_mm_per_prompt)
  end
  for _, b in ipairs(most and list or {}) do check_bucket(b, most, problems) end
  if list and most then check_items(params, list, most, problems) end
  if params.random_batch_size > 1 then
    problems:add("random_batch_size %d: random-mm sends one message a request",
      params.random_batch_size)
  end
end

-- The weights of the buckets, where only these kinds may still be drawn.
local function weights(drawn, kinds)
  local list = {}
  for i, b in ipairs(drawn) do list[i] = kinds[kind_of(b)] and b[4] or 0 end
  return list
end

function mm.open(run, ruler)
  local params = run.params
  local list = buckets(params.random_mm_bucket_config)
  local data = random.open(run, ruler)
  data.buckets, data.limits = {}, limits(params.random_mm_limit_mm_per_prompt)
  for _, b in ipairs(list) do
    if b[4] > 0 then data.buckets[#data.buckets + 1] = b end
  end
  data.weights = {
    both = weights(data.buckets, { image = true, video = true }),
    image = weights(data.buckets, { image = true }),
    video = weights(data.buckets, { video = true }),
  }
  data.least, data.most = numbers(params, list, data.limits)
  return data
end

local noise = {} -- of this thread, by bucket

function mm.prepare(data)
  for i, b in ipairs(data.buckets) do noise[i] = stoke.noise_image(b[2], b[1]) end
end

-- A bucket by its weight, among the kinds that have room.
local function draw(data, rng, count)
  local image, video = count.image < (data.limits.image or 0),
    count.video < (data.limits.video or 0)
  local i = rng:weighted(data.weights[image and video and "both" or image and "image" or "video"])
  local kind = kind_of(data.buckets[i])
  count[kind] = count[kind] + 1
  return i, kind
end

local function part(data, rng, count)
  local i, kind = draw(data, rng, count)
  if kind == "image" then
    return { type = "image_url", image_url = { url = noise[i]:url(rng) } }
  end
  return { type = "video_url", video_url = { url = noise[i]:video(rng, data.buckets[i][3]) } }
end

function mm.request(data, i, ctx, ruler)
  local made = random.request(data, i, ctx, ruler)
  local content, count = { { type = "text", text = made.prompt } }, { image = 0, video = 0 }
  for n = 1, ctx.rng:int(data.least, data.most) do
    content[n + 1] = part(data, ctx.rng, count)
  end
  made.prompt, made.messages = nil, { { role = "user", content = content } }
  return made
end

return mm
