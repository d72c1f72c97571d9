-- stoke.search: the highest load at which the SLOs hold.
-- The module is a function: search(options) -> control(run), for a scenario
-- without a control of its own (`stoke find`) or to be called from one:
--   control = function(run)
--     require("stoke.search") { slos = { "ttft.p99 < 500ms" } } (run)
--   end
-- options: of ("request_rate" | "max_concurrency"), slos (list), from, most,
-- factor, precision, window, time_limit (seconds).
--
-- Looks: a point is watched in windows. The first ones only let it settle:
-- until the number in flight and the median TTFT of two windows in turn are
-- alike. Then windows are judged, each by all SLOs, until one verdict leads
-- by two (or seven are in), and until enough was sent to see whether the server
-- keeps up. One that falls behind (what is in flight grows) fails the point at
-- once, and is left alone until it has recovered.

local SETTLE_WINDOWS, JUDGED_WINDOWS, LEAD = 8, 7, 2
local MOST_WINDOWS = 60
-- Fewer completed requests than this say little about a percentile.
local LEAST_COMPLETED = 20
-- What is in flight grows by chance, too: by this many, this multiple of its
-- root, or this share of what is sent nobody falls behind …
local NOISE, NOISE_ROOT, NOISE_SHARE = 4, 1.5, 0.01
-- … and by this share it surely does, however few were sent.
local SURELY = 0.2

local search = {}
search.__index = search

local function alike(a, b, tolerance)
  if not a or not b then return a == b end
  local scale = math.max(math.abs(a), math.abs(b))
  return math.abs(a - b) <= tolerance * scale
end

local function show(x)
  return (x >= 100 and "%.0f" or "%.4g"):format(x)
end

-- ---- one point ----

-- Long enough for a few requests, however slow the rate is.
function search:window_length(x)
  if self.of ~= "request_rate" then return self.window end
  return math.min(math.max(self.window, LEAST_COMPLETED / x), 60)
end

function search:look(x)
  return self.run:measure {
    label = show(x), duration = self:window_length(x),
  }
end

-- So many have to be sent before a growth of --precision stands out from noise.
function search:enough()
  return 1.5 * NOISE / self.precision
end

-- Does the server fall behind? Only a rate can be asked for and not be kept.
function search:falls_behind(point)
  if self.of ~= "request_rate" or point.sent == 0 then return false end
  local noise = math.max(NOISE, NOISE_ROOT * math.sqrt(point.first_in_flight),
    NOISE_SHARE * point.sent)
  return point.grown > noise and
    (point.sent >= self:enough() or point.grown > SURELY * point.sent)
end

function search.count(point, m)
  point.first_in_flight = point.first_in_flight or m.in_flight_begin
  point.sent = point.sent + m.sent
  point.grown = point.grown + m.in_flight - m.in_flight_begin
end

function search:known(point)
  return self.of ~= "request_rate" or point.sent >= self:enough()
end

-- "settled", or why the point failed meanwhile.
function search:settle(x, point)
  local last
  for _ = 1, SETTLE_WINDOWS do
    local m = self:look(x)
    point.last = m
    -- Until answers come back, more in flight is just what a start looks like.
    if last and last.completed > 0 then search.count(point, m) end
    if last and alike(m.in_flight, last.in_flight, 0.15) and
      alike(m.ttft.p50 or m.e2el.p50, last.ttft.p50 or last.e2el.p50, 0.15) then
      break
    end
    if self:falls_behind(point) then return "in flight grows: saturated" end
    last = m
  end
  -- What went on while it settled is no part of the verdict.
  point.sent, point.grown, point.first_in_flight = 0, 0, nil
end

-- true, or false and the reason.
function search:holds(m)
  if m.completed == 0 then return false, "nothing completed" end
  for _, slo in ipairs(self.slos) do
    local ok, value = m:holds(slo)
    if not ok then
      return false, ("%s: %s"):format(slo, value and ("%.4g"):format(value) or "no data")
    end
  end
  if #self.slos == 0 and m.error_rate and m.error_rate > 0.01 then
    return false, ("%.1f %% failed"):format(m.error_rate * 100)
  end
  return true
end

function search:judge(x, point)
  local passed, failed, why = 0, 0, nil
  for n = 1, MOST_WINDOWS do
    local m = self:look(x)
    search.count(point, m)
    point.last = m
    local ok, reason = self:holds(m)
    if ok then passed = passed + 1 else failed, why = failed + 1, reason end
    point.windows = passed + failed
    if self:falls_behind(point) then return false, "in flight grows: saturated" end
    local decided = n >= JUDGED_WINDOWS or math.abs(passed - failed) >= LEAD
    if decided and (failed > passed or self:known(point)) then break end
  end
  if passed > failed then return true end
  return false, why
end

-- No load until nothing is in flight, for at most 30 s.
function search:recover()
  self.run:set { request_rate = 0, max_concurrency = 0 }
  for _ = 1, 30 do
    if self.run:measure({ label = "recovery", duration = 1 }).in_flight == 0 then return end
  end
end

function search:set(x)
  if self.of == "request_rate" then
    self.run:set { request_rate = x, max_concurrency = self.cap }
  else
    self.run:set { request_rate = 0, max_concurrency = x }
  end
end

function search:try(x)
  local point = { sent = 0, grown = 0, windows = 0 }
  self:set(x)
  local why = self:settle(x, point)
  local ok = false
  if not why then ok, why = self:judge(x, point) end
  local m = point.last
  self.curve[#self.curve + 1] = {
    x = x, ok = ok, why = why, windows = point.windows,
    request_throughput = m and m.request_throughput,
    output_throughput = m and m.output_throughput,
    ttft_p50 = m and m.ttft.p50, ttft_p99 = m and m.ttft.p99,
    e2el_p99 = m and m.e2el.p99, in_flight = m and m.in_flight,
    error_rate = m and m.error_rate,
  }
  print(("find: %s %s %s%s"):format(self.of, show(x), ok and "holds" or "breaks",
    why and " (" .. why .. ")" or ""))
  if not ok then self:recover() end
  return ok
end

-- ---- the search ----

function search:out_of_time()
  return self.run.now() - self.began > self.time_limit
end

-- Grow until a point breaks: the last that held, the first that did not.
function search:bracket()
  local x, good = self.from, nil
  while true do
    if self:out_of_time() then return good, nil, "the time was up" end
    if not self:try(x) then return good, x end
    good = x
    if x >= self.most then return good, nil, "it holds at --most" end
    x = math.min(self:rounded(x * self.factor), self.most)
  end
end

-- Slots are whole.
function search:rounded(x)
  return self.of == "request_rate" and x or math.floor(x + 0.5)
end

function search:close_enough(good, bad)
  return bad / good - 1 <= self.precision or
    self.of == "max_concurrency" and bad - good <= 1
end

function search:bisect(good, bad)
  while not self:close_enough(good, bad) do
    if self:out_of_time() then return good, bad, "the time was up" end
    local x = self:rounded(math.sqrt(good * bad))
    if x <= good then x = good + 1 end
    if self:try(x) then good = x else bad = x end
  end
  return good, bad, "known to the precision asked"
end

local function ms(seconds)
  return seconds and ("%.1f"):format(seconds * 1e3) or "n/a"
end

function search:curve_table()
  local line = "%12s  %-6s %10s %11s %11s %10s  %s"
  self.run:say(line:format(self.of == "request_rate" and "req/s" or "concurrency",
    "holds", "done/s", "TTFT p50 ms", "TTFT p99 ms", "tok/s", "why not"))
  for _, p in ipairs(self.curve) do
    self.run:say(line:format(show(p.x), p.ok and "yes" or "no",
      p.request_throughput and show(p.request_throughput) or "n/a", ms(p.ttft_p50),
      ms(p.ttft_p99), p.output_throughput and show(p.output_throughput) or "n/a",
      p.why or ""))
  end
end

function search:report(good, bad, reason)
  table.sort(self.curve, function(a, b) return a.x < b.x end)
  self.run:report("find", {
    of = self.of, slos = stoke.json.array(self.slos), best = good, fails_at = bad,
    stopped_because = reason, curve = stoke.json.array(self.curve),
  })
  self:curve_table()
  if not good then
    self.run:say(("Not even %s %s holds."):format(self.of, show(self.from)))
    error("the first point does not hold: begin lower with --from, or ask for less", 0)
  end
  self.run:say(("Highest %s that holds: %s%s; %s."):format(self.of, show(good),
    bad and (" (%s does not)"):format(show(bad)) or "", reason))
end

function search:control(run)
  self.run, self.curve, self.began = run, {}, run.now()
  local good, bad, reason = self:bracket()
  if good and bad then good, bad, reason = self:bisect(good, bad) end
  self:report(good, bad, reason or "the first point broke")
end

local defaults = {
  of = "request_rate", from = 1, most = 1e5, factor = 2, precision = 0.02,
  window = 2, time_limit = 600, cap = 0,
}

return function(options)
  local self = setmetatable({ slos = {} }, search)
  for name, value in pairs(defaults) do self[name] = value end
  for name, value in pairs(options) do self[name] = value end
  return function(run) self:control(run) end
end
