-- Dates as certificates and HTTP headers write them, in seconds since 1970.

local M = {}

local MONTHS = { Jan = 1, Feb = 2, Mar = 3, Apr = 4, May = 5, Jun = 6, Jul = 7, Aug = 8, Sep = 9,
  Oct = 10, Nov = 11, Dec = 12 }

-- Days since 1970-01-01 in the Gregorian calendar.
local function days(y, m, d)
  if m <= 2 then y, m = y - 1, m + 12 end
  return 365 * y + math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400)
    + math.floor((153 * m - 457) / 5) + d - 719469
end

local function seconds(year, month, day, h, m, s)
  local number = MONTHS[month]
  return number and days(tonumber(year), number, tonumber(day)) * 86400
    + tonumber(h) * 3600 + tonumber(m) * 60 + tonumber(s)
end

--- "Nov 30 18:00:00 2026 GMT", or nil.
function M.of_certificate(text)
  local month, day, h, m, s, year = (text or ""):match("(%a+)%s+(%d+) (%d+):(%d+):(%d+) (%d+)")
  return month and seconds(year, month, day, h, m, s)
end

--- "Mon, 30 Nov 2026 14:47:23 GMT", or nil.
function M.of_header(text)
  local day, month, year, h, m, s =
    (text or ""):match("(%d+) (%a+) (%d+) (%d+):(%d+):(%d+) GMT")
  return month and seconds(year, month, day, h, m, s)
end

return M
