-- Means of repeated runs and how far they can be trusted.

local M = {}

-- Student's t, two-sided 95 %, by degrees of freedom.
local T95 = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
  2.060, 2.056, 2.052, 2.048, 2.045, 2.042 }

--- The mean and the half width of its 95 % confidence interval (nil for
--- fewer than two values; NaN is never returned).
function M.mean(values)
  local n, sum, squares = #values, 0, 0
  if n == 0 then return nil end
  for _, x in ipairs(values) do sum = sum + x end
  local mean = sum / n
  if n < 2 then return mean end
  for _, x in ipairs(values) do squares = squares + (x - mean) ^ 2 end
  return mean, (T95[n - 1] or 1.96) * math.sqrt(squares / (n - 1) / n)
end

--- The median; nil when there is none.
function M.median(values)
  local sorted, n = {}, #values
  if n == 0 then return nil end
  for i, x in ipairs(values) do sorted[i] = x end
  table.sort(sorted)
  if n % 2 == 1 then return sorted[(n + 1) / 2] end
  return (sorted[n / 2] + sorted[n / 2 + 1]) / 2
end

return M
