-- Recordings: rows with `audio`, a file beside the data file, to be
-- transcribed; or questions about them (`prompt`), sent in a chat
-- (enable_multimodal_chat).

local sampling = require "stoke.dataset.sampling"

local audio = { file = true, sounds = true }

local forms = { transcriptions = true, translations = true }

function audio.check_endpoint(api, params, problems)
  if params.enable_multimodal_chat and api ~= "chat" then
    problems:add("custom_audio: enable_multimodal_chat sends sound in a chat: endpoint chat "
      .. "(backend openai-chat), not %s", api)
  elseif api == "chat" and not params.enable_multimodal_chat then
    problems:add("custom_audio: say enable_multimodal_chat to send the sound in a chat, or take "
      .. "the endpoint transcriptions (backend openai-audio)")
  elseif api ~= "chat" and not forms[api] then
    problems:add("custom_audio sends sound: endpoint transcriptions or translations (backend "
      .. "openai-audio), or chat with enable_multimodal_chat, not %s", api)
  end
end

function audio.open(run)
  local file = sampling.open(run, { format = "jsonl", require = "audio" })
  local rows = sampling.sound_rows(run, file, function(i)
    local row = file:at(i)
    if type(row.audio) ~= "string" or row.audio == "" then
      return "\"audio\" is no file's name"
    elseif row.prompt ~= nil and type(row.prompt) ~= "string" then
      return "\"prompt\" is no text"
    end
    local kind, why = file:media_type(row.audio)
    if kind and not kind:find("^audio/") then return row.audio .. ": is no sound" end
    return why or select(2, sampling.own_output(run.params, row))
  end)
  return { file = file, rows = rows }
end

-- A file that went away meanwhile is an error.
local function read(data, row)
  local bytes, kind, seconds = data.file:audio(row.audio)
  if not bytes then error(kind, 0) end
  return bytes, kind, seconds
end

local function form_of(bytes, kind, row)
  return { bytes = bytes, type = kind, name = row.audio:match("[^/]+$") }
end

local function parts_of(bytes, kind, row)
  kind = kind:match("/(.*)")
  return { { role = "user", content = {
    { type = "text", text = row.prompt or "" },
    { type = "input_audio", input_audio = { data = stoke.base64(bytes),
      format = kind == "mpeg" and "mp3" or kind } },
  } } }
end

function audio.request(data, i, ctx)
  local row = data.file:at(data.rows[i])
  local bytes, kind, seconds = read(data, row)
  local made = {
    fields = { audio_seconds = seconds },
    output = sampling.own_output(ctx.params, row),
  }
  if ctx.params.enable_multimodal_chat then
    made.messages = parts_of(bytes, kind, row)
  else
    made.fields.file = form_of(bytes, kind, row)
  end
  return made
end

return audio
