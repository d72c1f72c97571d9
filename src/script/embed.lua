-- embed.lua FILE…: writes C source that holds the files; see embed.h.

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- Numbers rather than string literals, which have a length limit in C.
local function bytes(text)
  local lines = {}
  for i = 1, #text, 20 do
    local row = { text:byte(i, i + 19) }
    for j, b in ipairs(row) do row[j] = b < 128 and b or b - 256 end
    lines[#lines + 1] = table.concat(row, ",") .. ","
  end
  return table.concat(lines, "\n")
end

local paths = { unpack(arg) }
table.sort(paths)
print('#include "script/embed.h"\n')
for i, path in ipairs(paths) do
  print(("static const char file_%d[] = {\n%s\n0};"):format(i, bytes(read(path))))
end
print("const struct embedded embedded_files[] = {")
for i, path in ipairs(paths) do
  print(("{%q, file_%d, sizeof file_%d - 1},"):format(path, i, i))
end
print("};")
print(("const size_t embedded_count = %d;"):format(#paths))
