-- reference.lua FILE: writes the scripting reference (lua/README.md) from the
-- definitions in FILE (lua/types/stoke.d.lua), which is the only source.
--   --| text                prose, as it is
--   ---text                 what the next class or function is
--   ---@class, @field, @param, @return, and the functions themselves

local out = {}
local function write(format, ...)
  out[#out + 1] = select("#", ...) > 0 and format:format(...) or format
end

-- A bar would end the table's cell.
local function cell(text)
  return (text:gsub("|", "\\|"))
end

-- Splits "type text": a type ends at the first blank outside of brackets.
local function split_type(text)
  local depth = 0
  for i = 1, #text do
    local c = text:sub(i, i)
    if c:find("[%(%[{<]") then depth = depth + 1 end
    if c:find("[%)%]}>]") then depth = depth - 1 end
    local before = text:sub(1, i - 1)
    -- "fun(): a" and "a, b" go on after their blank.
    if c == " " and depth == 0 and not before:find("[:,|]$") then
      return before, text:sub(i + 1)
    end
  end
  return text, ""
end

local doc, params, returns, rows = {}, {}, {}, nil

local function take_doc()
  local text = table.concat(doc, " ")
  doc = {}
  return text
end

-- The table that fields or functions are rows of, begun when there is none.
local function row(kind, first, ...)
  if rows ~= kind then
    write("")
    write(kind == "field" and "| field | type | what |\n| --- | --- | --- |"
      or "| call | what |\n| --- | --- |")
    rows = kind
  end
  write("| " .. table.concat({ first, ... }, " | ") .. " |")
end

local readers = {}

readers["^%-%-%-@class ([%w_.]+)"] = function(name)
  local text = take_doc()
  rows = nil
  write("\n### %s\n", name)
  if text ~= "" then write("%s", text) end
end

readers["^%-%-%-@field ([%w_?]+) (.*)"] = function(name, rest)
  local type, text = split_type(rest)
  row("field", ("`%s`"):format(name), ("`%s`"):format(cell(type)), cell(text))
end

readers["^%-%-%-@param ([%w_.?]+) (.*)"] = function(name)
  params[#params + 1] = name
end

readers["^%-%-%-@return (.*)"] = function(text)
  local names = {}
  for part in (text .. ","):gmatch("%s*(.-),") do
    local type, name = split_type(part)
    names[#names + 1] = name:match("^[%w_]+") or type
  end
  returns = names
end

readers["^function ([%w_.:]+)%("] = function(name)
  local owner, method = name:match("^(%w+):(%w+)$")
  local short = { session = "s", response = "r", control = "run", dist = "d" }
  if owner then name = (short[owner] or owner) .. ":" .. method end
  local arguments = {}
  for _, param in ipairs(params) do
    local bare, optional = param:gsub("?", "")
    arguments[#arguments + 1] = optional > 0 and "[" .. bare .. "]" or bare
  end
  local call = ("%s(%s)"):format(name, table.concat(arguments, ", "))
  if #returns > 0 then call = call .. " -> " .. table.concat(returns, ", ") end
  row("call", ("`%s`"):format(call), cell(take_doc()))
  params, returns = {}, {}
end

local function read_line(line)
  local prose = line:match("^%-%-|%s?(.*)")
  if prose then
    rows = nil
    if prose:find("^## ") then write("") end
    write("%s", prose)
    return
  end
  for pattern, reader in pairs(readers) do
    local first, second = line:match(pattern)
    if first then return reader(first, second) end
  end
  local text = line:match("^%-%-%-([^@].*)")
  if text then doc[#doc + 1] = text end
end

for line in io.lines(arg[1]) do read_line(line) end
local text = table.concat(out, "\n"):gsub("\n\n\n+", "\n\n")
print("<!-- Written by `make docs` from lua/types/stoke.d.lua: change that. -->\n" .. text)
