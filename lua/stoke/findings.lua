-- What stoke check found, in order, and how it looks on paper.

local json_text = require("stoke.json_text")

local WIDTH, INDENT = 79, 17

local M = {}
M.__index = M

function M.new() return setmetatable({}, M) end

--- `status` is ok, warn or wrong; `fix` a line of advice or a list of them. A
--- second finding of the same thing takes the place of the first.
function M:add(status, what, text, fix)
  if type(fix) == "string" then fix = { fix } end
  local at = 1
  while self[at] and self[at].check ~= what do at = at + 1 end
  self[at] = { status = status, check = what, text = text, fix = fix or {} }
end

function M:worst()
  local worst = "ok"
  for _, f in ipairs(self) do
    if f.status == "wrong" then return "wrong" end
    if f.status == "warn" then worst = "warn" end
  end
  return worst
end

--- For json_text.
function M:list()
  local out = json_text.list()
  for i, f in ipairs(self) do
    out[i] = { check = f.check, status = f.status, text = f.text, fix = json_text.list(f.fix) }
  end
  return out
end

-- Words in lines of the width that is left, after `indent` blanks.
local function wrapped(text, indent)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and #line + 1 + #word > WIDTH - indent then
      lines[#lines + 1] = line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

-- Control characters of a server have no business on a terminal.
local function plain(text) return (text:gsub("%c", " ")) end

function M:text()
  local out = {}
  for _, f in ipairs(self) do
    out[#out + 1] = ("%-6s %-9s %s\n"):format(f.status, f.check, wrapped(plain(f.text), INDENT))
    for _, line in ipairs(f.fix) do
      out[#out + 1] = (" "):rep(INDENT) .. "- " .. wrapped(plain(line), INDENT + 2) .. "\n"
    end
  end
  return table.concat(out)
end

return M
