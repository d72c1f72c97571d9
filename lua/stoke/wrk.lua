-- stoke.wrk: a script for wrk as a scenario: wrk's globals and phases around
-- stoke's hooks. The module is a function: make(script, host) -> scenario.
-- `script` is the script's main chunk. `host` is what C provides:
--   url                             to load
--   headers                         of the command line
--   threads                         how many there are
--   lookup(host, service), connect(address), time_us()
--   address(text)                   this thread's server from now on
--   result(results)                 latency and requests, for done()
-- In stoke's words: setup(thread) is `setup`, init(args) is `init`, request()
-- and delay() are `request`, response() is `on_response`, done() is `summary`,
-- and what thread:get() reads in done() is what `exit` returns.

-- luacheck: globals wrk print io

local keep_parsed = 4096 -- requests whose text has been taken apart

-- ---- values that may go from thread to thread ----

local function plain(value, place, open)
  local kind = type(value)
  if kind == "nil" or kind == "boolean" or kind == "number" or kind == "string" then
    return value
  end
  if kind ~= "table" then
    return nil, place .. " is a " .. kind
      .. "; what goes between threads is nil, booleans, numbers, strings and tables of them"
  end
  if open[value] then return nil, place .. " contains itself" end
  open[value] = true
  local copy = {}
  for k, v in pairs(value) do
    if type(k) ~= "string" and type(k) ~= "number" then
      return nil, place .. " has a " .. type(k) .. " as a key"
    end
    local inner, why = plain(v, place .. "." .. tostring(k), open)
    if why then return nil, why end
    copy[k] = inner
  end
  open[value] = nil
  return copy
end

-- What of the script's globals is plain.
local function globals(ours)
  local found = {}
  for name, value in pairs(_G) do
    if type(name) == "string" and ours[name] == nil then
      local copy, why = plain(value, name, {})
      if not why then found[name] = copy end
    end
  end
  return found
end

-- ---- a request's text ----

-- The first request of `text`, and what follows it.
local function parse(text, own_host)
  local head, rest = text:match("^(.-)\r\n\r\n(.*)$")
  local method, path, lines = (head or ""):match("^(%u+) (/%S*) HTTP/1%.[01](.*)$")
  if not method then
    return nil, "request() must return the text of an HTTP request, such as wrk.format makes"
  end
  local headers, length = {}, #rest
  for name, value in lines:gmatch("\r\n([^:\r\n]+):[ \t]*([^\r\n]*)") do
    local lower = name:lower()
    if lower == "content-length" then
      length = tonumber(value) or -1
      if length < 0 or length > #rest then
        return nil, ("Content-Length is %s, but the body has %d bytes"):format(value, #rest)
      end
    elseif lower == "host" and value == own_host then
      headers[name] = nil -- it is sent anyway
    else
      headers[name] = value
    end
  end
  if rest:find("^%u+ /%S* HTTP/1%.[01]\r\n")
    and not head:lower():find("\r\ncontent-length:", 1, true) then
    length = 0 -- no body: the next request of a pipeline
  end
  return {
    method = method, path = path, headers = headers, body = rest:sub(1, length),
  }, rest:sub(length + 1)
end

-- All requests of a text, as tables for C.
local function parse_all(text, own_host)
  local list, rest = {}, text
  repeat
    local one, more = parse(rest, own_host)
    if not one then return nil, more end
    list[#list + 1], rest = one, more
  until rest == ""
  return list
end

-- ---- the global `wrk` ----

local function new_wrk(host)
  local wrk = {
    scheme = host.scheme, host = host.host, port = host.port,
    method = "GET", path = host.path, headers = {}, body = nil, thread = nil,
    lookup = host.lookup, connect = host.connect, time_us = host.time_us,
  }
  -- To be read; they are sent anyway, unless the script has its own.
  setmetatable(wrk.headers, { __index = host.headers })

  function wrk.format(method, path, headers, body)
    headers = headers or wrk.headers
    if type(headers) ~= "table" then
      error("wrk.format: headers must be a table, not a " .. type(headers), 2)
    end
    body = body or wrk.body
    local s = { ("%s %s HTTP/1.1"):format(method or wrk.method, path or wrk.path) }
    local has_host
    for name, value in pairs(headers) do
      local lower = tostring(name):lower()
      has_host = has_host or lower == "host"
      if lower ~= "content-length" then
        s[#s + 1] = ("%s: %s"):format(tostring(name), tostring(value))
      end
    end
    if not has_host then s[#s + 1] = "Host: " .. (wrk.headers.Host or host.authority) end
    if body then s[#s + 1] = "Content-Length: " .. #body end
    s[#s + 1] = ""
    s[#s + 1] = body or ""
    return table.concat(s, "\r\n")
  end

  return wrk
end

-- ---- threads ----

local thread_methods = {}

-- `self.values` is what get() reads: the globals as they are in that thread.
function thread_methods:get(name)
  return self.values[name]
end

function thread_methods:set(name, value)
  local copy, why = plain(value, "thread:set: " .. tostring(name), {})
  if why then error(why, 2) end
  self.values[name] = copy
  self.set_values[name] = { value = copy }
end

function thread_methods:stop()
  if not self.running then
    error("thread:stop can only be called by the thread itself while it runs: wrk.thread:stop()", 2)
  end
  self.stopped = true
end

local thread_mt = {
  __index = function(self, name)
    if name == "addr" then
      if not self.address then
        self.address = self.host.lookup(self.host.host, self.host.port or self.host.scheme)[1]
      end
      return self.address
    end
    return thread_methods[name]
  end,
  __newindex = function(self, name, value)
    if name ~= "addr" then error("thread." .. tostring(name) .. " cannot be set", 2) end
    if type(value) ~= "string" or not value:find(":%d+$") then
      error("thread.addr must be an address that wrk.lookup returned", 2)
    end
    if self.host.scheme ~= "http" then
      error("thread.addr cannot be set with https: the certificate is that of the name", 2)
    end
    self.address, self.address_set = value, true
  end,
}

local function new_thread(host, values)
  local thread = {
    host = host, values = values, set_values = {}, address = false, address_set = false,
    running = false, stopped = false }
  return setmetatable(thread, thread_mt)
end

-- ---- output: print and io.write of done() come after stoke's table ----

local function new_output()
  local out = { text = {}, kept = false }
  local show = print
  local function put(text)
    if out.kept then
      out.text[#out.text + 1] = text
    else -- whole lines, so that none tears
      out.line = (out.line or "") .. text
      for line in out.line:gmatch("([^\n]*)\n") do show(line) end
      out.line = out.line:match("[^\n]*$")
    end
  end
  function print(...)
    local words = {}
    for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
    put(table.concat(words, "\t") .. "\n")
  end
  local names = setmetatable({}, { __index = function(_, name)
    error("io." .. tostring(name) .. ": scripts run boxed; only io.write is there", 2)
  end })
  function names.write(...)
    for i = 1, select("#", ...) do put(tostring((select(i, ...)))) end
  end
  if not io then io = names else io.write = names.write end
  return out
end

-- ---- the scenario ----

local function is_function(name)
  local value = rawget(_G, name)
  if value ~= nil and type(value) ~= "function" then
    error(("the global '%s' is a %s; for wrk it is a function"):format(name, type(value)), 0)
  end
  return value ~= nil
end

-- "http://host:port/path?query"
local function take_url(host)
  local scheme, authority, path = host.url:match("^(%a+)://([^/?#]+)([^#]*)")
  local name, port = authority:match("^%[([^%]]+)%]:?(%d*)$")
  if not name then name, port = authority:match("^([^:]*):?(%d*)$") end
  host.scheme, host.authority, host.path = scheme, authority, path
  host.host, host.port = name, port ~= "" and port or nil
end

return function(script, host)
  take_url(host)
  local out = new_output()
  local ours = {}
  wrk = new_wrk(host)
  for name in pairs(_G) do ours[name] = true end
  script()

  local threads = {}    -- on the main thread
  local queue, at = {}, 1 -- requests of one text that are still to be sent
  local parsed, n_parsed = {}, 0
  local has = {}
  for _, name in ipairs { "setup", "init", "delay", "request", "response", "done" } do
    has[name] = is_function(name)
  end

  local scenario = { description = "A script for wrk" }

  function scenario.setup()
    local given = {}
    for i = 1, host.threads do
      local thread = new_thread(host, globals(ours))
      threads[i] = thread
      if has.setup then _G.setup(thread) end
      given[i] = {
        values = thread.set_values,
        address = thread.address_set and thread.address or nil,
      }
    end
    return given
  end

  function scenario.init(ctx)
    local given = ctx.data[stoke.worker]
    for name, x in pairs(given.values) do _G[name] = x.value end
    local thread = new_thread(host, _G)
    thread.running = true
    if given.address then
      thread.address, thread.address_set = given.address, true
      host.address(given.address)
    end
    wrk.thread = thread
    local args = { [0] = host.url }
    for i, word in ipairs(ctx.args) do args[i] = word end
    if has.init then _G.init(args) end
    for _, name in ipairs { "delay", "response" } do
      if is_function(name) and not has[name] then
        error(name .. "() must be there when the script is loaded; init() is too late for it", 0)
      end
    end
    local text = not is_function("request") and wrk.format()
    wrk.request = wrk.request or function() return text or wrk.format() end
  end

  -- Text to requests; texts that come again are known.
  local function take_apart(text)
    local list = parsed[text]
    if list then return list end
    local own_host = not wrk.thread.address_set and host.authority or nil
    local why
    list, why = parse_all(text, own_host)
    if not list then error(why, 0) end
    if n_parsed == keep_parsed then parsed, n_parsed = {}, 0 end
    parsed[text], n_parsed = list, n_parsed + 1
    return list
  end

  function scenario.request()
    if wrk.thread.stopped then return nil end
    if not queue[at] then
      local text = (rawget(_G, "request") or wrk.request)()
      if type(text) ~= "string" then
        error("request() returned a " .. type(text) .. "; it must return a string", 0)
      end
      queue, at = take_apart(text), 1
    end
    local one = queue[at]
    at = at + 1
    if not has.delay then return one end
    local ms = _G.delay()
    if type(ms) ~= "number" or not (ms >= 0 and ms < 1e9) then
      error("delay() must return milliseconds, a number of 0 or more", 0)
    end
    return one, ms / 1000
  end

  -- Names of headers have no case.
  local any_case = {
    __index = function(t, name)
      return type(name) == "string" and rawget(t, name:lower()) or nil
    end,
  }
  if has.response then
    function scenario.on_response(r)
      if (r.status or 0) == 0 then return end
      local headers = {}
      for name, value in pairs(r.headers or {}) do headers[name:lower()] = value end
      _G.response(r.status, setmetatable(headers, any_case), r.body or "")
    end
  end

  function scenario.exit()
    return globals(ours)
  end

  function scenario.summary(results)
    if not has.done then return nil end
    for i, thread in ipairs(threads) do
      thread.values = results.threads[i] or {}
    end
    local figures = host.result()
    out.kept = true
    _G.done(figures.summary, figures.latency, figures.requests)
    out.kept = false
    return #out.text > 0 and table.concat(out.text) or nil
  end

  return scenario
end
