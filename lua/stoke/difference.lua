-- How far two samples differ, and whether that can be noise.
--
-- A percentile's interval is that of its order statistics (the ranks are
-- binomial, whatever the distribution), a mean's is Student's; the interval
-- of a difference is put together from both (MOVER: Zou & Donner 2008).
-- Requests of one run are not independent, for they share a queue: the number
-- of values is divided by what batch means show of that.

local M = {}

-- The standard normal's quantile (Acklam's rational approximation, 1e-9).
local A = { -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
  1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00 }
local B = { -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
  6.680131188771972e+01, -1.328068155288572e+01 }
local C = { -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
  -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00 }
local D = { 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
  3.754408661907416e+00 }

local function polynomial(t, x)
  local sum = 0
  for _, c in ipairs(t) do sum = sum * x + c end
  return sum
end

function M.normal_quantile(p)
  if p > 0.97575 then return -M.normal_quantile(1 - p) end
  if p < 0.02425 then
    local q = math.sqrt(-2 * math.log(p))
    return polynomial(C, q) / (polynomial(D, q) * q + 1)
  end
  local q = p - 0.5
  return polynomial(A, q * q) * q / (polynomial(B, q * q) * q * q + 1)
end

-- Student's from the normal (Cornish-Fisher).
local function student(z, df)
  return z + (z ^ 3 + z) / (4 * df) + (5 * z ^ 5 + 16 * z ^ 3 + 3 * z) / (96 * df ^ 2)
end

local function moments(values)
  local n, mean, m2 = 0, 0, 0
  for _, x in ipairs(values) do
    n = n + 1
    local d = x - mean
    mean = mean + d / n
    m2 = m2 + d * (x - mean)
  end
  return n, mean, n > 1 and m2 / (n - 1) or 0
end

--- How many values carry what one independent one would: >= 1. `values` in
--- the order of time.
function M.dependence(values)
  local n = #values
  local batches = math.min(25, math.floor(math.sqrt(n)))
  if batches < 10 then return 1 end
  local size, means = math.floor(n / batches), {}
  for b = 1, batches do
    local sum = 0
    for i = (b - 1) * size + 1, b * size do sum = sum + values[i] end
    means[b] = sum / size
  end
  local _, _, all = moments(values)
  local _, _, between = moments(means)
  if all == 0 then return 1 end
  return math.max(1, math.min(between * size / all, n / 4))
end

--- A sample from values (any order): sorted, counted. `dependence` as above.
function M.sample(values, dependence)
  local sorted = {}
  for i, x in ipairs(values) do sorted[i] = x end
  table.sort(sorted)
  local n, mean, variance = moments(sorted)
  return { values = sorted, n = n, mean = mean, variance = variance,
    at = function(k) return sorted[k] end, dependence = dependence or 1 }
end

--- A sample from a histogram of the results file; values times `scale`.
function M.histogram(hist, scale, dependence)
  local ends, mids, n, sum, squares = {}, {}, 0, 0, 0
  for i, b in ipairs(hist.buckets) do
    local x = (b[1] + b[2] / 2) * scale
    n, sum, squares = n + b[3], sum + x * b[3], squares + x * x * b[3]
    ends[i], mids[i] = n, x
  end
  if n == 0 then return nil end
  local function at(k)
    local low, high = 1, #ends
    while low < high do
      local mid = math.floor((low + high) / 2)
      if ends[mid] >= k then high = mid else low = mid + 1 end
    end
    return mids[low]
  end
  local mean = sum / n
  return { n = n, mean = mean, variance = n > 1 and math.max(0, squares - n * mean ^ 2) / (n - 1)
    or 0, at = at, dependence = dependence or 1 }
end

local function percentile(s, p)
  local index = p * (s.n - 1) + 1
  local low = math.floor(index)
  local x = s.at(low)
  if low >= s.n then return x end
  return x + (index - low) * (s.at(low + 1) - x)
end

-- The value and its interval; nil bounds where the sample is too small.
local function estimate(s, stat, z)
  local n = s.n / s.dependence
  if stat == "mean" then
    if n < 5 then return s.mean end
    local half = student(z, n - 1) * math.sqrt(s.variance / n)
    return s.mean, s.mean - half, s.mean + half
  end
  local p = tonumber(stat:match("^p(%d+)$"))
  p = p == 999 and 0.999 or p / 100
  local half = z * math.sqrt(p * (1 - p) / n) + 0.5 / n
  local low, high = p - half, p + half
  local x = percentile(s, p)
  if low <= 0 or high >= 1 then return x end
  return x, s.at(math.max(1, math.floor(low * s.n))), s.at(math.min(s.n, math.ceil(high * s.n)))
end

local function together(a, la, ua, b, lb, ub)
  local d = { a = a, b = b, change = a ~= 0 and (b - a) / a or (b == 0 and 0 or nil) }
  if la and lb and a > 0 then
    d.low = (b - a - math.sqrt((b - lb) ^ 2 + (ua - a) ^ 2)) / a
    d.high = (b - a + math.sqrt((ub - b) ^ 2 + (a - la) ^ 2)) / a
  end
  return d
end

--- The figure `stat` ("mean", "p50", "p99") of two samples -> { a, b, change,
--- low, high }: change relative to a, with the interval that it lies in at
--- this confidence; no low and high where the samples are too small.
function M.of(a, b, stat, confidence)
  local z = M.normal_quantile(0.5 + confidence / 2)
  local xa, la, ua = estimate(a, stat, z)
  local xb, lb, ub = estimate(b, stat, z)
  return together(xa, la, ua, xb, lb, ub)
end

-- Wilson's interval of a share.
local function wilson(k, n, z)
  local p, z2 = k / n, z * z
  local mid = (p + z2 / (2 * n)) / (1 + z2 / n)
  local half = z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
  return mid - half, mid + half
end

--- Shares ka of na against kb of nb; change, low and high are differences of
--- the shares themselves (Newcombe 1998).
function M.of_shares(ka, na, kb, nb, confidence)
  if na == 0 or nb == 0 then return nil end
  local z = M.normal_quantile(0.5 + confidence / 2)
  local a, b = ka / na, kb / nb
  local la, ua = wilson(ka, na, z)
  local lb, ub = wilson(kb, nb, z)
  return { a = a, b = b, change = b - a, absolute = true,
    low = b - a - math.sqrt((b - lb) ^ 2 + (ua - a) ^ 2),
    high = b - a + math.sqrt((ub - b) ^ 2 + (a - la) ^ 2) }
end

--- "same", "better", "worse" or "can't tell".
function M.verdict(d, tolerance, more_is_better)
  if not d.low then return "can't tell" end
  if d.absolute and d.a == d.b then return "same" end
  local same = d.absolute and tolerance / 10 or tolerance
  if d.low >= -same and d.high <= same then return "same" end
  if d.low > 0 then return more_is_better and "better" or "worse" end
  if d.high < 0 then return more_is_better and "worse" or "better" end
  return "can't tell"
end

return M
