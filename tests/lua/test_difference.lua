-- The verdicts of stoke compare: how often they cry wolf, and what they see.

local difference = require("stoke.difference")
local results = require("stoke.results")

-- Numbers of our own, the same everywhere.
local function generator(seed)
  local x = seed
  return function()
    x = (x * 16807) % 2147483647
    return x / 2147483647
  end
end

-- Latencies: a floor and a long tail (log-normal).
local function latencies(next_one, n, scale)
  local out = {}
  for i = 1, n do
    local z = math.sqrt(-2 * math.log(next_one())) * math.cos(2 * math.pi * next_one())
    out[i] = scale * (20 + 30 * math.exp(0.5 * z))
  end
  return out
end

local function verdicts(rounds, n, scale, stat)
  local count = { same = 0, better = 0, worse = 0, ["can't tell"] = 0 }
  local next_one = generator(7 * n + rounds)
  for _ = 1, rounds do
    local a, b = latencies(next_one, n, 1), latencies(next_one, n, scale)
    local d = difference.of(difference.sample(a, difference.dependence(a)),
      difference.sample(b, difference.dependence(b)), stat, 0.99)
    local v = difference.verdict(d, 0.03, false)
    count[v] = count[v] + 1
  end
  return count
end

describe("difference", function()
  it("knows the normal quantile", function()
    assert(math.abs(difference.normal_quantile(0.975) - 1.959964) < 1e-5)
    assert(math.abs(difference.normal_quantile(0.995) - 2.575829) < 1e-5)
    assert(math.abs(difference.normal_quantile(0.5)) < 1e-8)
    assert(math.abs(difference.normal_quantile(0.001) + 3.090232) < 1e-5)
  end)

  for _, stat in ipairs({ "mean", "p50", "p99" }) do
    for _, n in ipairs({ 30, 300, 1000 }) do
      it(("raises few false alarms on equal samples: %s of %d"):format(stat, n), function()
        local rounds = 400
        local c = verdicts(rounds, n, 1, stat)
        assert((c.better + c.worse) / rounds <= 0.02, show(c))
      end)
    end
  end

  it("sees a shift of ten percent", function()
    local c = verdicts(100, 1000, 1.1, "p50")
    assert(c.worse >= 95, show(c))
    assert(c.better == 0, show(c))
  end)

  it("says that equal large samples are the same", function()
    local c = verdicts(20, 10000, 1, "mean")
    assert(c.same >= 18, show(c))
  end)

  it("cannot tell from tiny ones", function()
    local c = verdicts(50, 4, 2, "mean")
    equal(c["can't tell"], 50)
    c = verdicts(50, 60, 2, "p99")
    equal(c["can't tell"], 50)
  end)

  it("counts requests that hang together for less", function()
    local next_one, values, level = generator(5), {}, 0
    for i = 1, 1000 do
      level = 0.95 * level + next_one() - 0.5
      values[i] = 100 + level
    end
    assert(difference.dependence(values) > 5)
    assert(difference.dependence(latencies(next_one, 1000, 1)) < 2.5)
  end)

  it("reads histograms as it reads samples", function()
    local next_one, buckets = generator(9), {}
    local values = latencies(next_one, 500, 1)
    table.sort(values)
    for i, x in ipairs(values) do buckets[i] = { x * 1e6 - 500, 1000, 1 } end
    local a, h = difference.sample(values), difference.histogram({ buckets = buckets }, 1e-6)
    local b = difference.sample(latencies(next_one, 500, 1.2))
    for _, stat in ipairs({ "mean", "p50", "p99" }) do
      local x, y = difference.of(a, b, stat, 0.95), difference.of(h, b, stat, 0.95)
      assert(math.abs(x.change - y.change) < 1e-4)
      assert(not x.low or math.abs(x.low - y.low) < 1e-3)
    end
  end)

  it("compares shares", function()
    local d = difference.of_shares(0, 1000, 100, 1000, 0.99)
    equal(difference.verdict(d, 0.03, false), "worse")
    equal(difference.verdict(difference.of_shares(1, 10, 2, 10, 0.99), 0.03, false), "can't tell")
    equal(difference.of_shares(0, 0, 1, 10, 0.99), nil)
  end)
end)

-- ---- throughput, from the lines of a run ----

-- `users` who send one request after the other, or arrivals at random.
local function lines(next_one, n, users, scale)
  local list, free = {}, {}
  for i = 1, users or 0 do free[i] = 0 end
  local t = 0
  for i = 1, n do
    local z = math.sqrt(-2 * math.log(next_one())) * math.cos(2 * math.pi * next_one())
    local takes = scale * (0.02 + 0.03 * math.exp(0.5 * z))
    if users then
      local k = 1
      for j = 2, users do if free[j] < free[k] then k = j end end
      t = free[k]
      free[k] = t + takes
    else
      t = t - math.log(next_one()) * 0.01 * scale
    end
    list[i] = { sent_s = t, done_s = t + takes, tokens = 10 }
  end
  table.sort(list, function(a, b) return a.sent_s < b.sent_s end)
  return list
end

local function rate_alarms(rounds, n, users, scale)
  local alarms, next_one = 0, generator(n + (users or 0))
  for _ = 1, rounds do
    local a = results.rates(lines(next_one, n, users, 1), "done")
    local b = results.rates(lines(next_one, n, users, scale), "done")
    local d = difference.of(difference.sample(a), difference.sample(b), "mean", 0.99)
    local v = difference.verdict(d, 0.03, true)
    if v == "better" or v == "worse" then alarms = alarms + 1 end
  end
  return alarms / rounds
end

describe("rates", function()
  for _, case in ipairs({ { 200, 8 }, { 1000, 8 }, { 500, 64 }, { 1000 } }) do
    local n, users = case[1], case[2]
    local name = ("%d requests of %s"):format(n, users and users .. " users" or "arrivals")
    it("raise few false alarms: " .. name, function()
      local share = rate_alarms(400, n, users, 1)
      assert(share <= 0.02, share)
    end)
    it("see a third: " .. name, function()
      local share = rate_alarms(100, n, users, 1.33)
      -- Few rounds of many users come in waves.
      assert(share >= (n < 20 * (users or 0) and 0.6 or 0.8), share)
    end)
  end

  it("are not made of few lines", function()
    equal(results.rates({}, "done"), nil)
    equal(results.rates(nil, "done"), nil)
  end)
end)
