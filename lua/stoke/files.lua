-- Files of the tool's own commands.

local M = {}

--- The whole of a file, or nil and why.
function M.read(path)
  local f, why = io.open(path, "rb")
  if not f then return nil, why end
  local text = f:read("*a")
  f:close()
  return text or nil, not text and path .. ": cannot be read" or nil
end

function M.exists(path)
  local f = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

--- Written beside and renamed, so that no reader sees half of it.
function M.write(path, text)
  if path == "-" then return io.stdout:write(text) end
  local part = path .. ".part"
  local f, why = io.open(part, "wb")
  if not f then return nil, why end
  local ok = f:write(text) and f:close()
  if ok then ok, why = os.rename(part, path) end
  if not ok then os.remove(part) end
  return ok, why or (not ok and path .. ": cannot be written" or nil)
end

return M
