-- What --plot draws after a run: of a search the curve that it found, else how
-- TTFTs are spread. The request is the results, and where to draw.

local plot = require("stoke.plot")

local AXIS = { request_rate = "requests/s", max_concurrency = "concurrency" }
local CURVES = { { "output_throughput", "tok/s", 1 }, { "ttft_p99", "p99 TTFT, ms", 1e3 } }

local function draw_search(found, to)
  for _, c in ipairs(CURVES) do
    local points = {}
    for _, p in ipairs(found.curve) do
      if p[c[1]] then points[#points + 1] = { p.x, p[c[1]] * c[3] } end
    end
    plot.draw(c[2], AXIS[found.of], points, to)
  end
end

return function(_, request)
  local to = request.to_stderr and io.stderr or io.stdout
  local stoke = request.results.stoke
  local found = stoke.custom and stoke.custom.find
  if request.search and found then
    draw_search(found, to)
  else
    plot.spread("requests by TTFT", "TTFT, ms", stoke.hist and stoke.hist.ttft, 1e-6, to)
  end
  return 0
end
