-- What --plot makes of numbers, before gnuplot sees them.

local plot = require("stoke.plot")

local function histogram(values)
  local h = { count = #values, min = math.huge, max = 0, buckets = {} }
  table.sort(values)
  for i, v in ipairs(values) do
    h.buckets[i] = { v, 2, 1 }
    h.min, h.max = math.min(h.min, v), math.max(h.max, v)
  end
  return h
end

local function sum(bins)
  local n = 0
  for _, b in ipairs(bins) do n = n + b[2] end
  return n
end

describe("plot", function()
  it("draws the lowest and the highest block", function()
    local line, low, high = plot.sparkline({ 1, 8, 4.5 })
    equal({ line, low, high }, { "▁█▅", 1, 8 })
    equal((plot.sparkline({ 3, 3 })), "▁▁")
    equal((plot.sparkline({ 4, 8 }, 0)), "▅█")
  end)

  it("loses no value", function()
    local values = {}
    for i = 1, 1000 do values[i] = 1e6 + i * 1000 end
    local bins, beyond, last = plot.bins(histogram(values), 1e-6)
    equal({ sum(bins), beyond }, { 1000, 0 })
    assert(math.abs(last - 2) < 1e-9)
    for _, b in ipairs(bins) do assert(b[2] == 25 or b[2] == 24 or b[2] == 26, show(bins)) end
  end)

  it("tells what is far away instead of drawing it", function()
    local values = { 9e9 }
    for i = 1, 999 do values[#values + 1] = 1e6 + i * 1000 end
    local bins, beyond, last = plot.bins(histogram(values), 1e-6)
    equal(sum(bins) + beyond, 1000)
    assert(beyond >= 1 and beyond <= 11 and last < 2.1, last)
  end)

  it("bears a single value", function()
    local bins, beyond = plot.bins(histogram({ 5e6, 5e6 }), 1e-6)
    equal({ sum(bins), beyond }, { 2, 0 })
  end)

  it("says what gnuplot understands", function()
    local text = plot.script("it's", "max_concurrency", { { 1, 2 }, { 3, 0.5 } })
    assert(text:find("terminal dumb noenhanced", 1, true))
    assert(text:find("set title 'it s'\n", 1, true))
    assert(text:find("plot '-' with linespoints\n1 2\n3 0.5\ne\n", 1, true))
  end)
end)
