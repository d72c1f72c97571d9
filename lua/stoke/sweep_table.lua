-- What a sweep shows as it goes: a line a cell, how long it takes, curves.

local cells = require("stoke.cells")
local plot = require("stoke.plot")

local M = {}

local COLUMNS = {
  { "request_throughput", "req/s", "%.2f" }, { "output_throughput", "tok/s", "%.1f" },
  { "ttft.mean", "TTFT ms", "%.1f" }, { "ttft.p99", "p99", "%.1f" },
  { "tpot.mean", "TPOT ms", "%.2f" }, { "tpot.p99", "p99", "%.2f" },
  { "error_rate", "errors", "%.1f %%", 100 },
}

local function show(job, line)
  if job.request.options.csv == "-" or job.request.options.output == "-" then
    io.stderr:write(line, "\n")
  else
    print(line)
    io.stdout:flush()
  end
end

local function shown(level, column)
  local x, width = level.means[column[1]], level.widths[column[1]]
  if not x then return "n/a" end
  local scale = column[4] or 1
  local text = column[3]:format(x * scale)
  return width and text .. " ±" .. column[3]:format(width * scale) or text
end

-- "±" is two bytes and one column.
local function pad(text, width)
  local length = #text:gsub("±", "+")
  return (" "):rep(math.max(0, width - length)) .. text
end

local function widths_of(job)
  local widths = {}
  for k, c in ipairs(job.plan.cells[1]) do
    widths[k] = #c.name
    for _, cell in ipairs(job.plan.cells) do widths[k] = math.max(widths[k], #cell[k].value) end
  end
  return widths
end

function M.head(job)
  job.widths = widths_of(job)
  job.column = job.request.options["repeat"] > 1 and 15 or 9
  local parts = {}
  for k, c in ipairs(job.plan.cells[1]) do parts[k] = pad(c.name, job.widths[k]) end
  for _, c in ipairs(COLUMNS) do parts[#parts + 1] = pad(c[2], job.column) end
  show(job, table.concat(parts, "  "))
end

function M.level(job, level)
  local parts = {}
  for k, c in ipairs(level.cell) do parts[k] = pad(c.value, job.widths[k]) end
  if level.status == "skipped" then
    parts[#parts + 1] = " skipped"
  else
    for _, c in ipairs(COLUMNS) do parts[#parts + 1] = pad(shown(level, c), job.column) end
    if level.status ~= "ok" then parts[#parts + 1] = level.status end
    if level.notes[1] then parts[#parts + 1] = "!" end
  end
  show(job, table.concat(parts, "  "))
  for _, note in ipairs(level.notes) do
    job.host.log(cells.label(level.cell) .. ": " .. note)
  end
end

function M.eta(job, done, began)
  local left = #job.plan.cells - done
  if job.request.options.quiet or job.fresh == 0 or left == 0 then return end
  local each = (job.host.now() - began) / job.fresh
  job.host.log(("%d of %d cells, about %.0f s left"):format(done, #job.plan.cells, each * left))
end

local UNITS = { [""] = 1, ms = 1e-3, s = 1, m = 60, h = 3600 }

-- The --duration of a cell; nil when it has none that is easily read.
local function duration_of(job, cell)
  local text
  local run = job.request.run
  for i, arg in ipairs(run) do
    local name, value = arg:match("^%-+([^=]+)=?(.*)$")
    if name and job.request.flags[name] == "duration" then
      text = value ~= "" and value or run[i + 1]
    end
  end
  for _, c in ipairs(cell) do
    if job.plan.keys[c.name] == "duration" then text = c.value end
  end
  local number, unit = tostring(text):match("^([%d.]+)(%a*)$")
  return tonumber(number) and UNITS[unit] and tonumber(number) * UNITS[unit]
end

-- How long all may take, where that is known before the first.
function M.bound(job)
  local o, sum = job.request.options, 0
  for _, cell in ipairs(job.plan.cells) do
    local one = duration_of(job, cell)
    if not one then return end
    sum = sum + one * o["repeat"]
  end
  sum = sum + o.pause * (#job.plan.cells * o["repeat"] - 1)
  if not o.quiet then
    job.host.log(("%d cells, at most %.0f s and what they drain"):format(#job.plan.cells, sum))
  end
end

-- Cells that differ in the first --vary alone are one curve.
function M.curve_of(job, cell)
  if job.request.options.zip then return "" end
  local parts = {}
  for k = 2, #job.plan.vary do parts[#parts + 1] = cell[k].value end
  return table.concat(parts, ",")
end

-- A curve for each of them, over the first --vary.
function M.draw(job, levels)
  local taken = job.request.options.csv == "-" or job.request.options.output == "-"
  local curves, order = {}, {}
  for _, level in ipairs(levels) do
    local curve = M.curve_of(job, level.cell)
    if not curves[curve] then order[#order + 1] = curve end
    curves[curve] = curves[curve] or {}
    table.insert(curves[curve], level)
  end
  for _, curve in ipairs(order) do
    for _, f in ipairs({ { "output_throughput", "tok/s" }, { "ttft.p99", "p99 TTFT, ms" } }) do
      local points = {}
      for _, level in ipairs(curves[curve]) do
        local x, y = tonumber(level.cell[1].value), level.means[f[1]]
        if x and x < math.huge and y then points[#points + 1] = { x, y } end
      end
      plot.draw(f[2] .. (curve ~= "" and " (" .. curve .. ")" or ""), job.plan.vary[1].name,
        points, taken and io.stderr or io.stdout)
    end
  end
end

return M
