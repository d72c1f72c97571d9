-- Figures of a results file by the names people use in expressions:
-- "ttft.p99", "tpot.mean", "error_rate", "output_throughput"; and the
-- expressions themselves. Latencies are ms, rates are shares of 1.

local M = {}

local TIMEOUTS = { "timeout_connect", "timeout_ttft", "timeout_idle", "timeout_total" }
local LATENCIES = { ttft = 1, ttfat = 1, ttfb = 1, tpot = 1, itl = 1, e2el = 1,
  queue = 1, ttft_due = 1, e2el_due = 1 }
local STATS = { count = 1, mean = 1, std = 1, min = 1, max = 1, p1 = 1, p5 = 1, p10 = 1,
  p25 = 1, p50 = 1, p75 = 1, p90 = 1, p95 = 1, p99 = 1, p999 = 1 }
-- What is better when it grows.
local GOOD = { request_throughput = 1, output_throughput = 1, total_token_throughput = 1,
  window_output_throughput = 1, success_rate = 1, goodput = 1, completed = 1 }
local PLAIN = { request_throughput = 1, output_throughput = 1, total_token_throughput = 1,
  window_output_throughput = 1, success_rate = 1, completed = 1, failed = 1, sent = 1,
  duration_s = 1, max_concurrent_requests = 1 }

local function share(part, whole)
  if whole and whole > 0 then return part / whole end
end

local function counted(stoke)
  local f = stoke.figures
  return f.failed and f.completed + f.failed
end

local computed = {
  error_rate = function(stoke) return share(stoke.figures.failed, counted(stoke)) end,
  timeout_rate = function(stoke)
    local n = 0
    if stoke.foreign then return nil end
    for _, name in ipairs(TIMEOUTS) do n = n + (stoke.outcomes[name] or 0) end
    return share(n, counted(stoke))
  end,
  cached_share = function(stoke)
    return stoke.tokens and share(stoke.tokens.cached or 0, stoke.tokens.prompt)
  end,
  goodput = function(stoke)
    return stoke.figures.goodput and stoke.figures.goodput.requests_per_s
  end,
}

--- Is this the name of a figure?
function M.known(name)
  local metric, stat = name:match("^([%w_]+)%.(%w+)$")
  if metric then return LATENCIES[metric] ~= nil and STATS[stat] ~= nil end
  return PLAIN[name] ~= nil or computed[name] ~= nil
end

--- Is more of it better?
function M.more_is_better(name) return GOOD[name] ~= nil end

--- Is it a latency (in ms)?
function M.is_latency(name) return name:find(".", 1, true) ~= nil end

--- `result`: a decoded results file. nil when it has no such sample.
function M.get(result, name)
  local stoke = result.stoke
  local metric, stat = name:match("^([%w_]+)%.([%w_]+)$")
  if metric then return stoke.latency[metric] and stoke.latency[metric][stat] end
  if computed[name] then return computed[name](stoke) end
  return stoke.figures[name]
end

local UNITS = { ns = 1e-6, us = 1e-3, ms = 1, s = 1e3, m = 6e4, min = 6e4, h = 3.6e6 }

-- "500ms" of a latency, "5%" of a share, "+10%" as a difference, "12".
local function read_limit(name, text)
  local sign, number, unit = text:match("^([+-]?)(%d*%.?%d+)%s*([%a%%]*)$")
  local x = tonumber(number)
  if not x then return nil, "is no number" end
  if sign ~= "" then
    if unit ~= "%" then return nil, "a difference is in %, as in +10%" end
    return (sign == "-" and -x or x) / 100, nil, true
  end
  if unit == "%" then return x / 100 end
  if M.is_latency(name) and name:match("[%w]+$") ~= "count" then
    if not UNITS[unit] then return nil, "needs a unit: ms or s" end
    return x * UNITS[unit]
  end
  if unit ~= "" then return nil, "takes no unit" end
  return x
end

local compare = {
  ["<"] = function(a, b) return a < b end, ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end, [">="] = function(a, b) return a >= b end,
}

--- "ttft.p99 > 2s" -> { name, op, limit, relative, text }, or nil and why.
function M.parse(text)
  local name, op, limit = text:match("^%s*([%w_%.]+)%s*([<>]=?)%s*(.-)%s*$")
  if not name then return nil, text .. ": wants a figure, < or >, and a limit" end
  if not M.known(name) then
    return nil, text .. ": no figure is called " .. name ..
      " (ttft.p99, tpot.mean, error_rate, timeout_rate, output_throughput, ...)"
  end
  local x, why, relative = read_limit(name, limit)
  if not x then return nil, ("%s: the limit %s"):format(text, why) end
  return { name = name, op = op, limit = x, relative = relative or false, text = text }
end

--- Does the expression hold of this value? False when there is none.
function M.holds(expr, value) return value ~= nil and compare[expr.op](value, expr.limit) end

return M
