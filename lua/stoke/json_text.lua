-- JSON out, for the tool's own commands: keys in order, a table with [1] (or
-- marked by `list`) is an array, NaN and infinity are null.
local keys = require "stoke.keys"

local M = {}

local LIST = {}

--- Mark a table as an array, so that an empty one stays one.
function M.list(t) return setmetatable(t or {}, LIST) end

--- A value that is null in JSON.
M.null = {}

local function write(host, value, indent, out)
  local kind = type(value)
  local inner = indent .. " "
  if value == M.null or kind == "nil" then
    out[#out + 1] = "null"
  elseif kind == "number" then
    out[#out + 1] = value % 1 == 0 and math.abs(value) < 2 ^ 53
      and ("%d"):format(value) or host.number(value)
  elseif kind == "string" then
    out[#out + 1] = host.quote(value)
  elseif kind == "boolean" then
    out[#out + 1] = tostring(value)
  elseif getmetatable(value) == LIST or value[1] ~= nil then
    out[#out + 1] = "["
    for i = 1, #value do
      out[#out + 1] = (i > 1 and "," or "") .. "\n" .. inner
      write(host, value[i], inner, out)
    end
    out[#out + 1] = "]"
  else
    out[#out + 1] = "{"
    for i, k in ipairs(keys.sorted(value)) do
      out[#out + 1] = (i > 1 and "," or "") .. "\n" .. inner .. host.quote(k) .. ": "
      write(host, value[k], inner, out)
    end
    out[#out + 1] = "}"
  end
end

--- `host` escapes strings and prints numbers.
function M.encode(host, value)
  local out = {}
  write(host, value, "", out)
  out[#out + 1] = "\n"
  return table.concat(out)
end

return M
