-- Curves in the terminal: by gnuplot where it is installed, else a line of
-- blocks with its ends in numbers.

local M = {}

local BLOCKS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

--- One block a value, from the lowest (`low`, when it is given) to the highest
--- of them.
function M.sparkline(values, low)
  local high = -math.huge
  local least = low or math.huge
  for _, y in ipairs(values) do least, high = math.min(least, y), math.max(high, y) end
  local out = {}
  for i, y in ipairs(values) do
    local share = high > least and (y - least) / (high - least) or 0
    out[i] = BLOCKS[1 + math.floor(share * (#BLOCKS - 1) + 0.5)]
  end
  return table.concat(out), least, high
end

--- The commands for gnuplot; `points`: { { x, y }, … }, `style` as it says it.
function M.script(title, xlabel, points, style)
  local function quoted(text) return (text:gsub("['\n]", " ")) end
  local lines = {
    -- "enhanced" text would lower what follows an underscore.
    "set terminal dumb noenhanced 78 18",
    ("set title '%s'"):format(quoted(title)),
    ("set xlabel '%s'"):format(quoted(xlabel)),
    "set nokey", "set yrange [0:*]",
    "plot '-' with " .. (style or "linespoints"),
  }
  for _, p in ipairs(points) do lines[#lines + 1] = ("%.9g %.9g"):format(p[1], p[2]) end
  lines[#lines + 1] = "e\n"
  return table.concat(lines, "\n")
end

local function has_gnuplot() return os.execute("command -v gnuplot >/dev/null 2>&1") == 0 end

-- Into `to`, the standard output or error.
local function run_gnuplot(script, to)
  to:flush()
  local pipe = io.popen("gnuplot" .. (to == io.stderr and " >&2" or "") .. " 2>/dev/null", "w")
  if not pipe then return false end
  pipe:write(script)
  pipe:close()
  return true
end

--- Draw y over x; nothing when there is no point. `to`: io.stdout or io.stderr.
function M.draw(title, xlabel, points, to)
  to = to or io.stdout
  if #points == 0 then return end
  if has_gnuplot() and run_gnuplot(M.script(title, xlabel, points), to) then return end
  local values = {}
  for i, p in ipairs(points) do values[i] = p[2] end
  local line, low, high = M.sparkline(values)
  to:write(("%-34s %s  %.4g .. %.4g over %s %.6g .. %.6g (gnuplot would draw it)\n"):format(
    title, line, low, high, xlabel, points[1][1], points[#points][1]))
end

local BINS = 40
-- What lies beyond this share is told and not drawn: one slow answer would
-- leave no room for the others.
local DRAWN, FAR = 0.99, 2

local function value_at(hist, share)
  local n = 0
  for _, b in ipairs(hist.buckets) do
    n = n + b[3]
    if n >= share * hist.count then return b[1] + b[2] end
  end
  return hist.max
end

--- Bins of a results file's histogram, values times `scale`: { { middle,
--- count }, … }, how many lie beyond the last, and where that ends.
function M.bins(hist, scale)
  local low, high = hist.min, hist.max
  local usual = value_at(hist, DRAWN)
  if high - low > FAR * (usual - low) then high = usual end
  local width = math.max((high - low) / BINS, 1)
  local bins, beyond = {}, 0
  for i = 1, BINS do bins[i] = { (low + (i - 0.5) * width) * scale, 0 } end
  for _, b in ipairs(hist.buckets) do
    local middle = math.min(math.max(b[1] + b[2] / 2, low), hist.max)
    local i = math.max(1, math.ceil((middle - low) / width - 1e-9))
    if i <= BINS then bins[i][2] = bins[i][2] + b[3] else beyond = beyond + b[3] end
  end
  return bins, beyond, high * scale
end

--- How the values of a histogram are spread.
function M.spread(title, xlabel, hist, scale, to)
  to = to or io.stdout
  if not hist or hist.count == 0 then return end
  local bins, beyond, last = M.bins(hist, scale)
  local drawn = has_gnuplot() and run_gnuplot(M.script(title, xlabel, bins, "histeps"), to)
  if not drawn then
    local values = {}
    for i, b in ipairs(bins) do values[i] = b[2] end
    to:write(("%s %s  over %s %.4g .. %.4g (gnuplot would draw it)\n"):format(title,
      M.sparkline(values, 0), xlabel, hist.min * scale, last))
  end
  if beyond > 0 then
    to:write(("%d more beyond %.4g, up to %.4g\n"):format(beyond, last, hist.max * scale))
  end
end

return M
