-- run.lua FILE: run the tests of one file and print TAP, for prove.
-- A file says describe("what", function() it("does this", function() … end) end);
-- a test fails when it raises. `equal` compares by content. The modules under
-- lua/ find each other as they do inside the program; what C gives them is
-- in `stoke`, here as plain as the tests need it.

package.path = "lua/?.lua;" .. package.path

local count, failed, path = 0, 0, {}

function describe(what, body)
  path[#path + 1] = what
  body()
  path[#path] = nil
end

function it(what, body)
  count = count + 1
  local ok, err = xpcall(body, debug.traceback)
  local name = table.concat(path, " ") .. " " .. what
  print(("%s %d - %s"):format(ok and "ok" or "not ok", count, name))
  if ok then return end
  failed = failed + 1
  print("# " .. tostring(err):gsub("\n", "\n# "))
end

-- Keys in order, so that equal tables give equal texts.
function show(value)
  if type(value) ~= "table" then
    return type(value) == "string" and ("%q"):format(value) or tostring(value)
  end
  local parts = {}
  for key, item in pairs(value) do
    parts[#parts + 1] = "[" .. show(key) .. "]=" .. show(item)
  end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

function equal(got, wanted)
  if show(got) ~= show(wanted) then
    error("got " .. show(got) .. "\nwanted " .. show(wanted), 2)
  end
end

stoke = {
  files = {}, -- path -> list of lines
  lines = function(name)
    local lines = stoke.files[name]
    return lines, not lines and name .. ": no such file" or nil
  end,
  duration = function(value)
    local number, unit = tostring(value):match("^([%d.]+)(m?s?)$")
    local scale = ({ [""] = 1, s = 1, ms = 1e-3, m = 60 })[unit]
    return tonumber(number) * assert(scale, "a duration")
  end,
  json = {
    decode = function(text)
      if text == "{" then return nil, "bad JSON" end
      local key, value = text:match('^{"(%w+)":"(.-)"}$')
      return key and { [key] = value } or {}
    end,
  },
}

dofile((assert(arg[1], "run.lua FILE")))
print("1.." .. count)
os.exit(failed == 0 and 0 or 1)
