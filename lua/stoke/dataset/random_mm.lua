-- Random words with pictures of noise. How many and of which sizes is drawn
-- from buckets {(height, width, frames): weight}.

local random = require "stoke.dataset.random"

local mm = { measures = true, ignore_eos = true, needs_chat = "pictures" }

-- "{(256, 256, 1): 0.5, (720, 1280, 1): 0.5}" -> { { height, width, frames, weight }, … }
local function buckets(text)
  local list, sum = {}, 0
  local rest = text:gsub("%s", ""):gsub('"', ""):match("^{(.-),?}$")
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

local function limits(text)
  local t = stoke.json.decode((text:gsub("'", '"')))
  if type(t) ~= "table" then return nil end
  local image, video = t.image or 0, t.video or 0
  if type(image) ~= "number" or type(video) ~= "number" then return nil end
  return { image = image, video = video }
end

local function items(params)
  local n, r = params.random_mm_base_items_per_request,
    params.random_mm_num_mm_items_range_ratio
  return math.floor(n * (1 - r)), math.ceil(n * (1 + r))
end

-- How many pictures a request has, at least and at most.
local function numbers(params, most)
  local low, high = items(params)
  return low, math.max(low, math.min(high, most.image))
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
    problems:add('random_mm_limit_mm_per_prompt %s: say {"image": 255, "video": 0}',
      params.random_mm_limit_mm_per_prompt)
  end
  for _, b in ipairs(list or {}) do
    if b[3] > 1 and b[4] > 0 and (not most or most.video > 0) then
      problems:add("random_mm_bucket_config: (%d, %d, %d) is a film, and there is no encoder of "
        .. "films here; give it the weight 0, or say random_mm_limit_mm_per_prompt={\"image\": "
        .. "255, \"video\": 0}", b[1], b[2], b[3])
    end
    if b[3] < 1 or b[1] < 1 or b[2] < 1 or b[1] > 8192 or b[2] > 8192 then
      problems:add("random_mm_bucket_config: (%d, %d, %d): sides are 1 to 8192 pixels, frames 1 "
        .. "and more", b[1], b[2], b[3])
    end
  end
  if list and most and (items(params)) > most.image then
    problems:add("random_mm_base_items_per_request: %d items are more than the limit of %d images",
      (items(params)), most.image)
  end
  local _, pictures = numbers(params, most or { image = 0 })
  if params.image_embeddings == "infinity_clip" and pictures > 1 then
    problems:add("random_mm_base_items_per_request: up to %d pictures a request, and Infinity "
      .. "embeds one", pictures)
  end
  if params.random_batch_size > 1 then
    problems:add("random_batch_size %d: random-mm sends one message a request",
      params.random_batch_size)
  end
end

function mm.open(run, ruler)
  local params = run.params
  local data = random.open(run, ruler)
  data.sizes, data.weights = {}, {}
  for _, b in ipairs(buckets(params.random_mm_bucket_config)) do
    if b[3] == 1 and b[4] > 0 then
      data.sizes[#data.sizes + 1] = { b[1], b[2] }
      data.weights[#data.weights + 1] = b[4]
    end
  end
  data.least, data.most = numbers(params, limits(params.random_mm_limit_mm_per_prompt))
  return data
end

local pictures = {} -- of this thread, by size

function mm.prepare(data)
  for i, size in ipairs(data.sizes) do pictures[i] = stoke.noise_image(size[2], size[1]) end
end

function mm.request(data, i, ctx, ruler)
  local made = random.request(data, i, ctx, ruler)
  local content = { { type = "text", text = made.prompt } }
  for _ = 1, ctx.rng:int(data.least, data.most) do
    local size = ctx.rng:weighted(data.weights)
    content[#content + 1] = { type = "image_url",
      image_url = { url = pictures[size]:url(ctx.rng) } }
  end
  made.prompt, made.messages = nil, { { role = "user", content = content } }
  return made
end

return mm
