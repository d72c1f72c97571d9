-- Names as keys of tables.
local M = {}

--- Where each name stands in the list.
function M.set_of(list)
  local set = {}
  for i, name in ipairs(list) do set[name] = i end
  return set
end

--- The keys of a table, of any type, in one order.
function M.sorted(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

return M
