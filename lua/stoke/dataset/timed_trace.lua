-- A trace with times, lengths and hashes of the prompts' blocks (Mooncake,
-- Alibaba): sent at its own times, the same hash giving the same tokens.

local sampling = require "stoke.dataset.sampling"

local trace = { measures = true, file = true, ignore_eos = true, timed = true }

local whole = sampling.is_length

-- A hash as text, by which blocks are told apart: "%.17g" keeps all that a
-- number has, as 64-bit hashes need it.
local function name_of(id) return type(id) == "number" and ("%.17g"):format(id) or id end

-- What is wrong with a row, or nil.
local function trouble(row, labels, block)
  if type(row[labels.timestamp]) ~= "number" then
    return ("no number %s (timed_trace_label_timestamp)"):format(labels.timestamp)
  elseif not whole(row[labels.input], 1) then
    return ("no length %s of 1 to %d (timed_trace_label_input_length)"):format(labels.input,
      sampling.LONGEST)
  elseif not whole(row[labels.output], 0) then
    return ("no length %s of 0 to %d (timed_trace_label_output_length)"):format(labels.output,
      sampling.LONGEST)
  end
  local ids = row[labels.ids]
  if ids == nil then return nil end
  local wanted = math.ceil(row[labels.input] / block)
  if type(ids) ~= "table" or #ids ~= wanted then
    return ("%d tokens are %d blocks of %d (timed_trace_chunk_hash_size), and %s has %s"):format(
      row[labels.input], wanted, block, labels.ids, type(ids) == "table" and #ids or "no list")
  end
  for i, id in ipairs(ids) do
    if type(id) ~= "number" and type(id) ~= "string" then
      return ("%s[%d] is neither a number nor a text"):format(labels.ids, i - 1)
    end
  end
end

local function labels_of(params)
  return {
    timestamp = params.timed_trace_label_timestamp, input = params.timed_trace_label_input_length,
    output = params.timed_trace_label_output_length, ids = params.timed_trace_label_hash_ids,
  }
end

local function read(run, file)
  local params = run.params
  local labels, rows = labels_of(params), {}
  local problems, skipped = sampling.problems(), 0
  local n = params.num_prompts > 0 and math.min(params.num_prompts, #file) or #file
  for i = 1, n do
    local row = file:row(i)
    local why = trouble(row, labels, params.timed_trace_chunk_hash_size)
    if not why then
      rows[#rows + 1] = { i, row[labels.timestamp] }
    elseif params.skip_bad_rows then
      skipped = skipped + 1
    else
      problems:add("%s:%d: %s", file.path, file:line(i), why)
    end
    if #problems == 10 then break end
  end
  problems:raise(sampling.SKIP)
  sampling.tell_skipped(file, skipped)
  if #rows == 0 then sampling.refuse("%s: none of its rows is one of a trace", file.path) end
  if #rows < params.num_prompts then
    print(("%s: a trace is sent once, so there will be %d requests, not %d"):format(file.path,
      #rows, params.num_prompts))
  end
  return rows
end

-- Rows in the order of their times, which count from the first.
function trace.open(run)
  local file = sampling.open(run, { format = "jsonl", require = {}, shuffle = false })
  local rows = read(run, file)
  table.sort(rows, function(a, b) return a[2] < b[2] or a[2] == b[2] and a[1] < b[1] end)
  local order, times, first = {}, {}, rows[1][2]
  for i, row in ipairs(rows) do
    order[i] = row[1]
    times[i] = (row[2] - first) * run.params.timed_trace_sec_multiplier
  end
  return { file = file, rows = order, times = times }
end

-- A block's text depends on its hash alone (and on its length, at the end).
local function blocks(ids, n, block, ctx, ruler)
  local parts = {}
  for i, id in ipairs(ids) do
    local rng = sampling.rng(ctx.warmup and "warm-up" or "block", name_of(id))
    parts[i] = ruler:text(rng, math.min(block, n - (i - 1) * block))
  end
  return table.concat(parts, " ")
end

function trace.request(data, i, ctx, ruler)
  local params, row = ctx.params, data.file:row(data.rows[i])
  local labels = labels_of(params)
  local input, ids = row[labels.input], row[labels.ids]
  local n = math.max(1, input - ruler.special)
  return {
    prompt = ids and blocks(ids, n, params.timed_trace_chunk_hash_size, ctx, ruler)
      or ruler:text(ctx.rng, n),
    input = n + ruler.special,
    output = math.max(1, row[labels.output]),
  }
end

return trace
