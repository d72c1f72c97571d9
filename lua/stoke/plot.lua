-- Curves in the terminal: by gnuplot where it is installed, else a line of
-- blocks with its ends in numbers.

local M = {}

local BLOCKS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

--- One block a value, from the lowest to the highest of them.
function M.sparkline(values)
  local low, high = math.huge, -math.huge
  for _, y in ipairs(values) do low, high = math.min(low, y), math.max(high, y) end
  local out = {}
  for i, y in ipairs(values) do
    local share = high > low and (y - low) / (high - low) or 0
    out[i] = BLOCKS[1 + math.floor(share * (#BLOCKS - 1) + 0.5)]
  end
  return table.concat(out), low, high
end

--- The commands for gnuplot; `points`: { { x, y }, … }.
function M.script(title, xlabel, points)
  local lines = {
    "set terminal dumb 78 18",
    ("set title '%s'"):format(title:gsub("'", "")),
    ("set xlabel '%s'"):format(xlabel:gsub("'", "")),
    "set nokey", "set yrange [0:*]",
    "plot '-' with linespoints",
  }
  for _, p in ipairs(points) do lines[#lines + 1] = ("%.9g %.9g"):format(p[1], p[2]) end
  lines[#lines + 1] = "e\n"
  return table.concat(lines, "\n")
end

local function has_gnuplot() return os.execute("command -v gnuplot >/dev/null 2>&1") == 0 end

--- Draw y over x on the standard output; nothing when there is no point.
function M.draw(title, xlabel, points)
  if #points == 0 then return end
  io.stdout:flush()
  if has_gnuplot() then
    local pipe = io.popen("gnuplot", "w")
    pipe:write(M.script(title, xlabel, points))
    pipe:close()
    return
  end
  local values = {}
  for i, p in ipairs(points) do values[i] = p[2] end
  local line, low, high = M.sparkline(values)
  print(("%-34s %s  %.4g .. %.4g over %s %.6g .. %.6g (gnuplot would draw it)"):format(title,
    line, low, high, xlabel, points[1][1], points[#points][1]))
end

return M
