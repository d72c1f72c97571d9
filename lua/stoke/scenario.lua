-- stoke.scenario: is the table that a script returned a scenario?
-- The module is a function: check(t, suggest) -> problems, plain.
-- `problems` is a list of texts; `plain` is what of the table is not a
-- function, normalised: durations in seconds, infinity as "inf".
-- suggest(name, names) -> "; did you mean …?" or "".

local keys = require "stoke.keys"
local set_of, sorted_keys = keys.set_of, keys.sorted

local hooks = {
  "setup", "init", "exit", "request", "session", "on_first_token", "on_chunk", "on_response",
  "control", "teardown", "summary",
}
local tables = { "params", "load", "metrics", "thresholds", "backends" }

-- ---- kinds of values ----
-- Each takes a value and returns what it becomes, or nil and what is wanted.

local function positive(value)
  if value == "inf" or value == math.huge then return "inf" end
  if type(value) == "number" and value > 0 then return value end
  return nil, "a number above 0"
end

local function is_rate(x)
  return type(x) == "number" and x >= 0 and x < math.huge
end

local function ramp(value, what)
  local from, to = value[1], value[2]
  if #value == 2 and is_rate(from) and is_rate(to) and from + to > 0 then
    return { from, to }
  end
  return nil, ("two %s { from, to }"):format(what)
end

-- A rate, or { from, to } for a ramp in time.
local function rate(value)
  if type(value) ~= "table" then
    local plain = positive(value)
    return plain, "a number above 0 (a second) or { from, to }"
  end
  return ramp(value, "rates")
end

local function count(value)
  if type(value) == "number" and value >= 1 and value % 1 == 0 and value < 2 ^ 53 then
    return value
  end
  return nil, "a whole number from 1 up"
end

-- Slots, or { from, to } for a ramp in time.
local function slots(value)
  if type(value) ~= "table" then return count(value) end
  return ramp(value, "numbers")
end

local function duration(value)
  local ok, seconds = pcall(stoke.duration, value)
  if ok then return seconds end
  return nil, "a duration such as \"30s\", or a number of seconds"
end

-- Shown in lists and tables: one line, and nothing that a terminal obeys.
local function text(value)
  if type(value) ~= "string" or value == "" then
    return nil, "a string, not " .. (value == "" and "an empty one" or "a " .. type(value))
  end
  if value:find("%c") then return nil, "a line of text without control characters" end
  return value
end

-- It becomes the name of files.
local function file_name(value)
  local good, wanted = text(value)
  if good and (good:find("[/\\]") or good:find("^%.") or #good > 128) then
    return nil, "a short name, without slashes or a dot in front"
  end
  return good, wanted
end

local function text_or_number(value)
  return text(type(value) == "number" and tostring(value) or value)
end

local function a_table(value)
  if type(value) == "table" then return value end
  return nil, "a table, not a " .. type(value)
end

local function a_boolean(value)
  if type(value) == "boolean" then return value end
  return nil, "true or false, not a " .. type(value)
end

local function one_of(...)
  local choices = { ... }
  local known = set_of(choices)
  return function(value)
    if known[value] then return value end
    return nil, "one of " .. table.concat(choices, ", ")
  end
end

local arrival = one_of("poisson", "constant", "gamma")
local shape = one_of("linear", "exponential", "step")
local metric_kind = one_of("counter", "gauge", "rate", "trend")

local load_fields = {
  request_rate = rate, session_rate = rate,
  arrival = arrival, burstiness = positive, shape = shape, steps = count,
  max_concurrency = slots, overflow = one_of("queue", "drop"),
  max_prefill = count, pacing = duration,
  num_requests = count, num_sessions = count,
  duration = duration, warmup = duration, warmup_requests = count,
  drain = duration, stages = a_table,
}
local stage_fields = {
  duration = duration, request_rate = rate, session_rate = rate,
  arrival = arrival, burstiness = positive, shape = shape, steps = count,
  max_concurrency = slots, overflow = one_of("queue", "drop"),
  max_prefill = count, pacing = duration,
  num_requests = count, num_sessions = count, label = text,
}
-- What says when requests leave: one at most.
local timetables = { "request_rate", "session_rate", "rate", "arrivals", "stages" }

-- What every thread keeps figures of.
local most = { metrics = 256, thresholds = 256 }

-- ---- the check ----

local check = {}
check.__index = check

function check:problem(format, ...)
  self.problems[#self.problems + 1] = format:format(...)
end

function check:unknown(place, name, fields, functions)
  local names = sorted_keys(fields)
  for other in pairs(functions) do names[#names + 1] = other end
  self:problem("%sunknown field '%s'%s", (place:gsub("%.$", ": ")), tostring(name),
    self.suggest(tostring(name), names))
end

-- The fields of `t`, each by the kind that `fields` has for it; those in the
-- set `functions` must be functions and are left out of the result.
function check:fields(place, t, fields, functions)
  local plain = {}
  for _, name in ipairs(sorted_keys(t)) do
    local value = t[name]
    if fields[name] then
      local good, wanted = fields[name](value)
      if good == nil then self:problem("%s%s must be %s", place, name, wanted) end
      plain[name] = good
    elseif not functions[name] then
      self:unknown(place, name, fields, functions)
    elseif type(value) ~= "function" then
      self:problem("%s%s must be a function, not a %s", place, name, type(value))
    end
  end
  return plain
end

function check:stages(stages)
  local plain = {}
  if #stages == 0 then self:problem("load.stages must be a list of stages") end
  for i, stage in ipairs(stages) do
    local place = ("load.stages[%d]."):format(i)
    if type(stage) ~= "table" then
      self:problem("load.stages[%d] must be a table, not a %s", i, type(stage))
    else
      plain[i] = self:fields(place, stage, stage_fields, {})
    end
  end
  return plain
end

function check:load(load)
  local plain = self:fields("load.", load, load_fields, set_of { "rate", "arrivals" })
  if plain.stages then plain.stages = self:stages(plain.stages) end
  local ways = {}
  for _, name in ipairs(timetables) do
    if load[name] ~= nil then ways[#ways + 1] = name end
  end
  if #ways > 1 then
    self:problem("load: %s exclude each other; keep one", table.concat(ways, ", "))
  end
  return plain
end

function check:metrics(metrics)
  local plain = {}
  for _, name in ipairs(sorted_keys(metrics)) do
    local good, wanted = metric_kind(metrics[name])
    if type(name) ~= "string" or not name:find("^[%a_][%w_]*$") then
      self:problem("metrics: '%s' is not a name (letters, digits, _)", tostring(name))
    elseif good then
      plain[name] = good
    else
      self:problem("metrics.%s must be %s", name, wanted)
    end
  end
  return plain
end

-- { "ttft.p99 < 1s", abort_on_fail = true, grace = "10s" } in one line.
function check:threshold(i, t)
  local place = ("thresholds[%d]."):format(i)
  local flags = {}
  for key, value in pairs(t) do
    if key ~= 1 then flags[key] = value end
  end
  local plain = self:fields(place, flags, { abort_on_fail = a_boolean, grace = duration }, {})
  if plain.grace and not plain.abort_on_fail then
    self:problem("%sgrace needs abort_on_fail = true", place)
  end
  if type(t[1]) ~= "string" or not plain.abort_on_fail then return t[1] end
  return t[1] .. " abort" .. (plain.grace and (" after %.9gs"):format(plain.grace) or "")
end

function check:thresholds(thresholds)
  local plain = {}
  for i, expression in ipairs(thresholds) do
    if type(expression) == "table" then expression = self:threshold(i, expression) end
    plain[i] = expression or ""
    if type(expression) ~= "string" then
      self:problem("thresholds[%d] must be a string such as \"ttft.p95 < 2s\", or "
        .. "{ \"ttft.p95 < 2s\", abort_on_fail = true, grace = \"10s\" }", i)
    end
  end
  if #plain ~= #sorted_keys(thresholds) then
    self:problem("thresholds must be a list of strings")
  end
  return #plain > 0 and plain or nil
end

function check:work(t)
  if t.request ~= nil and t.session ~= nil then
    self:problem("request and session exclude each other; keep one")
  elseif t.request == nil and t.session == nil then
    self:problem("it has no request; say for example "
      .. "request = function(ctx) return { prompt = \"Hello.\" } end")
  end
end

function check:top(t)
  local fields = { name = file_name, version = text_or_number, description = text }
  for _, name in ipairs(tables) do fields[name] = a_table end
  -- Of the parameters, which nobody knows yet: looked at again when they are.
  if type(t.load) == "function" then fields.load = function() return {} end end
  local plain = self:fields("", t, fields, set_of(hooks))
  for _, name in ipairs { "load", "metrics", "thresholds" } do
    local list, size = plain[name], 0
    for _ in pairs(list or {}) do size = size + 1 end
    if size > (most[name] or math.huge) then
      self:problem("%s: %d of them; there may be %d", name, size, most[name])
      plain[name] = nil
    elseif list then
      plain[name] = self[name](self, list)
    end
  end
  self:work(t)
  return plain
end

return function(t, suggest)
  local state = setmetatable({ problems = {}, suggest = suggest }, check)
  local plain = state:top(t)
  return state.problems, plain
end
