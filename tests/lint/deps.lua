-- deps.lua SRC: who may include whom (the table in src/README.md, as a
-- program). Prints every forbidden include line and fails if there was one.

local all = "base stats net data script core report mock"
local modules = {
  base = "", stats = "base", net = "base", data = "base", mock = "base",
  report = "base stats",
  script = "base stats net data",
  core = "base stats net data script",
  cli = all,
  main = "base cli",
}

-- Libraries, by the first part of the header's name.
local libraries = {
  curl = { "net/" },
  cjson = { "base/json" },
  ev = { "net/", "core/", "mock/" },
  lua = { "script/" }, lualib = { "script/" }, lauxlib = { "script/" },
  luajit = { "script/" },
  llhttp = { "mock/" },
  stdatomic = { "core/mailbox", "script/vm", "script/watchdog" },
  nettle = { "script/digest" },
  zlib = { "mock/pipe" },
  pcre2 = { "data/regex" },
  utf8proc = { "data/" },
  archive = { "script/pack_" }, archive_entry = { "script/pack_" },
  yaml = { "cli/yaml" },
  jpeglib = { "data/noise_image" },
}

local function has_word(list, word)
  return (" " .. list .. " "):find(" " .. word .. " ", 1, true) ~= nil
end

local function starts_with_one_of(list, text)
  for _, prefix in ipairs(list) do
    if text:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- Why `file` ("net/sse.c") may not have this line, or nil when it may.
local function trouble(file, line)
  local dir = file:match("^(%w+)/") or "main"
  local target = line:match('^%s*#%s*include%s+"([^"]+)"')
  if target then
    local to = target:match("^(%w+)/")
    if not to then return "say the folder: \"dir/file.h\"" end
    if not modules[dir] then return dir .. " has no row in deps.lua" end
    if to ~= dir and not has_word(modules[dir], to) then
      return dir .. " may not know " .. to
    end
    return nil
  end
  local library = line:match("^%s*#%s*include%s+<([%w_]+)[./]")
  local users = library and libraries[library]
  if users and not starts_with_one_of(users, file) then
    return library .. " is seen by " .. table.concat(users, ", ") .. " alone"
  end
end

local src, count = arg[1], 0
for path in io.popen("find " .. src .. " -name '*.[ch]' | sort"):lines() do
  local number = 0
  for line in io.lines(path) do
    number = number + 1
    local why = trouble(path:sub(#src + 2), line)
    if why then
      count = count + 1
      print(("%s:%d: %s"):format(path, number, why))
    end
  end
end
os.exit(count == 0 and 0 or 1)
