-- stoke.dataset.sampling: which rows of a file become requests, by the rules
-- of `vllm bench serve`.

local sampling = {}

sampling.SKIP = "skip_bad_rows: say this to leave bad rows out and count them, or mend them"

-- A list of what is wrong, told all at once.
local complaints = {}
complaints.__index = complaints

function sampling.problems() return setmetatable({}, complaints) end

function complaints:add(format, ...) self[#self + 1] = format:format(...) end

-- An error that is the user's: { told = "…" }, without a place in our code.
function sampling.refuse(format, ...) error({ told = format:format(...) }, 0) end

function complaints:raise(advice)
  if #self > 0 and advice then self[#self + 1] = advice end
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

-- The whole numbers around n that differ from it by a share, from `least` on.
-- 100 * 1.1 is a little more than 110 to the machine, and not to us.
function sampling.around(n, share, least)
  return math.max(least, math.floor(n * (1 - share) + 1e-9)),
    math.max(least, math.ceil(n * (1 + share) - 1e-9))
end

-- Open the file of a data set that needs one.
function sampling.open(run, options, path)
  local params = run.params
  options = options or {}
  if options.shuffle == nil then options.shuffle = not params.disable_shuffle end
  options.skip_bad_rows = params.skip_bad_rows
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
-- are drawn again, with replacement, when `again`. What is in `problems` then
-- ends it.
function sampling.collect(what, rows, wanted, again, rng, take, problems)
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
  if problems then problems:raise(sampling.SKIP) end
  local left_out = {}
  for why, n in pairs(reasons) do left_out[#left_out + 1] = ("%d %s"):format(n, why) end
  table.sort(left_out)
  if found == 0 then
    sampling.refuse("%s: none of its %d row%s can be sent: %s", what, rows,
      rows == 1 and "" or "s", table.concat(left_out, "; "))
  end
  if found < wanted then
    print(("%s: %d of %d rows can be sent%s; %s"):format(what, found, rows,
      left_out[1] and " (not " .. table.concat(left_out, ", ") .. ")" or "",
      again and ("some of them more than once, to make %d requests"):format(wanted)
      or "so there will be as many requests"))
  end
  while again and #items < wanted do items[#items + 1] = items[rng:int(1, found)] end
  return items
end

-- Tokens of the answer to a row of the user's own, or nil and why not.
function sampling.own_output(params, row)
  local wanted = params.output_len or params.custom_output_len
  if wanted >= 0 then return wanted end
  local n = tonumber(row.output_tokens)
  if n and n >= 1 and n % 1 == 0 then return n end
  return nil, "no output_tokens of 1 or more, which custom_output_len -1 asks for"
end

-- The same of a file's rows, as many as the run wants. take may say as a
-- third result that the row is bad: that is the user's mistake, and ten are
-- told with their lines, unless such rows are to be skipped.
function sampling.rows(run, file, take)
  local params, problems, skipped = run.params, sampling.problems(), 0
  local function careful(i)
    local item, why, bad = take(i)
    if not bad then return item, why end
    if params.skip_bad_rows then
      skipped = skipped + 1
    else
      problems:add("%s:%d: %s", file.path, file:line(i), why)
      if #problems == 10 then problems:raise(sampling.SKIP) end
    end
    return nil, "bad ones"
  end
  local items = sampling.collect(file.path, #file, params.num_prompts, not params.no_oversample,
    run.rng, careful, problems)
  sampling.tell_skipped(file, skipped)
  return items
end

function sampling.tell_skipped(file, n)
  if n > 0 then print(("%s: %d bad row%s left out"):format(file.path, n, n == 1 and "" or "s")) end
end

-- The numbers of the rows. trouble(i) is what is wrong with row i, or nil.
function sampling.sound_rows(run, file, trouble)
  return sampling.rows(run, file, function(i)
    local why = trouble(i)
    if why then return nil, why, true end
    return i
  end)
end

-- Has the table no other names than these?
function sampling.only(t, names)
  for name in pairs(t) do
    if not names[name] then return false end
  end
  return true
end

-- A number of tokens that a text of them can be made of: whole, `least` or
-- more.
sampling.LONGEST = 2 ^ 24
function sampling.is_length(x, least)
  return type(x) == "number" and x >= least and x <= sampling.LONGEST and x % 1 == 0
end

return sampling
