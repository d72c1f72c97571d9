-- Questions about sound: rows with `prompt` and `audio`, a file beside the
-- data file, sent in the chat (enable_multimodal_chat).

local sampling = require "stoke.dataset.sampling"

local audio = { file = true, needs_chat = "sound" }

function audio.check(params, problems)
  if not params.enable_multimodal_chat then
    problems:add("custom_audio: transcriptions (openai-audio) are uploads of forms, which are not "
      .. "spoken here; say enable_multimodal_chat to send the sound in a chat")
  end
end

function audio.open(run)
  local params = run.params
  local file = sampling.open(run, { format = "jsonl", require = "audio" })
  local function take(i)
    local url, why = file:media(file:at(i).audio)
    if url then return i end
    sampling.refuse("%s:%d: %s", file.path, file:line(i), why)
  end
  return { file = file, rows = sampling.collect(file.path, #file, params.num_prompts,
    not params.no_oversample, run.rng, take) }
end

function audio.request(data, i, ctx)
  local row = data.file:at(data.rows[i])
  local kind, base64 = data.file:media(row.audio):match("^data:audio/(%w+);base64,(.*)$")
  return {
    messages = { { role = "user", content = {
      { type = "text", text = row.prompt or "" },
      { type = "input_audio", input_audio = { data = base64, format = kind == "mpeg" and "mp3"
        or kind } },
    } } },
    output = ctx.params.output_len or ctx.params.custom_output_len,
  }
end

return audio
