-- What would exhaust a process that doesn't look after itself. Runs as a
-- scenario's main chunk in a real VM with a cap of 32 MiB.

local function fails(what, f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, what .. " did not fail")
  return tostring(err)
end

-- ---- depth ----

local function dive(n) return 1 + dive(n + 1) end
assert(fails("recursion", dive, 1):find("stack overflow"))
local function gsub_dive(s) return (s:gsub(".", gsub_dive)) end
fails("recursion through C", gsub_dive, "x")
local mt = {}
mt.__index = function(t, k) return t[k .. "x"] end
fails("recursion through __index", function() return setmetatable({}, mt).x end)
local function sorter() table.sort({ 3, 2, 1 }, sorter) end
fails("recursion through sort", sorter)
fails("recursion of tostring", tostring,
  setmetatable({}, { __tostring = function(self) return tostring(self) .. "" end }))

for _, text in ipairs { ("("):rep(1e5), ("a={"):rep(1e5), ("return "):rep(1e5),
                        "x=" .. ("-"):rep(1e5), ("do "):rep(1e5), ("function f() "):rep(1e5) } do
  local f, err = load(text)
  assert(f == nil and err, "a script of great depth was compiled")
end

-- Coroutines that resume one another, by each of the two ways.
local function resume_dive(f) return coroutine.resume(coroutine.create(f), f) end
local function nest_resume(f)
  local ok, err = resume_dive(f)
  if not ok then error(err, 0) end
end
fails("nested coroutines", function() assert(resume_dive(nest_resume)) end)
local function nest_wrap() return coroutine.wrap(nest_wrap)() end
assert(fails("nested coroutines", nest_wrap):find("stack overflow"))

-- What calls back into Lua from C, each within itself.
local formatted = setmetatable({}, { __tostring = function(self) return ("%s"):format(self) end })
fails("recursion through format", string.format, "%s", formatted)
local printed = setmetatable({}, { __tostring = function(self) print(self) return "" end })
fails("recursion through print", print, printed)
local function each() table.foreach({ 1 }, each) end
fails("recursion through foreach", each)
local function loader() return load(loader) end
assert(pcall(load, loader))
local less = {}
local thing = setmetatable({}, less)
less.__lt = function() table.sort { thing, thing, thing } return true end
fails("recursion through __lt", table.sort, { thing, thing, thing })
local replaced = setmetatable({}, { __index = function(t) return (("x"):gsub(".", t)) end })
assert(fails("recursion through a table of gsub", string.gsub, "x", ".", replaced)
  :find("stack overflow"))

-- The replaced functions are what they were.
assert(("a-b"):gsub("%w", "<%0>") == "<a>-<b>" and select(2, ("aaa"):gsub("a", "b", 2)) == 2)
assert(("hello"):gsub("l", { l = "L" }) == "heLLo")
local co = coroutine.create(function(a, b)
  local c = coroutine.yield(a + b)
  local d, e = coroutine.yield(c * 2)
  error({ d, e })
end)
local function same(expected, ...)
  assert(#expected == select("#", ...), "another number of results")
  for i, value in ipairs(expected) do assert(value == select(i, ...)) end
end
same({ true, 3 }, coroutine.resume(co, 1, 2))
same({ true, 8 }, coroutine.resume(co, 4))
local ok, raised = coroutine.resume(co, 5, 6)
assert(not ok and raised[1] == 5 and raised[2] == 6 and coroutine.status(co) == "dead")
same({ false, "cannot resume dead coroutine" }, coroutine.resume(co))
local itself
itself = coroutine.wrap(function() itself() end)
fails("resuming what is running", itself)
local gen = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
same({ 1 }, gen()) same({ 2 }, gen()) same({ 3 }, gen()) same({}, gen())
assert(fails("a generator that has ended", gen):find("dead"))
fails("resuming a number", coroutine.resume, 1)
fails("wrapping a number", coroutine.wrap, 1)

-- ---- size ----

assert(fails("string.rep", string.rep, "x", 1e9):find("memory"))
assert(fails("string.rep", string.rep, ("x"):rep(1e6), 1e6):find("memory"))
-- Wherever the collector is when the cap is passed.
for phase = 1, 8 do
  collectgarbage()
  for _ = 1, phase * phase do collectgarbage("step") end
  assert(fails("a table that grows", function()
    local t = {}
    repeat t[#t + 1] = { #t, tostring(#t) } until #t < 0
    return t
  end):find("memory"))
end
assert(fails("functions without end", function()
  local t = {}
  repeat t[#t + 1] = function() return #t end until #t < 0
  return t
end):find("memory"))
collectgarbage() -- with all that garbage one long text may be as much again
fails("unpack", unpack, {}, 1, 1e8)
fails("string.byte", string.byte, ("x"):rep(1e7), 1, -1)
fails("string.format", string.format, "%999d", 1)
fails("table.concat of nothing", table.concat, {}, "x", 1, 2 ^ 31 - 2)
fails("select", select, -1e10)
fails("string.char", string.char, 1e10)
collectgarbage()
assert(collectgarbage("count") < 32 * 1024, "what the bombs left was not collected")

-- ---- patterns ----

fails("a pattern of great depth", string.find, "x", ("("):rep(40))
fails("a pattern of great depth", string.match, ("a"):rep(1e6), (".-"):rep(1e6) .. "b")
fails("an unfinished pattern", string.find, "x", "[a")
fails("a pattern that ends in an escape", string.find, "x", "%")
assert(("x"):rep(1e6):find(".-" .. ("x"):rep(10)))

-- ---- JSON ----

local json = stoke.json
local loop = {}
loop.loop = loop
assert(fails("a table that holds itself", json.encode, loop):find("holds itself"))
local nest = {}
for _ = 1, 1e5 do nest = { nest } end
fails("a nest", json.encode, nest)
assert(json.decode(("["):rep(1e6)) == nil)
assert(json.decode(("["):rep(900) .. ("]"):rep(900)))
assert(json.decode(('{"a":'):rep(1e5)) == nil)
for _, value in ipairs { 0 / 0, math.huge, -math.huge, print, coroutine.create(print),
                         { [1] = 1, x = 2 }, { [1.5] = 1 }, { [{}] = 1 }, { [2] = 1 },
                         { [true] = 1 }, { [0] = 1 }, { [-1] = 1 } } do
  fails("encoding " .. tostring(value), json.encode, value)
end

-- A small table that says much: shared, not nested in itself.
local tree = { "x" }
for _ = 1, 40 do tree = { tree, tree } end
assert(fails("a tree of one leaf", json.encode, tree):find("memory"))
local flat, long = {}, ("x"):rep(1e6)
for i = 1, 1000 do flat[i] = long end
assert(fails("a list of one text", json.encode, flat):find("memory"))
local list = json.list()
assert(fails("a tree in a list", list.add, list, tree):find("memory"))
assert(#list == 0 and list:text() == "[]")
-- Lists are not in the Lua heap, and have a limit all the same.
assert(fails("a list that grows", function() repeat list:add(long) until false end)
  :find("memory"))
list = nil
for _ = 1, 200 do json.list():add(long) end
collectgarbage()
assert(fails("a text of many values", json.decode, "[" .. ("1,"):rep(1.2e6) .. "1]")
  :find("memory"))
collectgarbage()

fails("more files than there may be", function()
  for i = 1, 1000 do stoke.data.open("box_bombs.lua", { format = "lines", block = i }) end
end)

-- ---- sorting with nonsense ----

local many = {}
for i = 1, 1000 do many[i] = i % 7 end
pcall(table.sort, many, function() return true end)
fails("sorting with an error", table.sort, many, function() error("no") end)
pcall(table.sort, many, function(a, b) many[#many + 1] = 1 return a < b end)
pcall(table.sort, many, function() for i = 1, #many do many[i] = nil end return true end)
pcall(table.sort, { 0 / 0, 1, 0 / 0, 2, 0 / 0 })
fails("sorting mixed values", table.sort, { 1, "a", {} })

-- ---- errors about errors ----

assert(pcall(xpcall, function() error("a") end, function() error("b") end))
assert(pcall(xpcall, function() error("a") end, function() return dive(1) end))
assert(select(2, pcall(error)) == nil)
fails("an error whose text is none", function()
  error(tostring(setmetatable({}, { __tostring = function() return {} end })))
end)
assert(select(3, xpcall(error, function(e) error(e) end, "x")) == nil)
local co_handler = coroutine.wrap(function()
  return xpcall(error, function(e) coroutine.yield(e) end, "x")
end)
pcall(co_handler) pcall(co_handler)
local odd = setmetatable({}, { __index = error, __newindex = error, __call = error,
  __concat = error, __eq = error, __lt = error, __len = error, __unm = error })
for _, f in ipairs { function() return odd.x end, function() odd.x = 1 end, odd,
                     function() return odd .. "" end, function() return -odd end } do
  fails("a metamethod that raises", f)
end

-- ---- arguments beyond all bounds ----

for _, case in ipairs {
  { string.format, "%" }, { string.format, "%#-+ 0100d", 1 }, { select, -2 ^ 31 }, { next, {}, 1 },
  { table.concat, { {} } }, { string.gsub, "abc", "a" }, { string.gsub, "abc", "%f", "" },
  { string.gsub, "abc", "%b", "" }, { string.gsub, "a", ".", function() return {} end },
  { coroutine.wrap(function() end), coroutine.yield }, { tonumber, "1", 1e300 }, { jit.off, 5 },
  { stoke.rng, -1 }, { stoke.rng, 0 / 0 }, { stoke.dist, ("("):rep(1e6) },
  { stoke.duration, ("9"):rep(1e5) }, { stoke.base64 }, { load("error('x')", "@/etc/passwd") },
} do
  local called = pcall(unpack(case))
  assert(not called or case[2] == coroutine.yield)
end
for _, f in ipairs { os.date, os.time, string.rep, string.sub, string.byte, unpack,
                     bit.lshift, bit.tohex, math.floor, tostring } do
  for _, x in ipairs { 0 / 0, math.huge, -math.huge, 2 ^ 53, -2 ^ 53, "x", ("%c"):rep(1e4) } do
    pcall(f, x) pcall(f, "x", x) pcall(f, {}, x) pcall(f, {}, x, x)
    pcall(f, x, { year = x, month = x, day = x })
  end
end

return { request = function() end }
