-- Data sets of the Hugging Face hub, from files that are on disk already
-- (JSON, JSON Lines). Which one it is says hf_name, or a name in the path.

local known = require "stoke.dataset.hf_kinds"
local sampling = require "stoke.dataset.sampling"

local hf = { file = true }

-- ---- which one ----

-- By the hub's name, or by its last part somewhere in a path.
local function names(where, id)
  where, id = where:lower(), id:lower()
  return where == id or where:find(id:match("[^/]+$"), 1, true)
    or where:find(id:gsub("/", "--"), 1, true)
end

local function look_up(where)
  local ids = {}
  for _, kind in ipairs(known.kinds) do
    for _, id in ipairs(kind) do
      if names(where, id) then return kind end
      ids[#ids + 1] = id
    end
  end
  for _, id in ipairs(known.audio) do
    if names(where, id) then
      return nil, ("%s: it is sound, which is read from files: `python3 "
        .. "contrib/parquet_to_jsonl.py FILE.parquet --files DIR` writes its recordings; then "
        .. "dataset_name=custom_audio, dataset_path=DIR/rows.jsonl, custom_output_len=1024")
        :format(where)
    end
  end
  return nil, ("Unsupported dataset path: %s. Say by hf_name which data set the file is: %s")
    :format(where, table.concat(ids, ", "))
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
  local kind = find(params) or {}
  local split = params.hf_split or kind.split or "train"
  return ("%s/%s%s.jsonl"):format(path, params.hf_subset and params.hf_subset .. "/" or "", split)
end

function hf.check(params, problems)
  if not params.dataset_path then return end
  local _, unknown = find(params)
  local _, missing = locate(params)
  if missing then problems:add("%s", missing) end
  if unknown then problems:add("%s", unknown) end
  if params.blazedit_min_distance > params.blazedit_max_distance then
    problems:add("blazedit_min_distance %g: more than blazedit_max_distance, %g",
      params.blazedit_min_distance, params.blazedit_max_distance)
  end
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

-- Rows are read twice, and kept as their numbers with the lengths of their
-- answers, as only setup can ask a server for these.
function hf.open(run, ruler)
  local params = run.params
  local kind = find(params)
  local file = sampling.open(run, { require = {} }, (locate(params)))
  local ctx = {
    params = params, endpoint = run.endpoint, output = params.output_len or params.hf_output_len,
    count = function(s) return ruler:count(s) end,
  }
  local function take(i)
    local made, why = kind.read(file:at(i), ctx)
    if not made then return nil, why end
    return { i, ctx.output or kind.output or made.output }
  end
  return { file = file, rows = sampling.rows(run, file, take) }
end

function hf.request(data, i, ctx)
  local at, output = data.rows[i][1], data.rows[i][2]
  local kind = find(ctx.params)
  local made = kind.read(data.file:at(at), {
    params = ctx.params, endpoint = ctx.endpoint, output = output,
  })
  made.output, made.template = output, kind.template
  return made
end

return hf
