-- stoke.dataset.hf_kinds: how the rows of each data set of the Hugging Face hub
-- become requests. A kind is its names on the hub, and
--   read(row, ctx)   -> { prompt or messages, output, fields }, or nil and why not;
--                    ctx: params, endpoint, count(text), and output, tokens an
--                    answer when they are known
--   output           tokens an answer; without it as many as were recorded
--   counts           so it needs to know lengths
--   template         its prompts are questions: completions get the chat template
--   chat, pictures   only a chat takes it; it can be embedded as pictures
--   split            which file of a folder, "train" by default

local sampling = require "stoke.dataset.sampling"

local function text(row, name)
  if type(row[name]) == "string" and row[name] ~= "" then return row[name] end
  return nil, "without a text in " .. name
end

-- A text that may be missing.
local function perhaps(row, name) return text(row, name) or "" end

local function plain(column)
  return function(row)
    local prompt, why = text(row, column)
    return prompt and { prompt = prompt }, why
  end
end

local function instructcoder(row)
  local instruction, why = text(row, "instruction")
  if not instruction then return nil, why end
  return { prompt = ("%s\n\n%s Just output the code, do not include any explanation."):format(
    perhaps(row, "input"), instruction) }
end

local function first_turn(row)
  local turns = row.turns or row.prompt
  if type(turns) == "table" and type(turns[1]) == "string" then return { prompt = turns[1] } end
  return nil, "without a text in turns"
end

-- A question with an answer as long as the recorded one, where that is worth
-- measuring. Lengths that the user asks for are taken as they are.
local function recorded(prompt, answer, ctx, most_prompt, most)
  if ctx.output then return { prompt = prompt } end
  local input, output = ctx.count(prompt), ctx.count(answer)
  local unfit = sampling.unfit(input, output, false, most_prompt, most)
  if unfit then return nil, unfit end
  return { prompt = prompt, output = output }
end

local function aimo(row, ctx)
  local problem, why = text(row, "problem")
  local solution, why_too = text(row, "solution")
  if not problem or not solution then return nil, why or why_too end
  return recorded(problem, solution, ctx, 2048, 32000)
end

local ZETA = "### Instruction:\n"
  .. "You are a code completion assistant and your task is to analyze user edits and then "
  .. "rewrite an excerpt that the user provides, suggesting the appropriate edits within the "
  .. "excerpt, taking into account the cursor location.\n\n### User Edits:\n\n%s\n\n"
  .. "### User Excerpt:\n\n%s\n\n### Response:\n\n"

-- The answer is the excerpt again, from where it may be edited.
local EDITABLE = "<|editable_region_start|>"

local function zeta(row, ctx)
  local excerpt, why = text(row, "input")
  local output, why_too = text(row, "output")
  if not excerpt or not output then return nil, why or why_too end
  output = output:sub(output:find(EDITABLE, 1, true) or 1)
  return { prompt = ZETA:format(perhaps(row, "events"), excerpt),
    output = ctx.output or ctx.count(output) }
end

local function conversation(row, ctx)
  local first = (row.turns or {})[1]
  if type(first) ~= "table" or not first.prompt or not first.reference then
    return nil, "without a question and an answer"
  end
  return recorded(first.prompt, first.reference, ctx)
end

local BLAZEDIT = [[Given a code file, please apply the change requests and generate the new file.

Original file:
```python
%s
```

Change request:
%s

Please generate the new code file in the "New file" section below.]]

local function blazedit(row, ctx)
  local code, why = text(row, "code")
  local change, why_too = text(row, "change_request")
  if not code or not change then return nil, why or why_too end
  local distance = tonumber(row.norm_distance)
  if distance and (distance < ctx.params.blazedit_min_distance
    or distance > ctx.params.blazedit_max_distance) then
    return nil, "beyond blazedit_min_distance and _max_distance"
  end
  return { prompt = BLAZEDIT:format(code, change) }
end

-- Instructions and a question: in a chat two messages.
local function mlperf(row, ctx)
  local question, why = text(row, "question")
  local answer, why_too = text(row, "output")
  if not question or not answer then return nil, why or why_too end
  local system = text(row, "system_prompt")
  local made, unfit = recorded(system and system .. "\n\n" .. question or question, answer, ctx)
  if not made then return nil, unfit end
  if system and ctx.endpoint == "chat" then
    made.prompt, made.messages = nil, {
      { role = "system", content = system }, { role = "user", content = question },
    }
  end
  return made
end

-- The types that JSON Schema calls by other names.
local types = { dict = "object", float = "number", tuple = "array", any = "string" }

local function schema(node)
  if type(node) ~= "table" then return node end
  for key, value in pairs(node) do node[key] = schema(value) end
  node.type = types[node.type] or node.type
  return node
end

-- Its files are named after them; a row's id begins with it.
local function category_of(row)
  return row.category or type(row.id) == "string" and row.id:match("^(.-)_%d") or ""
end

-- Functions in the spelling that servers take.
local function tools_of(row, categories)
  if categories and not (" " .. categories:gsub(",", " ") .. " "):find(
    " " .. tostring(category_of(row)) .. " ", 1, true) then
    return nil, "of other categories"
  end
  local functions = row["function"] or row.functions
  if type(functions) ~= "table" then return nil, "without functions" end
  local tools = {}
  for i, f in ipairs(functions[1] and functions or { functions }) do
    if type(f) ~= "table" or type(f.name) ~= "string" then return nil, "without functions" end
    tools[i] = { type = "function", ["function"] = schema(f) }
  end
  return tools
end

local function bfcl(row, ctx)
  local tools, why = tools_of(row, ctx.params.bfcl_categories)
  if not tools then return nil, why end
  local messages = row.question or row.messages
  if type(messages) == "table" and type(messages[1]) == "table" and messages[1][1] then
    messages = messages[1]
  end
  if type(messages) ~= "table" or #messages == 0 then return nil, "without a question" end
  return { messages = messages, fields = { tools = tools, tool_choice = "auto" } }
end

local beginnings = { ["/9j/"] = "jpeg", iVBO = "png", R0lG = "gif", UklG = "webp" }

-- A URL, a data URL, { url = … }, or the bytes as parquet_to_jsonl.py has them.
local function picture_url(image)
  if type(image) ~= "table" then return image end
  local kind = type(image.bytes) == "string" and beginnings[image.bytes:sub(1, 4)]
  if kind then return "data:image/" .. kind .. ";base64," .. image.bytes end
  return image.url
end

local function part(kind, url) return { type = kind, [kind] = { url = url } } end

local function ask(question, media)
  return { messages = { { role = "user", content = {
    { type = "text", text = question }, media,
  } } } }
end

local function picture_of(row)
  local url = picture_url(type(row.images) == "table" and row.images[1] or row.image or row.images)
  if type(url) == "string" then return part("image_url", url) end
  return nil, "without a picture (a URL or a data URL)"
end

-- The first message of the first turn, as vision arenas have it.
local function arena(row)
  local turns = row.conversation or row.turns
  local first = type(turns) == "table" and turns[1]
  if type(first) == "table" and first[1] then first = first[1] end
  local question = type(first) == "table" and first.content or text(row, "text")
  if type(question) ~= "string" then return nil, "without a question" end
  local picture, why = picture_of(row)
  return picture and ask(question, picture), why
end

-- The question without the answers to choose from.
local function mmstar(row)
  local question, why = text(row, "question")
  local picture, why_too = picture_of(row)
  if not question or not picture then return nil, why or why_too end
  question = question:sub(1, (question:find("Options:", 1, true) or 0) - 1)
  return ask(question:match("^%s*(.-)%s*$"), picture)
end

-- A question with the answers to choose from, and a video.
local function mmvu(row)
  local question, why = text(row, "question")
  local video, why_too = text(row, "video")
  if not question or not video then return nil, why or why_too end
  local choices = {}
  for key, value in pairs(type(row.choices) == "table" and row.choices or {}) do
    choices[#choices + 1] = key .. "." .. tostring(value)
  end
  table.sort(choices)
  if not video:find("^%a+:") then video = "file://" .. video end
  return ask(question .. " " .. table.concat(choices, " "), part("video_url", video))
end

-- A recorded conversation about a picture, if the row has one.
local function onevision(row, ctx)
  local made, why = conversation(row, ctx)
  local picture = made and picture_of(row)
  if not picture then return made, why end
  local about = ask(made.prompt, picture)
  about.output = made.output
  return about
end

local kinds = {
  { "likaixin/InstructCoder", read = instructcoder, output = 200, template = true },
  { "philschmid/mt-bench", read = first_turn, output = 256, template = true },
  { "openai/openai_humaneval", read = plain "prompt", output = 256, template = true,
    split = "test" },
  { "openai/gsm8k", read = plain "question", output = 256, template = true, split = "test" },
  { "AI-MO/aimo-validation-aime", "AI-MO/NuminaMath-1.5", "AI-MO/NuminaMath-CoT",
    read = aimo, counts = true },
  { "zed-industries/zeta", read = zeta, counts = true },
  { "Aeala/ShareGPT_Vicuna_unfiltered", read = conversation, counts = true },
  { "vdaita/edit_5k_char", "vdaita/edit_10k_char", read = blazedit, output = 4000,
    template = true },
  { "mgoin/mlperf-inference-llama2-data", "mgoin/mlperf-inference-llama3.1-data", read = mlperf,
    counts = true, template = true },
  { "gorilla-llm/Berkeley-Function-Calling-Leaderboard", read = bfcl, output = 512, chat = true },
  { "lmarena-ai/VisionArena-Chat", "lmarena-ai/vision-arena-bench-v0.1",
    read = arena, output = 128, chat = true, pictures = true },
  { "Lin-Chen/MMStar", read = mmstar, output = 128, chat = true, pictures = true, split = "val" },
  { "yale-nlp/MMVU", read = mmvu, output = 128, chat = true, pictures = true,
    split = "validation" },
  { "lmms-lab/LLaVA-OneVision-Data", read = onevision, counts = true, chat = true,
    pictures = true },
}

-- Those that are sound.
local audio = {
  "openslr/librispeech_asr", "facebook/voxpopuli", "LIUM/tedlium", "edinburghcstr/ami",
  "speechcolab/gigaspeech", "kensho/spgispeech", "esb-datasets-earnings22",
  "Earnings22-Cleaned-AA",
}

return { kinds = kinds, audio = audio }
