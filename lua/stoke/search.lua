-- stoke.search: the highest load at which the SLOs hold.
-- The module is a function: search(options) -> control(run), for a scenario
-- without a control of its own (`stoke find`) or to be called from one:
--   control = function(run)
--     return require("stoke.search") { slos = { "ttft.p99 < 500ms" } } (run)
--   end
-- It returns nil and why when no point holds. options: of ("request_rate" |
-- "max_concurrency"), slos (list), from, most, factor, precision, window,
-- time_limit (seconds), arrival ("constant" when gaps are; anything else is
-- random), burstiness (of gamma arrivals; 1 is Poisson).
--
-- Looks: a point is watched in windows. The first ones only let it settle:
-- until the number in flight and the median TTFT of two windows in turn are
-- alike. Then windows are judged, each and all together, by all SLOs, until the
-- verdict leads by some (or nine are in), and until enough was sent to see
-- whether the server keeps up. One that falls behind (what is in flight grows)
-- fails the point at once, and is left alone until it has recovered.
-- Growth is quick: its windows are too short for a far percentile, and too few
-- to tell a small overload from arrivals that came close together. Bisection is
-- thorough, and so is the last look at the answer.
-- Random arrivals hide an overload of e until some (2/e)^2 of them were sent,
-- and answers of any length do as much. So growth only raises a suspicion, and
-- users take the place of the arrivals: as many as are in flight keep the queue
-- standing, its length is left to no chance, and what the server completes is
-- what it can. A rate above that breaks; without an SLO the search goes on right
-- beside it.

local SETTLE_WINDOWS, JUDGED_WINDOWS, LEAD, SAFE_LEAD = 8, 9, 2, 4
local MOST_WINDOWS = 60
-- Seconds: the longest window (of a search that may take long: this share of
-- its time), and the longest wait for a first answer.
local LONGEST, LONGEST_SHARE, PATIENCE = 60, 0.05, 120
-- Seconds without an answer after which an overloaded server is let be.
local RECOVERY = 30
-- Fewer completed requests than this (in passing) say little about a middle …
local LEAST_COMPLETED, LEAST_IN_PASSING = 20, 10
-- … and a window has to be longer than answers take, or it sees half a wave.
local ANSWERS = 4
-- After so many times as long as answers take most have come back, long ones, too.
local ANSWERED = 2
-- What is in flight grows by chance, too: by this many, this multiple of its
-- root, or this share of what is sent nobody falls behind …
local NOISE, NOISE_ROOT, NOISE_SHARE = 4, 1.5, 0.01
-- … and by this multiple of the root of what was sent at random. So it takes
-- that many to see that a server without an SLO keeps up with them …
local ARRIVALS, ENOUGH_AT_RANDOM = 1.5, 3000
-- … and by this share it surely does, however few were sent.
local SURELY = 0.2
-- Users behind a standing queue: so many times more of them, until they bring
-- less than this share more. Windows of so many answers, at least so many, until
-- their mean is known to this part of --precision (or this share of the time).
local MORE_USERS, FEW_MORE = 2, 0.2
local QUEUE_COMPLETED, QUEUE_WINDOWS, QUEUE_ERROR, QUEUE_SHARE = 50, 4, 0.25, 0.05
-- Looks right beside what a queue has shown: by this part of --precision.
local BESIDE = 0.45
-- Users who bring less than this share of what those before them bring: the
-- knee of a closed loop without an SLO.
local GAIN, NO_GAIN = 0.5, "more users bring too little"
local SATURATED = "in flight grows: saturated"
-- What fails breaks a point, unless an SLO says how much may: a server that
-- turns users away is quick with the others.
local MOST_ERRORS = 0.01
-- Below this share of --from nobody looks any more.
local LOWEST = 1e-4

local search = {}
search.__index = search

-- Why a search ends in the middle of a point.
local over = {
  time = { "the time was up" }, run = { "the run was ended" },
  gone = { "the server no longer answers" },
}

local function settled(m, last)
  local a, b = m.ttft.p50 or m.e2el.p50, last.ttft.p50 or last.e2el.p50
  local more = math.max(m.in_flight, last.in_flight)
  return math.abs(m.in_flight - last.in_flight) <= math.max(2, NOISE_ROOT * math.sqrt(more)) and
    a and b and math.abs(a - b) <= math.max(0.15 * math.max(a, b), 1e-3)
end

local function show(x)
  return (x >= 100 and "%.0f" or "%.4g"):format(x)
end

-- How many requests show the farthest percentile that the SLOs speak of.
local function least_completed(slos)
  local least = LEAST_COMPLETED
  for _, slo in ipairs(slos) do
    local digits = slo:match("%.p(%d+%.?%d*)")
    local p = digits == "999" and 99.9 or tonumber(digits)
    if p and p < 100 then least = math.max(least, math.ceil(100 / (100 - p))) end
  end
  return math.min(least, 1000)
end

-- ---- one point ----

-- Long enough for some requests, however slow the rate is.
function search:window_length(point)
  local m, need = point.last, self.window
  local least = point.judged and point.thorough and self.least or LEAST_IN_PASSING
  if self.of == "request_rate" then
    need = math.max(need, least / point.x)
  elseif m and m.completed > 0 then
    need = math.max(need, least / m.request_throughput, ANSWERS * m.e2el.mean)
  end
  return math.min(need, math.max(LONGEST, LONGEST_SHARE * self.time_limit))
end

function search:measure(label, seconds)
  local left = self.time_limit - (self.run.now() - self.began)
  if left <= 0 then error(over.time, 0) end
  local m = self.run:measure { label = label, duration = math.min(seconds, left) }
  if not m then error(over.run, 0) end
  -- What was cut short says too little.
  if left < seconds then error(over.time, 0) end
  return m
end

function search:look(point)
  local m = self:measure(show(point.x), self:window_length(point))
  point.last, point.watched = m, point.watched + m.duration
  point.asked_for = point.asked_for + m.sent
  return m
end

-- Is the knee where the server completes no more?
function search:seeks_capacity()
  return self.of == "request_rate" and not self.judges_times
end

-- What is in flight grows by as much, whatever is sent.
local function stirred(point)
  return math.max(NOISE, NOISE_ROOT * math.sqrt(point.first_in_flight or 0))
end

-- So many have to be sent before a growth of --precision (of a fifth, in
-- passing) stands out from noise.
function search:enough(point)
  local share = point.thorough and self.precision or math.max(self.precision, SURELY)
  local enough = math.max(2 * NOISE / share, stirred(point) / SURELY)
  local long = point.thorough and self.arrival ~= "constant" and self:seeks_capacity() and
    not self.capacity
  return long and math.max(enough, ENOUGH_AT_RANDOM) or enough
end

-- Does the server fall behind? Only a rate can be asked for and not be kept.
function search:falls_behind(point)
  if self.of ~= "request_rate" or point.sent == 0 or point.keeps_up then return false end
  local noise = math.max(stirred(point), NOISE_SHARE * point.sent,
    self.arrival == "constant" and 0 or
      ARRIVALS * math.sqrt(point.sent / self.burstiness))
  return point.grown > noise and
    (point.sent >= self:enough(point) or point.grown > SURELY * point.sent)
end

function search.count(point, m)
  point.first_in_flight = point.first_in_flight or m.in_flight_begin
  point.sent = point.sent + m.sent
  point.completed = point.completed + m.completed
  point.seconds = point.seconds + m.duration
  point.grown = point.grown + m.in_flight - m.in_flight_begin
end

local function begin_counting(point)
  point.sent, point.completed, point.seconds, point.grown = 0, 0, 0, 0
  point.first_in_flight = nil
end

function search:known(point)
  return self.of ~= "request_rate" or point.sent >= self:enough(point)
end

-- Was it this client that did not send what was asked? (A session sends more
-- than one.)
function search:is_short(point, limited)
  local due = point.x * point.seconds
  return self.of == "request_rate" and limited and
    due - point.sent > math.max(0.02 * due, 3 * math.sqrt(due))
end

-- Do answers come back as fast as they will, so long after the load was set? By
-- what they took where the load held.
function search:is_answered(seconds) return seconds >= ANSWERED * (self.answer or 0) end

-- nil, or why the point failed meanwhile.
function search:settle(point)
  local last, n, waited = nil, 0, 0
  while (n < SETTLE_WINDOWS or not self:is_answered(point.watched)) and waited < PATIENCE do
    local began, m = point.watched, self:look(point)
    -- Until answers come back, more in flight is just what a start looks like.
    local answered = last and last.completed > 0 and self:is_answered(began)
    if answered then search.count(point, m) end
    if self:falls_behind(point) then return SATURATED end
    -- What went on before is no part of the verdict then.
    if answered and settled(m, last) then
      begin_counting(point)
      break
    end
    if m.completed + m.failed > 0 then n = n + 1 else waited = waited + m.duration end
    last = m
  end
  point.judged = true
end

-- true, or false and the reason.
function search:holds(m)
  if m.completed == 0 then return self:completes(m) end
  for _, slo in ipairs(self.slos) do
    local ok, value = m:holds(slo)
    if not ok then
      return false, ("%s: %s"):format(slo, value and ("%.4g"):format(value) or "no data")
    end
  end
  return self:completes(m)
end

function search:completes(m)
  if m.completed == 0 then return false, "nothing completed" end
  if not self.judges_errors and m.error_rate and m.error_rate > MOST_ERRORS then
    return false, ("%.3g %% failed"):format(m.error_rate * 100)
  end
  return true
end

-- Is the knee where users bring too little? Asked without SLOs only.
function search:seeks_gain() return self.of ~= "request_rate" and #self.slos == 0 end

-- The highest point below x that held.
function search:best_below(x)
  local best
  for _, p in ipairs(self.curve) do
    if p.ok and p.x < x and (not best or p.x > best.x) then best = p end
  end
  return best
end

-- Do the users beyond the lower point bring enough?
local function gains(x, throughput, lower)
  return throughput / lower.request_throughput - 1 >= GAIN * (x / lower.x - 1)
end

-- Windows vote, and all of them together have the last word: what is rare comes
-- in heaps, so that most windows are better than the whole.
function search:judge(point)
  local passed, limited, whole, ok, why = 0, true, nil, false, nil
  local wanted = point.thorough and #self.slos > 0 and SAFE_LEAD or LEAD
  for n = 1, MOST_WINDOWS do
    local m = self:look(point)
    search.count(point, m)
    if self:holds(m) then passed = passed + 1 end
    whole = whole and whole:merge(m) or m
    ok, why = self:holds(whole)
    point.passed, point.windows, point.whole = passed, n, whole
    limited = limited and m.client == "limited"
    if self:falls_behind(point) then return false, SATURATED end
    local lead = passed - (n - passed)
    local decided = n >= JUDGED_WINDOWS or (ok and lead or -lead) >= wanted
    if decided and (not ok or self:known(point)) then break end
  end
  if not ok then return false, why end
  if self:is_short(point, limited) then
    self.limited = true
    return false, ("this client sent only %s/s"):format(show(point.sent / point.seconds))
  end
  if self:is_beyond_capacity(point) then
    return false, ("it completes no more than %s/s"):format(show(self.capacity))
  end
  local lower = self:seeks_gain() and self:best_below(point.x)
  if lower and not gains(point.x, point.whole.request_throughput, lower) then
    return false, NO_GAIN
  end
  return true
end

-- ---- a standing queue ----

-- What `users` are answered, measured until it is known well, or for as long as
-- such a look may take.
function search:users_bring(users, answer, label)
  local longest = math.max(LONGEST, LONGEST_SHARE * self.time_limit)
  local function seconds(m)
    local need = m.completed > 0 and QUEUE_COMPLETED / m.request_throughput or 0
    return math.min(math.max(self.window, need), longest)
  end
  self.run:set { request_rate = 0, max_concurrency = users }
  -- Those that are new have to be answered once.
  local m = self:measure(label, math.min(math.max(self.window, 1.5 * answer), longest))
  local whole, sum, squares, n = nil, 0, 0, 0
  repeat
    m = self:measure(label, seconds(m))
    whole, n = whole and whole:merge(m) or m, n + 1
    sum, squares = sum + m.request_throughput, squares + m.request_throughput ^ 2
    local mean = sum / n
    local err = math.sqrt(math.max(squares / n - mean ^ 2, 0) / n)
  until n >= QUEUE_WINDOWS and
    (err <= QUEUE_ERROR * self.precision * mean or
      whole.duration >= QUEUE_SHARE * self.time_limit)
  return whole
end

-- Sessions bring more requests than were asked for, a client at its limit
-- fewer: then a rate says nothing of what the server is to complete.
local function is_asked_for(self, point)
  local due = point.x * point.watched
  return math.abs(point.asked_for - due) <=
    0.02 * due + 4 * math.sqrt(due / self.burstiness)
end

-- In flight has grown, which may be chance. What does the server complete when
-- it surely has enough to do? true, or false and why.
function search:with_a_queue(point)
  local users, m = math.max(point.last.in_flight, 1), nil
  local answer = math.min(self.answer or math.huge, point.last.e2el.mean or 0)
  if point.last.completed == 0 or not is_asked_for(self, point) then return false, SATURATED end
  repeat
    local before = m and m.request_throughput
    m = self:users_bring(users, answer, ("%d users at %s"):format(users, show(point.x)))
    local ok, why = self:completes(m)
    if not ok then return false, why end
    if m.request_throughput >= point.x then
      self.capacity = self.capacity and math.max(self.capacity, m.request_throughput)
      return true
    end
    users = math.ceil(users * MORE_USERS)
  until before and m.request_throughput < (1 + FEW_MORE) * before
  self.capacity = m.request_throughput
  return false, SATURATED
end

-- What a standing queue has shown is more certain than what did not show.
function search:is_beyond_capacity(point)
  local c = self.capacity
  return c and self:seeks_capacity() and point.thorough and point.x > c and
    point.whole.request_throughput < (point.x + c) / 2
end

-- ---- between points ----

-- No load until nothing is in flight, or nothing comes any more.
function search:recover()
  local silent = 0
  self.run:set { request_rate = 0, max_concurrency = 0 }
  while silent < RECOVERY do
    local m = self:measure("recovery", 1)
    if m.in_flight == 0 then return end
    silent = m.completed + m.failed > 0 and 0 or silent + 1
  end
end

-- One request at a time: the figures, once there are some. Ends the search
-- when nothing but failures comes.
function search:alone()
  local failing, waited, m = 0, 0, nil
  self.run:set { request_rate = 0, max_concurrency = 1, pacing = 0.02 }
  while waited < PATIENCE do
    m = self:measure("one at a time", math.max(self.window, 1))
    if m.completed > 0 then break end
    failing = m.failed > 0 and failing + 1 or failing
    if failing >= 3 then error(over.gone, 0) end
    waited = waited + m.duration
  end
  self.run:set { request_rate = 0, max_concurrency = 0, pacing = 0 }
  if m.completed == 0 then error(over.gone, 0) end
  return m
end

function search:set(x)
  if self.of == "request_rate" then
    self.run:set { request_rate = x, max_concurrency = 0 }
  else
    self.run:set { request_rate = 0, max_concurrency = x }
  end
end

function search:keep(point, ok, why)
  self.point = nil
  local m = point.whole or point.last
  self.curve[#self.curve + 1] = {
    x = point.x, ok = ok, why = why, windows = point.windows, passed = point.passed,
    request_throughput = m.request_throughput, output_throughput = m.output_throughput,
    ttft_p50 = m.ttft.p50, ttft_p99 = m.ttft.p99, tpot_p50 = m.tpot.p50,
    e2el_p99 = m.e2el.p99, in_flight = m.in_flight, error_rate = m.error_rate,
    client = m.client,
  }
  print(("find: %s %s %s%s%s"):format(self.of, show(point.x), ok and "holds" or "breaks",
    self.confirming == point.x and ", watched for longer" or "",
    why and " (" .. why .. ")" or ""))
end

function search:watch(point)
  self.point, point.judged = point, false
  begin_counting(point)
  self:set(point.x)
  local why = self:settle(point)
  if why then return false, why end
  return self:judge(point)
end

-- Does it hold at x?
function search:try(x, thorough)
  local point = { x = x, windows = 0, passed = 0, thorough = thorough or self.one_speed,
    watched = 0, asked_for = 0 }
  local ok, why = self:watch(point)
  if why == SATURATED then
    ok, why = self:with_a_queue(point)
    point.keeps_up = ok
    if ok then self:recover() end
    -- So much for the load; users of another number say nothing of latencies.
    if ok and self.judges_times then ok, why = self:watch(point) end
  end
  self:keep(point, ok, why)
  if ok then
    local mean = point.whole and point.whole.e2el.mean
    if mean then self.answer = math.min(self.answer or mean, mean) end
    if not self.good or x >= self.good.x then self.good = point end
    return true
  end
  self:recover()
  if point.last.completed == 0 then self:alone() end
  if not self.bad or x < self.bad then self.bad = x end
  return false
end

-- ---- the search ----

-- Slots are whole.
function search:rounded(x)
  return self.of == "request_rate" and x or math.floor(x + 0.5)
end

-- Upwards until a point breaks.
function search:grow()
  local x = self.from
  while x < self.most do
    x = math.min(self:rounded(x * self.factor), self.most)
    if not self:try(x) then return end
  end
  self.reason = "it holds at --most"
end

-- The first one broke: downwards, if what breaks is the load.
function search:shrink()
  local x = self.from / self.factor
  if self.of == "request_rate" then
    local m = self:alone()
    local ok, why = self:holds(m)
    if not ok then
      self.reason = ("not even one request at a time holds (%s)"):format(why)
      return
    end
    x = math.min(x, m.request_throughput)
  end
  while self:rounded(x) >= math.max(LOWEST * self.from, self.of == "request_rate" and 0 or 1) do
    if self:try(self:rounded(x)) then return end
    x = x / self.factor
  end
  self.reason = "nothing lower holds either"
end

function search:close_enough(good, bad)
  return bad / good - 1 <= self.precision or
    self.of == "max_concurrency" and bad - good <= 1
end

-- Right beside what a queue has shown, if that is not to creep; or `otherwise`.
function search:between(good, bad, otherwise)
  local c, step = self:seeks_capacity() and self.capacity, BESIDE * self.precision
  if c and c * (1 - step) < bad / (1 + step / 2) then
    if c * (1 - step) > good * (1 + step / 2) then return c * (1 - step) end
    if c * (1 + step) < bad and c * (1 + step) > good * (1 + step / 2) then
      return c * (1 + step)
    end
  end
  return otherwise
end

function search:bisect()
  while not self:close_enough(self.good.x, self.bad) do
    local middle = math.sqrt(self.good.x * self.bad)
    local x = self:rounded(self:between(self.good.x, self.bad, middle))
    if x <= self.good.x then x = self.good.x + 1 end
    self:try(x, true)
  end
end

-- A long step may have gone past the knee: its first users brought so much that
-- the last ones did not show. So shorter ones are taken between the two.
function search:refine()
  while self.good do
    local top, lower = self.good.x, self:best_below(self.good.x)
    if not lower or self:close_enough(lower.x, top) then return end
    local x = math.max(self:rounded(math.sqrt(lower.x * top)), lower.x + 1)
    local held = self:try(x, true)
    if not held or not gains(top, self:at(top).request_throughput, self:at(x)) then
      self:at(top).ok, self:at(top).why = false, NO_GAIN
      self.good = { x = held and x or lower.x, thorough = true }
      self.bad = held and top or x
      self:bisect()
    end
  end
end

function search:at(x)
  for _, p in ipairs(self.curve) do if p.x == x then return p end end
end

-- What was judged in passing is looked at again before it is the answer.
function search:confirm()
  while self.good and not self.good.thorough do
    local x = self.good.x
    local lower = self:best_below(x)
    self.good, self.confirming, self.passing = nil, x, x
    self:forget(x)
    if self:try(x, true) then return end
    self.reason = nil
    local less = lower and lower.x or self:rounded(x / self.factor)
    local beside = self:between(less, x, less)
    if not (beside > less and self:try(beside, true)) and not self:try(less, true) then
      self.reason = "what held in passing did not hold"
      return
    end
    self:bisect()
  end
end

-- The first look at x: a longer one takes its place.
function search:forget(x)
  for i = #self.curve, 1, -1 do
    if self.curve[i].x == x then table.remove(self.curve, i) end
  end
end

function search:find()
  if self:try(self.from) then self:grow() else self:shrink() end
  local doubtful = self.good and self.capacity and self:seeks_capacity() and
    self.good.x > self.capacity
  if self.good and self.bad and not doubtful then self:bisect() end
  self:confirm()
  if self:seeks_gain() then self:refine() end
end

-- ---- what is said ----

local function ms(seconds)
  return seconds and ("%.1f"):format(seconds * 1e3) or "n/a"
end

function search:curve_table()
  local line = "%12s  %-6s %10s %11s %11s %10s  %s"
  self.run:say(line:format(self.of == "request_rate" and "req/s" or "concurrency",
    "holds", "done/s", "TTFT p50 ms", "TTFT p99 ms", "tok/s", "why not"))
  for _, p in ipairs(self.curve) do
    self.run:say((line:format(show(p.x), p.ok and "yes" or "no",
      p.request_throughput and show(p.request_throughput) or "n/a", ms(p.ttft_p50),
      ms(p.ttft_p99), p.output_throughput and show(p.output_throughput) or "n/a",
      p.why or ""):gsub("%s+$", "")))
  end
end

-- The highest load that held, be it in passing only, when none is known to.
function search:held_in_passing()
  local held = self.passing
  for _, p in ipairs(self.curve) do
    if p.ok and p.x > (held or 0) then held = p.x end
  end
  return held and held < (self.bad or math.huge) and held or nil
end

-- So many more points, at least, would be looked at between the two.
function search:points_left(low, high)
  local n = math.log(math.log(high / low) / math.log(1 + self.precision)) / math.log(2)
  if self.of == "max_concurrency" then n = math.min(n, math.log(high - low) / math.log(2)) end
  return math.max(math.ceil(n), 0) + (self.good and self.good.thorough and 0 or 1)
end

-- What a search that was cut off does not know: a table for the results.
function search:unfinished(ended)
  local good, p = self.good, self.point
  local low, elapsed = good and good.x or self:held_in_passing(), self.run.now() - self.began
  local u = { from = low, to = self.bad, confirmed = good ~= nil and good.thorough == true }
  if p then
    u.watching = { x = p.x, windows = p.windows, windows_held = p.passed, seconds = p.watched }
  end
  if ended == over.time and low and self.bad then
    u.points_left = self:points_left(low, self.bad)
    u.time_limit_s = math.ceil(elapsed * (1 + u.points_left / math.max(#self.curve, 1)))
  end
  return u
end

local function unfinished_words(self, u)
  local words = {}
  local function add(text, ...) words[#words + 1] = text:format(...) end
  if not self.good and u.from then
    add("%s held in passing and was not confirmed.", show(u.from))
  elseif self.good and not u.confirmed then
    add("%s held in passing: it was not watched for longer.", show(u.from))
  end
  if u.from and u.to then
    add("Between %s and %s nothing is known.", show(u.from), show(u.to))
  elseif u.from then
    add("Nothing broke: what lies above %s is not known.", show(u.from))
  elseif u.to then
    add("%s does not hold: what lies below is not known.", show(u.to))
  end
  if u.watching and u.watching.windows == 0 then
    local last = self.point.last
    add("%s was under way for %.0f s and had not come to rest%s.", show(u.watching.x),
      u.watching.seconds, last and last.completed == 0 and
      (": nothing completed at last, %d failed"):format(last.failed) or "")
  elseif u.watching then
    add("%s was under way: %.0f s, %d of %d windows held.", show(u.watching.x),
      u.watching.seconds, u.watching.windows_held, u.watching.windows)
  end
  if u.time_limit_s then
    add("Some %d more to look at: --time-limit %dm or so.", u.points_left,
      math.ceil(u.time_limit_s / 60))
  elseif self.reason == over.time[1] then
    add("--time-limit gives it longer.")
  end
  return #words > 0 and " " .. table.concat(words, " ") or ""
end

function search:conclude()
  local queue = self.capacity and
    (" With a queue before it the server completed %s/s."):format(show(self.capacity)) or ""
  local open = self.open and unfinished_words(self, self.open) or ""
  if not self.good then
    return ("No %s is known to hold: %s.%s%s"):format(self.of, self.reason, queue, open)
  end
  return ("Highest %s that holds: %s%s; %s.%s%s%s"):format(self.of, show(self.good.x),
    self.bad and (" (%s does not)"):format(show(self.bad)) or "", self.reason, queue, open,
    self.limited and " This client was the limit, not the server: more --threads or machines"
      .. " may get farther." or "")
end

function search:report()
  table.sort(self.curve, function(a, b) return a.x < b.x end)
  self.run:report("find", {
    of = self.of, slos = stoke.json.array(self.slos), best = self.good and self.good.x,
    fails_at = self.bad, capacity = self.capacity, stopped_because = self.reason,
    client_limited = self.limited, curve = stoke.json.array(self.curve),
    unfinished = self.open,
  })
  for _, slo in ipairs(self.slos) do self.run:say("SLO: " .. slo) end
  self:curve_table()
  self.run:say(self:conclude())
end

function search:control(run)
  self.run, self.curve, self.began = run, {}, run.now()
  local ok, why = pcall(self.find, self)
  local ended = type(why) == "table" and why[1]
  if not ok and not ended then error(why, 0) end
  self.reason = ended or self.reason or "known to the precision asked"
  self.open = ended and self:unfinished(why)
  self:report()
  if why == over.gone then return nil, over.gone[1] .. ": the search ended there" end
  if not self.good and why ~= over.run then
    return nil, why == over.time and "no point is known to hold: the time was up, see --time-limit"
      or "no point holds: begin lower with --from, or ask for less"
  end
end

local defaults = {
  of = "request_rate", from = 1, most = 1e5, factor = 2, precision = 0.02,
  window = 2, time_limit = 600, limited = false, burstiness = 1,
}

return function(options)
  local self = setmetatable({ slos = {} }, search)
  for name, value in pairs(defaults) do self[name] = value end
  for name, value in pairs(options) do self[name] = value end
  self.least = least_completed(self.slos)
  for _, slo in ipairs(self.slos) do
    local of_errors = slo:find("^%s*[esf]%a+_rate") or slo:find("^%s*failed")
    self[of_errors and "judges_errors" or "judges_times"] = true
  end
  -- Then there is nothing that a longer look would see.
  self.one_speed = self:seeks_gain()
  return function(run) return self:control(run) end
end
