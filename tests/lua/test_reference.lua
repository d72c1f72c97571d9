-- The reference is written from the definitions, and the definitions have
-- everything that C provides.

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local definitions = read("lua/types/stoke.d.lua")

-- Names in the rows of a table in C, {"name", something}, or in Lua.
local function names_in(path, pattern)
  local names = {}
  for name in read(path):gmatch(pattern) do
    if name:sub(1, 1) == "{" then -- a table in Lua: its keys
      for key in name:gmatch("([%w_]+) = ") do names[#names + 1] = key end
    else
      names[#names + 1] = name
    end
  end
  return names
end

-- What stands under `---@class NAME` up to the next class.
local function class(name)
  local from = assert(definitions:find("---@class " .. name .. "\n", 1, true),
    "no class " .. name)
  local to = definitions:find("\n---@class ", from + 1, true) or #definitions
  return definitions:sub(from, to)
end

local function described(name, text)
  return text:find("\n%-%-%-@field " .. name .. "%??%s")
    or text:find("\nfunction [%w_.]+[.:]" .. name .. "%(")
    or text:find("\nstoke%." .. name .. " = ")
end

describe("lua/README.md", function()
  it("is what `make docs` writes", function()
    local pipe = io.popen("luajit lua/types/reference.lua lua/types/stoke.d.lua")
    local written = pipe:read("*a")
    pipe:close()
    assert(written == read("lua/README.md"), "run `make docs`")
  end)
end)

describe("lua/types/stoke.d.lua", function()
  local rows = {
    { "stoke.Request", "src/script/request_table.c", '{"([%w_]+)", read_' },
    { "stoke.Response", "src/script/bind_response.c", '{"([%w_]+)", push_' },
    { "stoke.Rng", "src/script/bind_rng.c", '{"([%w_]+)", %w+_l}' },
    { "stoke.Dist", "src/script/bind_dist.c", '{"([%w_]+)", %w+_l}' },
    { "stoke.json", "src/script/bind_json.c", '{"([%w_]+)", %w+_l}' },
    { "stoke", "src/script/bind_stoke.c", '{"([%w_]+)", %w+_l}' },
    { "stoke.Session", "src/script/bind_session.c", '{"([%w_]+)", %w+_l}' },
    { "stoke.Control", "src/script/bind_run.c", '{"([%w_]+)", %w+_l}' },
    { "stoke.Scenario", "src/script/scenario.h", 'X%([%u_]+, "([%w_]+)", ""%)' },
    { "stoke.Load", "src/script/scenario.h", 'X%([%u_]+, "([%w_]+)", "load"%)' },
    { "stoke.Load", "lua/stoke/scenario.lua", "load_fields = (%b{})" },
    { "stoke.Stage", "lua/stoke/scenario.lua", "stage_fields = (%b{})" },
  }
  for _, row in ipairs(rows) do
    local name, path, pattern = unpack(row)
    it("describes all of " .. name .. " in " .. path, function()
      local names, text = names_in(path, pattern), class(name)
      assert(#names > 0, "no names in " .. path)
      for _, field in ipairs(names) do
        assert(described(field, text), name .. " has no " .. field)
      end
    end)
  end
end)
