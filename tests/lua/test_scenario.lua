-- What a scenario table may say, and how its mistakes are told.
local check = require "stoke.scenario"

local function request() return { prompt = "x" } end
local function suggest(name, names)
  for _, other in ipairs(names) do
    if other:sub(1, 3) == name:sub(1, 3) then return "; did you mean " .. other .. "?" end
  end
  return ""
end

-- The problems of { request = …, [key] = value }.
local function problems(key, value)
  local t = { request = request }
  if key then t[key] = value end
  return (check(t, suggest))
end

local function plain(load)
  local wrong, t = check({ request = request, load = load }, suggest)
  equal(wrong, {})
  return t.load
end

describe("a scenario", function()
  it("needs no more than a request", function() equal(problems(), {}) end)

  it("needs that much", function()
    local wrong = check({ description = "x" }, suggest)
    equal(#wrong, 1)
    assert(wrong[1]:find("no request", 1, true))
  end)

  it("is either of requests or of sessions", function()
    local wrong = problems("session", request)
    assert(wrong[1]:find("exclude each other", 1, true))
  end)

  it("has no unknown fields", function()
    equal(problems("req", request)[1], "unknown field 'req'; did you mean request?")
  end)

  it("has functions where functions belong", function()
    equal(problems("summary", 5)[1], "summary must be a function, not a number")
  end)

  it("tells all its mistakes at once", function()
    local wrong = check({ summary = 1, load = 2, nme = 3 }, suggest)
    equal(#wrong, 4)
  end)
end)

describe("load", function()
  it("is normalised", function()
    equal(plain { request_rate = 4, arrival = "poisson", num_requests = 5 },
      { request_rate = 4, arrival = "poisson", num_requests = 5 })
    equal(plain { max_concurrency = 64, duration = "60s", warmup = 10 },
      { max_concurrency = 64, duration = 60, warmup = 10 })
    equal(plain { request_rate = math.huge }, { request_rate = "inf" })
    equal(plain { request_rate = { 0, 5 } }, { request_rate = { 0, 5 } })
  end)

  it("has one timetable at most", function()
    local wrong = problems("load", { request_rate = 1, arrivals = function() end })
    assert(wrong[1]:find("request_rate, arrivals exclude", 1, true))
  end)

  for name, value in pairs {
    request_rate = 0, num_requests = 1.5, max_concurrency = -1,
    duration = "soon", arrival = "often", burstiness = 0, stages = {},
  } do
    it("refuses a bad " .. name, function()
      equal(#problems("load", { [name] = value }), 1)
    end)
  end

  it("checks each stage", function()
    local wrong = problems("load", { stages = { { duration = 1, rate = 5 }, 7, {} } })
    equal(#wrong, 2)
    assert(wrong[1]:find("load.stages[1]: unknown field", 1, true))
  end)
end)

describe("metrics and thresholds", function()
  it("are declared", function()
    equal(problems("metrics", { calls = "counter" }), {})
    equal(#problems("metrics", { calls = "count", ["a b"] = "rate" }), 2)
    equal(problems("thresholds", { "ttft.p95 < 2s" }), {})
    equal(#problems("thresholds", { 5 }), 1)
    equal(#problems("thresholds", { a = "b" }), 1)
    equal(problems("thresholds", {
      { "ttft.p99 < 1s", abort_on_fail = true, grace = "10s" }, { "failed == 0" },
    }), {})
    equal(#problems("thresholds", { { "ttft.p99 < 1s", grace = "10s" } }), 1)
    equal(#problems("thresholds", { { "ttft.p99 < 1s", abort_on_fail = 1 } }), 1)
    equal(#problems("thresholds", { { abort_on_fail = true }, { "x < 1", abort = true } }), 2)
  end)
end)

describe("a load that is a function", function()
  it("is looked at when the parameters are known", function()
    equal(plain(function() error("not yet") end), {})
  end)
end)
