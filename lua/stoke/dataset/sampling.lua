-- stoke.dataset.sampling: which rows of a file become requests, by the rules
-- of `vllm bench serve`.

local sampling = {}

-- A list of what is wrong, told all at once.
local complaints = {}
complaints.__index = complaints

function sampling.problems() return setmetatable({}, complaints) end

function complaints:add(format, ...) self[#self + 1] = format:format(...) end

-- An error that is the user's: { told = "…" }, without a place in our code.
function sampling.refuse(format, ...) error({ told = format:format(...) }, 0) end

function complaints:raise()
  if #self > 0 then sampling.refuse("%s", table.concat(self, "\n")) end
end

function sampling.no_file(params, problems)
  if params.dataset_path then
    problems:add("dataset_path: the data set '%s' has no file; leave it out, or say which data "
      .. "set the file is (dataset_name)", params.dataset_name)
  end
end

-- A random stream of what many requests share, told apart by kind and key.
function sampling.rng(kind, key)
  local n = 0
  for c in (kind .. ":" .. tostring(key)):gmatch(".") do
    n = (n * 31 + c:byte()) % 140737488355213
  end
  return stoke.rng(n)
end

-- The whole numbers around n that differ from it by a share. 100 * 1.1 is a
-- little more than 110 to the machine, and not to us.
function sampling.around(n, share)
  return math.max(1, math.floor(n * (1 - share) + 1e-9)),
    math.max(1, math.ceil(n * (1 + share) - 1e-9))
end

-- Open the file of a data set that needs one.
function sampling.open(run, options, path)
  local params = run.params
  options = options or {}
  if options.shuffle == nil then options.shuffle = not params.disable_shuffle end
  local opened, file = pcall(stoke.data.open, path or params.dataset_path, options)
  if not opened then sampling.refuse("%s", file) end
  return file
end

-- Prompts and answers that are worth measuring, of at most 1024 tokens and
-- 2048 together if nothing else is said. Returns nil, or why not.
function sampling.unfit(prompt, answer, forced, most_prompt, most)
  most_prompt, most = most_prompt or 1024, most or 2048
  if prompt < 4 then return "a prompt of fewer than 4 tokens" end
  if not forced and answer < 4 then return "an answer of fewer than 4 tokens" end
  if prompt > most_prompt then return ("a prompt of more than %d tokens"):format(most_prompt) end
  if prompt + answer > most then return ("more than %d tokens with its answer"):format(most) end
end

-- take(i) -> item, or nil and why not, for the rows 1 to `rows` in their
-- order: until there are `wanted` (all of them when that is below 1). Fewer
-- are drawn again, with replacement, when `again`.
function sampling.collect(what, rows, wanted, again, rng, take)
  local items, reasons = {}, {}
  for i = 1, rows do
    if wanted > 0 and #items == wanted then break end
    local item, why = take(i)
    if item then
      items[#items + 1] = item
    else
      reasons[why] = (reasons[why] or 0) + 1
    end
  end
  local found = #items
  if found == 0 then
    local list = {}
    for why, n in pairs(reasons) do list[#list + 1] = ("%d %s"):format(n, why) end
    table.sort(list)
    sampling.refuse("%s: none of its %d row%s can be sent: %s", what, rows,
      rows == 1 and "" or "s", table.concat(list, "; "))
  end
  if found < wanted then
    print(("%s: %d of %d rows can be sent; %s"):format(what, found, rows,
      again and ("some of them more than once, to make %d requests"):format(wanted)
      or "so there will be as many requests"))
  end
  while again and #items < wanted do items[#items + 1] = items[rng:int(1, found)] end
  return items
end

-- The same of a file's rows, as many as the run wants.
function sampling.rows(run, file, take)
  local params = run.params
  return sampling.collect(file.path, #file, params.num_prompts, not params.no_oversample, run.rng,
    take)
end

-- The numbers of the rows, where a bad one is the user's mistake. trouble(i)
-- is what is wrong with row i, or nil; ten are told.
function sampling.sound_rows(run, file, trouble)
  local problems = sampling.problems()
  local rows = sampling.rows(run, file, function(i)
    local why = trouble(i)
    if why then
      problems:add("%s:%d: %s", file.path, file:line(i), why)
      if #problems == 10 then problems:raise() end
    end
    return i
  end)
  problems:raise()
  return rows
end

return sampling
