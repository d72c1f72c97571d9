-- Results files as they lie around: one run in a file, or JSON Lines.

local files = require("stoke.files")
local vllm_results = require("stoke.vllm_results")

local M = {}

-- What everything here looks into.
local PARTS = { "figures", "latency", "scenario", "load", "client", "outcomes", "series" }

-- The version of the format that is known here.
local SCHEMA = 1

local function all_numbers(list)
  for _, x in pairs(list) do if type(x) ~= "number" then return false end end
  return true
end

local function is_histogram(h)
  if type(h) ~= "table" or type(h.count) ~= "number" or type(h.buckets) ~= "table" then
    return false
  end
  for _, b in ipairs(h.buckets) do
    if type(b) ~= "table" or #b ~= 3 or not all_numbers(b) then return false end
  end
  return true
end

-- Where something stands that nobody can count with. An absent figure is none.
local function odd_place(value)
  local s = value.stoke
  for metric, stats in pairs(s.latency) do
    if type(stats) ~= "table" or not all_numbers(stats) then return "stoke.latency." .. metric end
  end
  for name, x in pairs(s.figures) do
    if type(x) ~= "number" and type(x) ~= "table" then return "stoke.figures." .. name end
  end
  if type(s.figures.completed) ~= "number" then return "stoke.figures.completed" end
  if type(value.completed) ~= "number" then return "completed" end
  for _, name in ipairs({ "done", "tokens" }) do
    local list = s.series[name]
    if type(list) ~= "table" or not all_numbers(list) then return "stoke.series." .. name end
  end
  for metric, h in pairs(s.hist or {}) do
    if not is_histogram(h) then return "stoke.hist." .. metric end
  end
  if type(s.started_at) ~= "string" then return "stoke.started_at" end
end

local function check(name, value)
  if type(value) ~= "table" then return nil, name .. ": not the results of a run" end
  if value.kind == "sweep" then
    return nil, name .. ": is a whole sweep; name the files of its cells"
  end
  if vllm_results.are(value) then vllm_results.adopt(value) end
  if type(value.stoke) ~= "table" then
    return nil, name .. ": not the results of `stoke run` (no \"stoke\" in it), nor of "
      .. "`vllm bench serve`"
  end
  for _, part in ipairs(PARTS) do
    if type(value.stoke[part]) ~= "table" then
      return nil, ("%s: not the results of `stoke run` (no %q in its \"stoke\")"):format(name, part)
    end
  end
  local schema = value.stoke.schema
  if schema ~= nil and schema ~= SCHEMA then
    return nil, ("%s: its schema is %s; this version of stoke reads %d"):format(name,
      tostring(schema), SCHEMA)
  end
  local place = odd_place(value)
  if place then
    return nil, ("%s: its %s is not as `stoke run` writes it"):format(name, place)
  end
  return { name = name, result = value }
end

-- Python writes NaN and Infinity, which are no JSON.
local function decode(host, text)
  local value, why = host.decode(text)
  if value == nil and (text:find("NaN", 1, true) or text:find("Infinity", 1, true)) then
    text = text:gsub("([:,%[]%s*)NaN%f[%W]", "%1null"):gsub("([:,%[]%s*)%-?Infinity%f[%W]",
      "%1\"inf\"")
    value = host.decode(text)
  end
  return value, why or "not the results of a run"
end

local function read_lines(host, path, text, out)
  local number, found = 0, false
  local last = select(2, text:gsub("\n", "")) + 1
  for line in (text .. "\n"):gmatch("(.-)\r?\n") do
    number = number + 1
    if line:find("%S") then
      local value, why = decode(host, line)
      if value then
        local run, wrong = check(path .. ":" .. number, value)
        if not run then return nil, wrong end
        run.path, found = path, true
        out[#out + 1] = run
      elseif found and last == number and text:sub(-1) ~= "\n" then
        host.log(("%s:%d: cut off in the middle, as by a run that was killed; left out"):format(
          path, number))
      else
        return nil, ("%s:%d: %s"):format(path, number, why)
      end
    end
  end
  return out
end

--- Append the runs of a file to `out`: { name, path, result }. nil and why.
function M.read(host, path, out)
  local text, why = files.read(path)
  if not text then return nil, why end
  if not text:find("%S") then return nil, path .. ": is empty" end
  local value = decode(host, text)
  if not value then return read_lines(host, path, text, out) end
  local run, wrong = check(path, value)
  if not run then return nil, wrong end
  run.path, run.alone = path, true
  out[#out + 1] = run
  return out
end

-- The measured requests in the order of time; nil when the lines are not
-- those of this run.
local function requests_of(host, text, result)
  local list = {}
  for line in text:gmatch("[^\n]+") do
    local q = host.decode(line)
    if type(q) ~= "table" or not q.outcome then return nil end
    if q.phase == "measure" and q.outcome == "ok" then list[#list + 1] = q end
  end
  if #list ~= result.completed then return nil end
  table.sort(list, function(a, b) return a.sent_s < b.sent_s end)
  return list
end

--- The request lines beside a run's file, when they are there.
function M.requests(host, run)
  if run.result.stoke.foreign then return vllm_results.requests(run.result) end
  if not run.alone then return nil end
  local stem = run.path:gsub("%.json$", "")
  for _, path in ipairs({ stem .. ".requests.jsonl", stem .. ".jsonl" }) do
    local text = path ~= run.path and files.read(path)
    if text then return requests_of(host, text, run.result) end
  end
end

local BINS = 24

--- What was done (`key` "done"), or its tokens, a second, in equal parts of a
--- run, from its request lines in the order of time. nil when they are few.
function M.rates(list, key)
  list = list or {}
  if #list < 4 * BINS then return nil end
  local first, last, values = list[1].sent_s, 0, {}
  for _, q in ipairs(list) do last = math.max(last, q.done_s) end
  local length = (last - first) / BINS
  for i = 1, BINS do values[i] = 0 end
  for _, q in ipairs(list) do
    local i = math.min(BINS, math.floor((q.done_s - first) / length) + 1)
    values[i] = values[i] + (key == "done" and 1 or q.tokens or 0) / length
  end
  -- It fills up at one end and runs dry at the other.
  table.remove(values)
  table.remove(values, 1)
  return values
end

return M
