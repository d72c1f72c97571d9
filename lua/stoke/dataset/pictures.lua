-- stoke.dataset.pictures: how models that embed pictures are asked, by the
-- names of vLLM's backends (image_embeddings):
--   clip           a picture stands alone: the text beside it is empty
--   vlm2vec        pictures first, then what to do; of every other request
--                  with the question
--   infinity_clip  Infinity's endpoint: the input is the picture's URL, and
--                  modality says that it is one
-- A message without pictures is a text for all of them.

local pictures = {}

pictures.endpoints = {
  clip = "embeddings_chat", vlm2vec = "embeddings_chat", infinity_clip = "embeddings",
}

-- A message's text and its other parts; nil of a message that is only text.
local function split(q)
  local content = q.messages and q.messages[1].content
  if type(content) ~= "table" then return nil end
  local texts, media = {}, {}
  for _, part in ipairs(content) do
    if part.type == "text" then
      texts[#texts + 1] = part.text
    else
      media[#media + 1] = part
    end
  end
  return table.concat(texts), media
end

local function say(q, content) q.messages = { { role = "user", content = content } } end

local shapes = {}

function shapes.clip(q, _, media)
  table.insert(media, 1, { type = "text", text = "" })
  say(q, media)
end

-- number: of the request, from 0 on; nil of a warm-up.
function shapes.vlm2vec(q, text, media, number)
  local asked = "Represent the given image."
  if number and number % 2 == 1 then
    asked = "Represent the given image with the following question: " .. text
  end
  media[#media + 1] = { type = "text", text = asked }
  say(q, media)
end

function shapes.infinity_clip(q, _, media)
  local kind = media[1].type
  q.messages, q.prompt = nil, media[1][kind].url
  q.extra = { modality = kind:match("^[^_]+") }
end

-- Changes q, a request of a data set, to what the model takes. `written`:
-- its parts are the user's own, who knows what they should be.
function pictures.shape(q, how, number, written)
  local text, media = split(q)
  if not text then return end
  if #media > 0 and not (written and how ~= "infinity_clip") then
    shapes[how](q, text, media, number)
    q.prompt_tokens = nil -- planned for another text
  elseif how == "infinity_clip" then
    q.messages, q.prompt = nil, text
  end
end

return pictures
