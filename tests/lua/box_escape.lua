-- Ways out of the box. Runs as a scenario's main chunk in a real VM; what
-- fails here is told with its line.

local function refused(what, f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, what .. " was let through")
  return tostring(err)
end

-- ---- what is there is what the list says ----

local function names(t)
  local list = {}
  for name in pairs(t) do list[#list + 1] = tostring(name) end
  table.sort(list)
  return table.concat(list, " ")
end

assert(names(_G) == "_G _VERSION assert bit collectgarbage coroutine error "
  .. "getmetatable ipairs jit load loadstring math next os package pairs pcall "
  .. "print rawequal rawget rawset require select setmetatable stoke string "
  .. "table tonumber tostring type unpack xpcall", names(_G))
assert(names(os) == "clock date difftime exit time", names(os))
assert(names(jit) == "arch flush off on os status version version_num", names(jit))
assert(names(string) == "byte char find format gmatch gsub len lower match rep "
  .. "reverse sub upper", names(string))
assert(names(package) == "loaded", names(package))
assert(names(package.loaded) == "_G bit coroutine jit math os stoke stoke.json "
  .. "string table table.clear table.new", names(package.loaded))

-- ---- modules ----

for _, name in ipairs { "ffi", "io", "debug", "jit.util", "jit.opt", "jit.profile",
                        "string.buffer", "package", "cjson", "socket", "posix", "lfs" } do
  refused("require " .. name, require, name)
end

-- A 64-bit literal makes LuaJIT load the ffi library by itself, and enter it
-- among the modules of the registry.
local big = load("return 1LL")()
assert(type(big) == "cdata")
refused("require ffi after a 64-bit literal", require, "ffi")
assert(getmetatable(big) == "ffi")
refused("calling a number", function() return big.new("int") end)
refused("indexing a number", function() return big[0] end)

for _, name in ipairs { "", ".", "..", "../x", "/etc/passwd", "a/b", "a..b", ".a", "a.",
                        "a\0b", "stoke.../x", "a b", "\27LJ" } do
  refused("require '" .. name .. "'", require, name)
end
refused("require of a number", require, {})

-- ---- bytecode ----

-- The head of LuaJIT's bytecode, then anything.
local bytecode = "\27LJ\2\2\11\0\1\2\0\1\0\3\0\4\0\0\0\1\0\0"
for _, loader in ipairs { load, loadstring } do
  local f, err = loader(bytecode)
  assert(f == nil and err:find("mode"), err)
end
local pieces = { bytecode:sub(1, 1), bytecode:sub(2), nil }
local f, err = load(function() return table.remove(pieces, 1) end)
assert(f == nil and err:find("mode"), err)
f, err = load(bytecode, "=x", "b")
assert(f == nil and err:find("mode"), err)
assert(string.dump == nil)

-- Nor behind what a reader of files skips, nor in a module.
for _, head in ipairs { "\239\187\191", "#!/bin/x\n", "\239\187\191#\n" } do
  f, err = load(head .. bytecode)
  assert(f == nil and type(err) == "string", "bytecode behind '" .. head .. "'")
end
assert(refused("bytecode as a module", require, "bytecode"):find("mode"))

-- Text is fine, also in pieces and with an environment.
pieces = { "return ", "x", nil }
assert(load(function() return table.remove(pieces, 1) end, "=x", "t", { x = 5 })() == 5)
assert(select(2, load("return +")):find("unexpected symbol"))
assert(select(2, load(function() return {} end)):find("must return strings"))

-- ---- metatables ----

assert(getmetatable("") == "string")
refused("setmetatable of a string", setmetatable, "", {})
assert(getmetatable(stoke.dist("1")) == "stoke.dist")
refused("setmetatable of userdata", setmetatable, stoke.dist("1"), {})
refused("a method on another type", stoke.dist("1").sample, {}, {})
refused("a method on another userdata", stoke.dist("1").sample, stoke.dist("1"), stoke.dist("1"))
refused("a method without a self", stoke.dist("1").sample)
assert(getmetatable(print) == nil and getmetatable(1) == nil and getmetatable(nil) == nil)

-- A finaliser would run in the middle of anything: tables have none in this
-- Lua, and proxies are not there.
assert(newproxy == nil)
setmetatable({}, { __gc = function() error("finalised") end })
collectgarbage()

-- What a script does to its own modules is its own trouble.
for _, name in ipairs { "preload", "loaders", "path", "cpath", "searchpath", "loadlib" } do
  assert(package[name] == nil)
end
package.loaded.io = { mine = true }
assert(require("io").mine and require("io").open == nil)
package.loaded.io = nil

-- C functions show no address of C's.
assert(tostring(print):find("^function: builtin: %d+$") or tostring(print):find("^function: 0x"))

-- ---- environments ----

assert(getfenv == nil and setfenv == nil and module == nil)

-- ---- the collector cannot be stopped ----

for _, option in ipairs { "stop", "restart", "setpause", "setstepmul", "generational" } do
  refused("collectgarbage " .. option, collectgarbage, option)
end
assert(collectgarbage("count") > 0 and collectgarbage() == 0)

-- ---- random numbers ----

assert(refused("math.randomseed", math.randomseed, 1):find("--seed", 1, true))
for _ = 1, 100 do
  local x, y, z = math.random(), math.random(6), math.random(-3, 3)
  assert(x >= 0 and x < 1 and y >= 1 and y <= 6 and z >= -3 and z <= 3 and z % 1 == 0)
end
refused("an empty interval", math.random, 0)
refused("an empty interval", math.random, 3, 1)
refused("an endless interval", math.random, 1, math.huge)

-- ---- files ----

for _, path in ipairs { "/etc/passwd", "../outside.txt", "/dev/zero", "/proc/self/environ", "/",
                        "/proc/self/mem", "/proc/self/root/etc/passwd", "/proc/self/fd/0",
                        "/dev/stdin", "data/../../outside.txt", "~root/x", "file:///etc/passwd",
                        ".env", ".ssh/id_rsa", "data/.secret", "data/../.env",
                        "link.txt", "linked/outside.txt", "nothing.txt", "..", "", ".",
                        "pipe" } do
  local text, why = stoke.read(path)
  assert(text == nil and type(why) == "string", path .. " could be read")
  assert(stoke.lines(path) == nil)
  refused("opening " .. path, stoke.data.open, path)
end
for _, read in ipairs { stoke.read, stoke.lines, stoke.data.open } do
  assert(refused("a path with a 0", read, "data/inside.txt\0x"):find("byte 0"))
end
assert(stoke.read("data/inside.txt") == "inside")
assert(stoke.read("./data/../data/inside.txt") == "inside")
refused("a link as a module", require, "linkmod")
assert(refused("a module's folder that is a link", require, "linked.mod"):find("leads out"))
assert(require("data.mod").here == true)

return { request = function() end }
