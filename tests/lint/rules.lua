-- rules.lua FILE…: house rules that clang-format and luacheck don't know.
-- Prints every line that breaks one and fails if there was any.

-- Calls and names that only some files may have: pattern, where, why.
local reserved = {
  { "ev_now%f[^%w_]", { "tests/" }, "the loop's time is not the byte's: clock_ns()" },
  { "ev_default_loop", {}, "every loop has an owner" },
  { "EV_DEFAULT", {}, "every loop has an owner" },
  { "%f[%w_]ev_run%f[%W]",
    { "src/core/", "src/mock/", "src/net/fetch.c", "tests/" },
    "only the owner of a loop runs it" },
  { "clock_gettime%f[%W]", { "src/base/clock.c", "tests/" },
    "clock_ns() is the one clock" },
  { "gettimeofday%f[%W]", {}, "clock_ns() is the one clock" },
  { "%f[%w_]malloc%f[%W]", { "src/base/mem.c", "tests/" }, "mem_alloc" },
  { "%f[%w_]calloc%f[%W]", { "src/base/mem.c", "tests/" }, "mem_zalloc" },
  { "%f[%w_]realloc%f[%W]", { "src/base/mem.c", "src/script/vm.c", "tests/" },
    "mem_resize" },
  { "%f[%w_]strdup%f[%W]", { "tests/" }, "mem_strdup" },
  { "%f[%w_]sprintf%f[%W]", { "tests/bench/" }, "buf_addf, snprintf" },
  { "%f[%w_]strcpy%f[%W]", { "tests/" }, "say how long" },
  { "%f[%w_]strcat%f[%W]", { "tests/" }, "say how long" },
  { "%f[%w_]strtok%f[%W]", {}, "str_split" },
  { "%f[%w_]atoi%f[%W]", { "src/net/" }, "check what people write: units.h" },
  { "_Atomic", { "src/core/mailbox.", "src/script/vm_impl.h", "tests/" },
    "threads meet in mailbox" },
}

local function allowed(path, places)
  for _, prefix in ipairs(places) do
    if path:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- The line without comments and without what stands in quotes, so that prose
-- breaks no rule. `open` tells whether a comment was open at its start.
local function code_of(line, open)
  local out, i = {}, 1
  while i <= #line do
    if open then
      local _, stop = line:find("*/", i, true)
      if not stop then break end
      open, i = false, stop + 1
    else
      local c, two = line:sub(i, i), line:sub(i, i + 1)
      if two == "/*" then
        open, i = true, i + 2
      elseif two == "//" then
        out[#out + 1] = "//"
        break
      elseif c == '"' or c == "'" then
        local stop = i + 1
        while stop <= #line and line:sub(stop, stop) ~= c do
          stop = stop + (line:sub(stop, stop) == "\\" and 2 or 1)
        end
        out[#out + 1], i = c .. c, stop + 1
      else
        out[#out + 1], i = c, i + 1
      end
    end
  end
  return table.concat(out), open
end

local count = 0
local function report(path, number, why)
  count = count + 1
  print(("%s:%d: %s"):format(path, number, why))
end

local function check_c(path, lines)
  local open = false
  for number, line in ipairs(lines) do
    local code, still = code_of(line, open)
    open = still
    if code:find("//", 1, true) then report(path, number, "/* … */") end
    if #line:gsub("[\128-\191]", "") > 80 then -- characters, not bytes
      report(path, number, "longer than 80 columns")
    end
    for _, rule in ipairs(reserved) do
      if code:find(rule[1]) and not allowed(path, rule[2]) then
        report(path, number, code:match(rule[1]) .. ": " .. rule[3])
      end
    end
  end
end

-- src/net/sse.h is guarded by STOKE_NET_SSE_H, tests/unit/x.h by
-- STOKE_TESTS_X_H.
local function check_guard(path, text)
  local name = path:gsub("^src/", ""):gsub("^tests/%w+/", "tests/")
  name = name:gsub("%.h$", "")
  local guard = "STOKE_" .. name:gsub("%W", "_"):upper() .. "_H"
  if not text:find("#ifndef " .. guard .. "\n#define " .. guard .. "\n", 1, true) then
    report(path, 1, "include guard " .. guard)
  end
end

local function check_text(path, lines)
  local unfinished = "TO" .. "DO"
  for number, line in ipairs(lines) do
    if line:find("%f[%w]" .. unfinished .. "%f[%W]") then
      report(path, number, "finish it, or file it")
    end
    if line:find("[ \t]$") and not path:find("%.md$") then
      report(path, number, "blanks at the end")
    end
  end
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

for _, path in ipairs(arg) do
  local ending = path:match("%.(%w+)$")
  if not path:find("^tests/data/") and not path:find("^tests/fuzz/corpus/") then
    local text, lines = read(path), {}
    for line in text:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
    if #text > 0 and text:sub(-1) ~= "\n" then
      report(path, #lines + 1, "no newline at the end")
    end
    check_text(path, lines)
    if ending == "c" or ending == "h" then check_c(path, lines) end
    if ending == "h" then check_guard(path, text) end
    if path == "package-lock.json" and text:find('"resolved"', 1, true) then
      report(path, 1, "download addresses: see .npmrc")
    end
  end
end
os.exit(count == 0 and 0 or 1)
