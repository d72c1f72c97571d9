-- A certificate as net/certificate.c tells it: lines "Subject: CN = x".

local times = require("stoke.times")

local M = {}

function M.read(lines)
  local fields = {}
  for _, line in ipairs(lines) do
    local name, value = line:match("^([^:]+):%s*(.*)$")
    if name then fields[name] = value end
  end
  return {
    subject = fields.Subject, issuer = fields.Issuer,
    names = fields["X509v3 Subject Alternative Name"],
    from = times.of_certificate(fields["Start date"]),
    till = times.of_certificate(fields["Expire date"]), till_text = fields["Expire date"],
  }
end

-- "CN = x", or the whole when there is none.
local function common_name(text)
  return text and (text:match("CN%s*=%s*([^,/]+)") or text) or "?"
end

--- In a phrase, for people.
function M.describe(c)
  local names = c.names and " (" .. c.names:gsub("IP Address:", ""):gsub("DNS:", "") .. ")" or ""
  return ("certificate for %s%s by %s, until %s"):format(common_name(c.subject), names,
    common_name(c.issuer), c.till_text or "?")
end

--- Why it cannot be good at the time `now`, or nil.
function M.dates(c, now)
  if c.till and c.till < now then return "it has expired: renew it" end
  if c.from and c.from > now + 60 then
    return "it is not valid yet: is this machine's clock right?"
  end
end

return M
