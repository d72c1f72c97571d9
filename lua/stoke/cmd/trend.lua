-- `stoke trend`: runs in the order of time, those out of the band marked.

local figure = require("stoke.figure")
local results = require("stoke.results")
local sample = require("stoke.sample")

local USUAL = { "request_throughput", "output_throughput", "ttft.p50", "ttft.p99", "tpot.mean",
  "error_rate" }

-- 1.4826 makes the median deviation a standard deviation of normal values.
local WIDTH = 3 * 1.4826

-- The median of all, and how far from it a run may be.
local function band_of(runs, name, narrowest)
  local values, away = {}, {}
  for _, run in ipairs(runs) do values[#values + 1] = figure.get(run.result, name) end
  local middle = sample.median(values)
  if not middle then return nil end
  for i, x in ipairs(values) do away[i] = math.abs(x - middle) end
  local least = name:find("_rate$") and narrowest / 10 or math.abs(middle) * narrowest
  return { middle = middle, width = math.max(WIDTH * sample.median(away), least) }
end

-- -1 worse, 1 better, 0 inside.
local function place_in(band, name, x)
  if not x or not band or math.abs(x - band.middle) <= band.width then return 0 end
  local more = x > band.middle
  return more == figure.more_is_better(name) and 1 or -1
end

local function text_of(name, x)
  if not x then return "n/a" end
  if name:find("_rate$") then return ("%.1f%%"):format(100 * x) end
  return ("%.2f"):format(x)
end

local MARKS = { [-1] = "!", [0] = " ", [1] = "+" }

local function show_run(run, names, bands)
  local parts, worse = { (run.result.stoke.started_at:sub(1, 19):gsub("T", " ")) }, false
  for _, name in ipairs(names) do
    local x = figure.get(run.result, name)
    local place = place_in(bands[name], name, x)
    worse = worse or place < 0
    parts[#parts + 1] = ("%13s%s"):format(text_of(name, x), MARKS[place])
  end
  parts[#parts + 1] = (" %-10s %s"):format(run.result.stoke.scenario.name or "", run.name)
  print(table.concat(parts))
  return worse
end

local SHORT = { request_throughput = "req/s", output_throughput = "tok/s", error_rate = "errors" }

local function show_head(names)
  local parts = { ("%-19s"):format("started (UTC)") }
  for _, name in ipairs(names) do parts[#parts + 1] = ("%13s "):format(SHORT[name] or name) end
  parts[#parts + 1] = (" %-10s %s"):format("scenario", "file")
  print(table.concat(parts))
end

local function warn_of_mixtures(host, runs)
  local first = runs[1].result.stoke
  for _, run in ipairs(runs) do
    local s = run.result.stoke
    if s.scenario.sha256 ~= first.scenario.sha256
      or s.load.max_concurrency ~= first.load.max_concurrency
      or s.load.request_rate ~= first.load.request_rate then
      host.log(("%s: not the same scenario or load as %s"):format(run.name, runs[1].name))
    end
  end
end

return function(host, request)
  local o, runs, ok = request.options, {}, true
  for _, path in ipairs(request.files) do
    local read, why = results.read(host, path, runs)
    if not read then host.log(why) end
    ok = ok and read
  end
  local names = #o.metric > 0 and o.metric or USUAL
  for _, name in ipairs(names) do
    if not figure.known(name) then
      host.log("--metric " .. name .. ": no such figure")
      ok = false
    end
  end
  if ok and #runs == 0 then host.log("name the results files") end
  if not ok or #runs == 0 then return 2 end
  table.sort(runs, function(a, b) return a.result.stoke.started_at < b.result.stoke.started_at end)
  warn_of_mixtures(host, runs)
  local bands, worse, any = {}, false, false
  for _, name in ipairs(names) do bands[name] = band_of(runs, name, o.band / 100) end
  show_head(names)
  for _, run in ipairs(runs) do
    worse = show_run(run, names, bands)
    any = any or worse
  end
  print(("median and band of %d runs: ! out of it and worse, + out of it and better"):format(
    #runs))
  return (worse or o.fail_on_any and any) and 99 or 0
end
