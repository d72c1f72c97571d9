-- Questions about pictures: rows with `prompt` and `image_files`, or with
-- `content`, a list of parts.

local sampling = require "stoke.dataset.sampling"

local image = { file = true, needs_chat = "pictures" }

-- What a server can fetch by itself, and what it gets from us. `read` gets a
-- picture that is sent.
local function url_of(file, path, inline, read)
  if path == "" then error("a picture without a name", 0) end
  if path:find("^data:") or path:find("^https?://") and not inline then return path end
  if path:find("^https?://") then
    error(path .. ": fetching is not done here; put the picture beside the data file, or leave "
      .. "custom_ensure_client_side_data out", 0)
  end
  path = path:gsub("^file://", "")
  if inline then
    local url, why = read(file, path)
    return url or error(why, 0)
  end
  if path:sub(1, 1) ~= "/" then path = (file.path:match("^(.*/)") or "./") .. path end
  return "file://" .. path
end

local function part_of(file, part, inline, read)
  if part.type == "text" and type(part.text) == "string" then
    return { type = "text", text = part.text }
  end
  local source = part.image_url or part.image
  if type(source) == "table" then
    if type(source.url) ~= "string" then return nil end
    local copy = {}
    for key, value in pairs(source) do copy[key] = value end
    copy.url = url_of(file, source.url, inline, read)
    return { type = "image_url", image_url = copy }
  elseif type(source) == "string" then
    return { type = "image_url", image_url = { url = url_of(file, source, inline, read) } }
  end
end

local function parts_of(row)
  if type(row.content) == "table" then return row.content end
  if type(row.prompt) ~= "string" or type(row.image_files) ~= "table" then return nil end
  local parts = { { type = "text", text = row.prompt } }
  for i, path in ipairs(row.image_files) do parts[i + 1] = { type = "image", image = path } end
  return parts
end

-- The message's parts, or nil and why not.
local function content_of(file, row, params, read)
  local inline = params.custom_ensure_client_side_data
  local alone = params.image_embeddings == "infinity_clip"
  local parts, content, pictures = parts_of(row), {}, 0
  if not parts then return nil, "neither prompt and image_files, nor content" end
  if #parts == 0 then return nil, "\"content\" has no parts" end
  for i, part in ipairs(parts) do
    if type(part) ~= "table" then return nil, ("content[%d] is no object"):format(i) end
    local fine, made = pcall(part_of, file, part, inline, read)
    if not fine then return nil, tostring(made) end
    if not made then
      return nil, ("content[%d]: type %s; it takes text, image and image_url"):format(i,
        tostring(part.type))
    end
    content[i] = made
    pictures = pictures + (made.type == "image_url" and 1 or 0)
  end
  if alone and pictures ~= 1 then
    return nil, ("%d pictures; Infinity embeds one a request"):format(pictures)
  end
  return content
end

-- A bad row is refused by the first bytes of its pictures: they are read when
-- they are sent.
function image.open(run)
  local params = run.params
  local file = sampling.open(run, { format = "jsonl", require = {} })
  local rows = sampling.sound_rows(run, file, function(i)
    local row = file:at(i)
    local content, why = content_of(file, row, params, file.media_type)
    return not content and why or select(2, sampling.own_output(params, row))
  end)
  return { file = file, rows = rows }
end

function image.request(data, i, ctx)
  local row = data.file:at(data.rows[i])
  local content, why = content_of(data.file, row, ctx.params, data.file.media)
  if not content then error(why, 0) end -- a file that went away meanwhile
  return { messages = { { role = "user", content = content } },
    written = type(row.content) == "table",
    output = sampling.own_output(ctx.params, row) }
end

return image
