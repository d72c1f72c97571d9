-- stoke.backend: what a backend is, and which there are.
-- The module is a function: gather(own, files, suggest) -> list, problems.
-- `own` is the scenario's field `backends` (or nil), `files` the names of the
-- modules in its folder backends/. `list` has one table a backend, normalised
-- for C (script/backend_lua.c): name, place, path, headers (lines), key_header,
-- streams, builder or body, takes (set of request fields, or nil), dialect.

local keys = require "stoke.keys"
local set_of, sorted_keys = keys.set_of, keys.sorted

local builtin = {
  "chat", "completions", "responses", "embeddings", "embeddings_chat", "pooling",
  "rerank", "transcriptions", "translations", "anthropic", "ollama", "ollama_generate",
}
local dialects = {
  "chat", "completions", "responses", "anthropic", "ollama", "embeddings", "rerank",
}
local builders = { "chat", "completions" }
-- In the order of enum wire_field (net/wire.h).
local wire_fields = {
  "content", "reasoning", "refusal", "audio", "tool_index", "tool_id", "tool_name",
  "tool_arguments", "choice_index", "finish", "prompt_tokens", "completion_tokens",
  "cached_tokens", "reasoning_tokens", "error", "type", "end", "kind", "cached_beside",
}

local known_fields, known_dialects = set_of(wire_fields), set_of(dialects)
local known_builders = set_of(builders)

-- ---- bodies ----

-- { prompt = "input", max_tokens = "parameters.max_new_tokens" } as a function:
-- each field of the request to its place, with objects made on the way.
local function put(object, path, value)
  for step in path:gmatch("([^.]+)%.") do
    object[step] = object[step] or {}
    object = object[step]
  end
  object[path:match("[^.]+$")] = value
end

local function mapped(places)
  local names = sorted_keys(places)
  return function(q)
    local body = {}
    for _, name in ipairs(names) do
      if q[name] ~= nil then put(body, places[name], q[name]) end
    end
    return body
  end
end

-- ---- the check of one backend ----

local check = {}
check.__index = check

function check:problem(format, ...)
  self.problems[#self.problems + 1] = ("%s: %s"):format(self.place, format:format(...))
end

function check:path(value)
  if type(value) == "string" and value:find("^/[^%s%c]*$") then return value end
  self:problem("path must be a string that begins with /, such as \"/v1/things\"")
end

local function is_header(name, value)
  return type(name) == "string" and name:find("^[%w!#$%%&'*+.^_`|~-]+$")
    and type(value) == "string" and not value:find("%c")
end

function check:headers(value)
  if value == nil then return "" end
  if type(value) ~= "table" then
    return self:problem("headers must be a table { [\"name\"] = \"value\" }")
  end
  local lines = {}
  for _, name in ipairs(sorted_keys(value)) do
    if not is_header(name, value[name]) then
      self:problem("headers: '%s' is not a header's name, or its value not a string",
        tostring(name))
    else
      lines[#lines + 1] = name .. ": " .. value[name] .. "\n"
    end
  end
  return table.concat(lines)
end

function check:key_header(value)
  if value == nil or is_header(value, "") then return value end
  self:problem("key_header must be a header's name, such as \"x-api-key\"")
end

function check:mapping(places)
  local good = true
  for _, name in ipairs(sorted_keys(places)) do
    local path = places[name]
    if type(name) ~= "string" or type(path) ~= "string" or ("." .. path .. "."):find("%.%.") then
      good = self:problem("body.%s must be a place in the body, such as \"parameters.top_p\"",
        tostring(name))
    end
  end
  return good and mapped(places)
end

-- How bodies are made: a function, or the name of a builder in C. Also, what
-- fields of a request they can hold (nil: whatever there is).
function check:body(t)
  local body, takes = t.body, t.fields
  if type(body) == "string" then
    if not known_builders[body] then
      self:problem("body '%s': must be %s, a function or a table%s", body,
        table.concat(builders, ", "), self.suggest(body, builders))
    elseif takes ~= nil then
      self:problem("fields are for a body that is a function")
    end
    return nil, nil, body
  elseif type(body) == "table" then
    if takes == nil then takes = sorted_keys(body) end
    body = self:mapping(body)
  elseif type(body) ~= "function" then
    self:problem("body must be a function(request) that returns a table, a table of "
      .. "places, or the name of a builder (%s)", table.concat(builders, ", "))
  end
  if takes ~= nil and type(takes) ~= "table" then
    self:problem("fields must be a list of the request's fields that its bodies hold")
    takes = nil
  end
  return body, takes and set_of(takes)
end

function check:rule(where, row, rules)
  if type(row) ~= "table" or type(row[1]) ~= "string" or type(row[2]) ~= "string" or #row > 3
    or row[3] ~= nil and type(row[3]) ~= "string" then
    self:problem("%s must be { \"path\", \"field\" } or { \"path\", \"field\", \"kind of event\" }",
      where)
  elseif not known_fields[row[2]] then
    local near = self.suggest(row[2], wire_fields)
    self:problem("%s: there is no field '%s'%s", where, row[2],
      near ~= "" and near or "; choose from " .. table.concat(wire_fields, ", "))
  else
    rules[#rules + 1] = { row[1], known_fields[row[2]] - 1, row[3] }
  end
end

function check:rules(where, rows)
  local rules = {}
  if rows == nil then return rules end
  if type(rows) ~= "table" then
    self:problem("%s must be a list of { \"path\", \"field\" }", where)
    return rules
  end
  for i, row in ipairs(rows) do self:rule(("%s[%d]"):format(where, i), row, rules) end
  return rules
end

function check:dialect(value)
  if value == nil then return nil end
  if type(value) == "string" then
    if not known_dialects[value] then
      self:problem("dialect '%s': must be %s, or a table%s", value,
        table.concat(dialects, ", "), self.suggest(value, dialects))
      return nil
    end
    return value
  end
  if type(value) ~= "table" then
    return self:problem("dialect must be a name or a table { stream = { … }, plain = { … } }")
  end
  for _, name in ipairs(sorted_keys(value)) do
    if name ~= "stream" and name ~= "plain" then
      self:problem("dialect has the field '%s'; it takes stream and plain", tostring(name))
    end
  end
  return {
    stream = self:rules("dialect.stream", value.stream),
    plain = self:rules("dialect.plain", value.plain),
  }
end

local top = { "path", "body", "fields", "headers", "key_header", "dialect", "stream" }
local known_top = set_of(top)

function check:backend(name, t)
  if type(t) ~= "table" then
    return self:problem("a backend is a table, not a %s", type(t))
  end
  for _, field in ipairs(sorted_keys(t)) do
    if not known_top[field] then
      self:problem("unknown field '%s'%s", tostring(field), self.suggest(tostring(field), top))
    end
  end
  if t.stream ~= nil and type(t.stream) ~= "boolean" then
    self:problem("stream must be true or false")
  end
  local body, takes, builder = self:body(t)
  return {
    name = name, place = self.place, path = self:path(t.path), headers = self:headers(t.headers),
    key_header = self:key_header(t.key_header), streams = t.stream ~= false,
    body = body, takes = takes, builder = builder, dialect = self:dialect(t.dialect),
  }
end

-- ---- all of them ----

return function(own, files, suggest)
  local state = setmetatable({ problems = {}, suggest = suggest }, check)
  local list, seen = {}, {}

  local function add(place, name, t)
    state.place = place
    if type(name) ~= "string" or not name:find("^[%a_][%w_-]*$") then
      return state:problem("'%s' is not a name (letters, digits, _, -)", tostring(name))
    elseif seen[name] then
      return state:problem("there is a backend '%s' already (%s); choose another name", name,
        seen[name])
    end
    seen[name] = place
    list[#list + 1] = state:backend(name, t)
  end

  for _, name in ipairs(builtin) do
    add("stoke.backends." .. name, name, require("stoke.backends." .. name))
  end
  own = type(own) == "table" and own or {}
  for _, name in ipairs(sorted_keys(own)) do
    add("backends." .. tostring(name), name, own[name])
  end
  for _, name in ipairs(files) do
    local found, t = pcall(require, "backends." .. name)
    if found then
      add("backends/" .. name .. ".lua", name, t)
    else
      state.place = "backends/" .. name .. ".lua"
      state:problem("%s", tostring(t))
    end
  end
  return list, state.problems
end
