-- The settings of a sweep: "--vary name=1,2,4..16*2" and "--set name=expr"
-- become a list of cells, each an ordered list of { name, value } texts.

local M = {}

local MOST = 10000

--- A number as people write it: 4, 0.06, not 4.0 or 0.060000000000000005.
function M.text(x)
  if type(x) ~= "number" then return tostring(x) end
  if x == math.huge then return "inf" end
  return ("%.12g"):format(x)
end

-- "a..b", "a..b:step", "a..b*factor" -> list of numbers; nil when it is none.
local function range(item)
  local from, to, how, by = item:match("^([%d%.eE+-]-)%.%.([%d%.eE+-]+)([:*]?)(.*)$")
  from, to = tonumber(from), tonumber(to)
  if not from or not to then return nil end
  local step = how == "" and 1 or tonumber(by)
  if not step or (how == "*" and (step <= 1 or from <= 0)) or step <= 0 or to < from then
    return nil, "the range leads nowhere"
  end
  local values, n = {}, 0
  while n <= MOST do
    -- By multiplication: sums of 0.1 would miss the end.
    local x = how == "*" and from * step ^ n or from + step * n
    if x > to * (1 + 1e-9) then return values end
    values[#values + 1] = M.text(x)
    n = n + 1
  end
  return nil, "the range has more than " .. MOST .. " values"
end

--- "1,2,4..16*2" -> { "1", "2", "4", "8", "16" }, or nil and why.
function M.values(text)
  local list = {}
  for item in (text .. ","):gmatch("%s*(.-)%s*,") do
    if item == "" then return nil, "a value is empty" end
    local some, why = range(item)
    if why then return nil, item .. ": " .. why end
    for _, v in ipairs(some or { item }) do list[#list + 1] = v end
  end
  return list
end

-- What an expression of --set may use, besides what varies and is set.
local FUNCTIONS = { inf = math.huge, floor = math.floor, ceil = math.ceil, min = math.min,
  max = math.max, sqrt = math.sqrt, log = math.log, abs = math.abs }

local LONGEST = 65536 -- text that one may give

-- Lua's expressions end by themselves once they hold no function and find no
-- methods of strings, whose patterns and repetitions may take for ever.
local strings = getmetatable("")
local methods = strings.__index

local function call_without_methods(f)
  strings.__index = nil
  local ok, value = pcall(f)
  strings.__index = methods
  if not ok then error(value, 0) end
  return value
end

-- Its text; raises why not. `named`: what a name in it stands for.
local function evaluate(set, named)
  local f, why = loadstring("return " .. set.expr, "=" .. set.name)
  if not f then error(why, 0) end
  if set.expr:find("function", 1, true) then
    error("an expression has no function of its own", 0)
  end
  setfenv(f, setmetatable({}, { __index = function(_, k)
    strings.__index = methods
    local x = named(k)
    if x == nil then x = FUNCTIONS[k] end
    if x == nil then error(("%s is neither varied nor set"):format(k), 0) end
    strings.__index = nil
    return x
  end }))
  local value = call_without_methods(f)
  if type(value) ~= "number" and type(value) ~= "string" or value ~= value then
    error("gives no number and no text", 0)
  end
  if #M.text(value) > LONGEST then error("gives too long a text", 0) end
  return M.text(value)
end

-- Adds what is set from the values of a cell, in whatever order they need each
-- other. nil and why when they cannot.
local function fill(cell, set, name_of)
  local values, exprs, texts, busy = {}, {}, {}, {}
  for _, c in ipairs(cell) do values[c.name] = tonumber(c.value) or c.value end
  for _, s in ipairs(set) do exprs[s.name] = s end
  local function named(k)
    local name = name_of(k)
    local s = exprs[name]
    if not s or texts[name] then return values[name] end
    if busy[name] then error(("%s depends on itself"):format(k), 0) end
    busy[name] = true
    texts[name] = evaluate(s, named)
    values[name] = tonumber(texts[name]) or texts[name]
    return values[name]
  end
  for _, s in ipairs(set) do
    local ok, why = pcall(named, s.name)
    if not ok then return nil, ("--set %s=%s: %s"):format(s.name, s.expr, why) end
    cell[#cell + 1] = { name = s.name, value = texts[s.name] }
  end
  return cell
end

-- The first list varies fastest.
local function grid(vary)
  local cells, total = {}, 1
  for _, v in ipairs(vary) do total = total * #v.values end
  if total > MOST then return nil, "more than " .. MOST .. " cells" end
  for i = 0, total - 1 do
    local cell, rest = {}, i
    for k, v in ipairs(vary) do
      cell[k] = { name = v.name, value = v.values[rest % #v.values + 1] }
      rest = math.floor(rest / #v.values)
    end
    cells[#cells + 1] = cell
  end
  return cells
end

local function zipped(vary)
  local cells = {}
  for _, v in ipairs(vary) do
    if #v.values ~= #vary[1].values then
      return nil, ("--zip: %s has %d values, %s has %d"):format(vary[1].name,
        #vary[1].values, v.name, #v.values)
    end
  end
  for i = 1, #vary[1].values do
    cells[i] = {}
    for k, v in ipairs(vary) do cells[i][k] = { name = v.name, value = v.values[i] } end
  end
  return cells
end

--- `vary`: { { name, values } }, `set`: { { name, expr } }; `name_of` gives the
--- name that an option has here, however it is spelled. The cells, or nil and
--- why. A cell that was there before has `again`: 2, 3, …
function M.make(vary, set, zip, name_of)
  local cells, why
  if #vary == 0 then return nil, "--vary is missing: which option takes which values?" end
  if zip then cells, why = zipped(vary) else cells, why = grid(vary) end
  if not cells then return nil, why end
  local seen = {}
  for i, cell in ipairs(cells) do
    cell.index = i - 1
    local label = M.label(cell)
    seen[label] = (seen[label] or 0) + 1
    cell.again = seen[label] > 1 and seen[label] or nil
    local filled, wrong = fill(cell, set, name_of)
    if not filled then return nil, wrong end
  end
  return cells
end

--- "max_concurrency=4,input_len=1024": the cell in words, and in file names.
function M.label(cell)
  local parts = {}
  for i, c in ipairs(cell) do parts[i] = c.name .. "=" .. c.value end
  return table.concat(parts, ",")
end

return M
