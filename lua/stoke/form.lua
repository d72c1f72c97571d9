-- stoke.form: bodies of the type multipart/form-data (RFC 7578), for servers
-- that take files.
local keys = require "stoke.keys"

local form = {}

local function quoted(name)
  return (name:gsub('[\r\n"]', function(c) return ("%%%02X"):format(c:byte()) end))
end

local function stands_in(boundary, texts)
  for _, text in ipairs(texts) do
    if text:find(boundary, 1, true) then return true end
  end
  return false
end

-- A line that stands in none of them.
local function boundary_of(texts)
  local boundary, n = "----stoke-form", 0
  while stands_in(boundary, texts) do
    n = n + 1
    boundary = "----stoke-form-" .. n
  end
  return boundary
end

local function text_of(value)
  return type(value) == "table" and stoke.json.encode(value) or tostring(value)
end

local function head_of(name, more)
  return ('Content-Disposition: form-data; name="%s"%s\r\n\r\n'):format(quoted(name), more)
end

-- The body and its content type. `file` is { bytes, name, type }; the texts
-- follow in the order of their names.
function form.encode(file, texts)
  local names, values = keys.sorted(texts), { file.bytes }
  for i, name in ipairs(names) do values[i + 1] = text_of(texts[name]) end
  local line = "--" .. boundary_of(values)
  local parts = { line, "\r\n", head_of("file", ('; filename="%s"\r\nContent-Type: %s')
    :format(quoted(file.name), file.type)), file.bytes, "\r\n" }
  for i, name in ipairs(names) do
    parts[#parts + 1] = line .. "\r\n" .. head_of(name, "") .. values[i + 1] .. "\r\n"
  end
  parts[#parts + 1] = line .. "--\r\n"
  return table.concat(parts), "multipart/form-data; boundary=" .. line:sub(3)
end

return form
