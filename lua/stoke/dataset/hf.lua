-- Data sets of the Hugging Face hub, from files that are on disk already
-- (JSON, JSON Lines). Which one it is says hf_name, or a name in the path.

local sampling = require "stoke.dataset.sampling"

local hf = { file = true }

-- ---- the kinds: a row -> { prompt, output, fields }, or nil and why not ----

local function text(row, name)
  if type(row[name]) == "string" and row[name] ~= "" then return row[name] end
  return nil, "without a text in " .. name
end

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
    row.input or "", instruction) }
end

local function first_turn(row)
  local turns = row.turns or row.prompt
  if type(turns) == "table" and type(turns[1]) == "string" then return { prompt = turns[1] } end
  return nil, "without a text in turns"
end

-- A solution of its own length, within what the models can hold.
local function aimo(row, ctx)
  local problem, why = text(row, "problem")
  local solution, why_too = text(row, "solution")
  if not problem or not solution then return nil, why or why_too end
  local input, output = ctx.count(problem), ctx.count(solution)
  if input > 2048 or input + (ctx.output or output) > 32000 then return nil, "too long" end
  return { prompt = problem, output = output }
end

local ZETA = "### Instruction:\n"
  .. "You are a code completion assistant and your task is to analyze user edits and then "
  .. "rewrite an excerpt that the user provides, suggesting the appropriate edits within the "
  .. "excerpt, taking into account the cursor location.\n\n### User Edits:\n\n%s\n\n"
  .. "### User Excerpt:\n\n%s\n\n### Response:\n\n"

local function zeta(row, ctx)
  local excerpt, why = text(row, "input")
  if not excerpt then return nil, why end
  local output = text(row, "output")
  return { prompt = ZETA:format(row.events or "", excerpt), output = output and ctx.count(output) }
end

local function conversation(row, ctx)
  local first = (row.turns or {})[1]
  if type(first) ~= "table" or not first.prompt or not first.reference then
    return nil, "without a question and an answer"
  end
  local input, output = ctx.count(first.prompt), ctx.count(first.reference)
  local unfit = sampling.unfit(input, output, ctx.output)
  if unfit then return nil, unfit end
  return { prompt = first.prompt, output = output }
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

local function mlperf(row, ctx)
  local question = text(row, "question") or text(row, "input") or text(row, "text_input")
  local answer, why = text(row, "output")
  if not question or not answer then return nil, why or "without a text in question" end
  local system = type(row.system_prompt) == "string" and row.system_prompt ~= ""
    and row.system_prompt .. "\n\n" or ""
  return { prompt = system .. question, output = ctx.count(answer) }
end

-- Functions in the spelling that servers take.
local function tools_of(row, categories)
  if categories and not (" " .. categories:gsub(",", " ") .. " "):find(
    " " .. tostring(row.category) .. " ", 1, true) then
    return nil, "of other categories"
  end
  local functions = row["function"] or row.functions
  if type(functions) ~= "table" then return nil, "without functions" end
  local tools = {}
  for i, f in ipairs(functions[1] and functions or { functions }) do
    tools[i] = { type = "function", ["function"] = f }
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

-- A question and a picture.
local function picture(column)
  return function(row)
    local question = text(row, column) or text(row, "question") or text(row, "prompt")
    local turns = row.conversation
    if not question and type(turns) == "table" then
      local first = turns[1] and (turns[1][1] or turns[1])
      question = type(first) == "table" and first.content or nil
    end
    local image = picture_url(row.image or type(row.images) == "table" and row.images[1]
      or row.images)
    if not question then return nil, "without a question" end
    if type(image) ~= "string" then return nil, "without a picture (a URL or a data URL)" end
    return { messages = { { role = "user", content = {
      { type = "text", text = question },
      { type = "image_url", image_url = { url = image } },
    } } } }
  end
end

local kinds = {
  { "likaixin/InstructCoder", read = instructcoder, output = 200 },
  { "philschmid/mt-bench", read = first_turn, output = 256 },
  { "openai/openai_humaneval", read = plain "prompt", output = 256 },
  { "openai/gsm8k", read = plain "question", output = 256 },
  { "AI-MO/aimo-validation-aime", "AI-MO/NuminaMath-1.5", "AI-MO/NuminaMath-CoT",
    read = aimo, counts = true },
  { "zed-industries/zeta", read = zeta, counts = true },
  { "Aeala/ShareGPT_Vicuna_unfiltered", read = conversation, counts = true },
  { "vdaita/edit_5k_char", "vdaita/edit_10k_char", read = blazedit, output = 4000 },
  { "mgoin/mlperf-inference-llama2-data", "mgoin/mlperf-inference-llama3.1-data", read = mlperf,
    counts = true },
  { "gorilla-llm/Berkeley-Function-Calling-Leaderboard", read = bfcl, output = 512, chat = true },
  { "lmarena-ai/VisionArena-Chat", "lmarena-ai/vision-arena-bench-v0.1",
    read = picture "text", output = 128, chat = true, pictures = true },
  { "Lin-Chen/MMStar", read = picture "question", output = 128, chat = true, pictures = true },
  { "yale-nlp/MMVU", read = picture "question", output = 128, chat = true, pictures = true },
  { "lmms-lab/LLaVA-OneVision-Data", read = picture "question", output = 128,
    chat = true, pictures = true },
}
local audio = {
  "openslr/librispeech_asr", "facebook/voxpopuli", "LIUM/tedlium", "edinburghcstr/ami",
  "speechcolab/gigaspeech", "kensho/spgispeech",
}

-- ---- which one ----

-- By the hub's name, or by its last part somewhere in a path.
local function names(where, id)
  where, id = where:lower(), id:lower()
  return where == id or where:find(id:match("[^/]+$"), 1, true)
    or where:find(id:gsub("/", "--"), 1, true)
end

local function look_up(where)
  for _, kind in ipairs(kinds) do
    for _, id in ipairs(kind) do
      if names(where, id) then return kind end
    end
  end
  local known = {}
  for _, kind in ipairs(kinds) do
    for _, id in ipairs(kind) do known[#known + 1] = id end
  end
  for _, id in ipairs(audio) do
    if names(where, id) then
      return nil, ("%s: it is sound, which is not read from the hub's files; write "
        .. "its recordings out for custom_audio"):format(where)
    end
  end
  return nil, ("Unsupported dataset path: %s. Say by hf_name which data set the file is: %s")
    :format(where, table.concat(known, ", "))
end

local found = {} -- by what it was called

local function find(params)
  local where = params.hf_name or params.dataset_path
  if found[where] then return found[where] end
  local kind, why = look_up(where)
  found[where] = kind
  return kind, why
end

-- A file, or the split in a folder.
local function locate(params)
  local path = params.dataset_path
  if path:sub(1, 1) ~= "/" then
    return nil, ("%s: no such file, and nothing is downloaded here. Once, where there is a "
      .. "network: `huggingface-cli download --repo-type dataset %s --local-dir DIR`, then "
      .. "contrib/parquet_to_jsonl.py for its .parquet files; then say dataset_path=FILE.jsonl and "
      .. "hf_name=%s"):format(path, path, path)
  elseif path:find("%.parquet$") then
    return nil, ("%s: Parquet is not read here; `python3 contrib/parquet_to_jsonl.py %s -o "
      .. "%sjsonl` writes the same rows as JSON Lines"):format(path, path, path:match("^.*%."))
  elseif path:find("%.jsonl?$") then
    return path
  end
  local split = params.hf_split or "train"
  return ("%s/%s%s.jsonl"):format(path, params.hf_subset and params.hf_subset .. "/" or "", split)
end

function hf.check(params, problems)
  if not params.dataset_path then return end
  local _, unknown = find(params)
  local _, missing = locate(params)
  if missing then problems:add("%s", missing) end
  if unknown then problems:add("%s", unknown) end
end

function hf.check_endpoint(endpoint, params, problems)
  local kind = params.dataset_path and find(params)
  local embeds = endpoint == "embeddings_chat" or params.image_embeddings
  if kind and kind.chat and endpoint ~= "chat" and not (kind.pictures and embeds) then
    problems:add("%s: only a chat can take it: endpoint chat (backend openai-chat), not %s",
      kind[1], endpoint)
  end
end

-- Does it need to know lengths? So with answers as long as the recorded ones.
function hf.measuring(params)
  local kind = params.dataset_path and find(params)
  return kind and kind.counts
end

local function forced_output(params) return params.output_len or params.hf_output_len end

local function context(params, ruler)
  return {
    params = params, output = forced_output(params),
    count = function(s) return ruler and ruler:count(s) or math.ceil(#s / 4) end,
  }
end

-- Rows are read twice, and kept as their numbers; recorded lengths are kept
-- too, as only setup can ask a server for them.
function hf.open(run, ruler)
  local params = run.params
  local kind = find(params)
  local file = sampling.open(run, { require = {} }, (locate(params)))
  local ctx = context(params, ruler)
  local function take(i)
    local made, why = kind.read(file:at(i), ctx)
    if not made then return nil, why end
    return { i, ctx.output or kind.output or made.output or 128 }
  end
  return { file = file, rows = sampling.rows(run, file, take) }
end

function hf.request(data, i, ctx)
  local at, output = data.rows[i][1], data.rows[i][2]
  local made = find(ctx.params).read(data.file:at(at), context(ctx.params))
  made.output, made.template = output, true
  return made
end

return hf
