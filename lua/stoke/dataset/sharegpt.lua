-- Recorded conversations: the first question of each, and as many tokens of
-- answer as were given.

local sampling = require "stoke.dataset.sampling"

local sharegpt = { measures = true, file = true }

function sharegpt.open(run, ruler)
  local params = run.params
  local file = sampling.open(run)
  local forced = params.output_len or params.sharegpt_output_len
  local function take(i)
    local first = (file:at(i).turns or {})[1]
    if not first or not first.prompt or not first.reference then
      return nil, "without a question and an answer"
    end
    local input = ruler:count(first.prompt)
    local output = forced or ruler:count(first.reference)
    local why = sampling.unfit(input, output, forced)
    if why then return nil, why end
    return { i, input, output }
  end
  return { file = file, rows = sampling.rows(run, file, take) }
end

-- Where the server finds what a row shows: a URL, or a file of its own.
local function media_part(kind, where)
  if not where:find("^%a+:") then where = "file://" .. where end
  return { type = kind, [kind] = { url = where } }
end

-- Nothing is shown to these.
local takes_text = { completions = true, embeddings = true, pooling = true, ollama_generate = true }

function sharegpt.request(data, i, ctx)
  local item = data.rows[i]
  local row = data.file:at(item[1])
  local made = { prompt = row.turns[1].prompt, input = item[2], output = item[3] }
  local image, video = type(row.image) == "string", type(row.video) == "string"
  if not (image or video) or takes_text[ctx.endpoint]
    and ctx.params.image_embeddings ~= "infinity_clip" then
    return made
  end
  made.messages = { { role = "user", content = {
    { type = "text", text = made.prompt },
    image and media_part("image_url", row.image) or media_part("video_url", row.video),
  } } }
  made.prompt = nil
  return made
end

return sharegpt
