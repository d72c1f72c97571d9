-- stoke check: the doctor. A few questions to a server, each answer a finding:
-- ok, warn or wrong, with what to do about it.

local certificate = require("stoke.certificate")
local findings = require("stoke.findings")
local json_text = require("stoke.json_text")
local servers = require("stoke.servers")
local streaming = require("stoke.streaming")
local times = require("stoke.times")

local ms = streaming.ms

local TOKENS = 64 -- of the stream: enough to see a rhythm
local FINE = { ok = true, empty = true }
local NO_BODY = "the answer has no body" -- empty too, but of no token to think of

-- What failed, by outcome, when not even a status came.
local places = {
  dns = "name", connect = "connect", timeout_connect = "connect", tls = "tls", proxy = "proxy",
  client_resource = "connect",
}

local doctor = {}
doctor.__index = doctor

--- Note one; `fix` is a line or a list of lines.
function doctor:find(status, what, text, fix) self.findings:add(status, what, text, fix) end

local function question(host, fields)
  return host.ask((json_text.encode(host, fields)))
end

-- ---- before the first request ----

local function about_key(notice) return notice:find("key", 1, true) ~= nil end

function doctor:url()
  local r, fixes = self.request, {}
  for _, notice in ipairs(r.notices) do
    if not about_key(notice) then fixes[#fixes + 1] = notice end
  end
  self:find(#fixes > 0 and "warn" or "ok", "url", ("%s, %s at %s"):format(r.url,
    r.api or "requests", r.path), fixes)
end

function doctor:proxy()
  local r = self.request
  if not r.proxy then return end
  self:find("warn", "proxy", ("requests go through %s%s"):format(r.proxy,
    r.proxy_variable and ", because of the variable " .. r.proxy_variable or ""),
    "a proxy may hold streams back and costs time: unset the variable, or add the host to "
    .. "no_proxy")
end

function doctor:name()
  local r = self.request
  if r.is_address or r.proxy then return true end
  local a = question(self.host, { op = "name", host = r.host })
  if a.error ~= "" then
    self:find("wrong", "name", a.error, "is the host spelled right, and does this machine's "
      .. "resolver know it?")
    return false
  end
  self:find(a.seconds > 0.5 and "warn" or "ok", "name", ("%s is %s (%s)"):format(r.host,
    table.concat(a.addresses, ", "), ms(a.seconds)),
    a.seconds > 0.5 and "the resolver is slow; it is asked once a run" or nil)
  return true
end

-- ---- TLS ----

--- Of a server that was spoken to over TLS, with or without success.
function doctor:tls(failed)
  local answer = question(self.host, { op = "certificate" })
  local c, now = certificate.read(answer.lines or {}), os.time()
  local fixes = failed and failed.hints or {}
  if answer.error ~= "" then
    if failed then self:find("wrong", "tls", failed.message, fixes) end
    return
  end
  local text, why = certificate.describe(c), certificate.dates(c, now)
  if why then table.insert(fixes, 1, why) end
  if failed then
    self:find("wrong", "tls", failed.message .. ". " .. text, fixes)
  elseif self.request.insecure then
    fixes[#fixes + 1] = "-k: nobody checks that it is the right one"
    self:find("warn", "tls", text, fixes)
  elseif c.till and c.till - now < 14 * 86400 then
    self:find("warn", "tls", text, ("it expires in %.0f days"):format((c.till - now) / 86400))
  else
    self:find("ok", "tls", text)
  end
end

-- ---- an exchange that failed ----

local function shown(a)
  local words = a.outcome == "redirect" and a.location or a.message
  local text = ("%s %s: "):format(a.method, a.url)
  if a.status > 0 then text = text .. "HTTP status " .. a.status end
  if a.status < 300 then text = text .. (a.status > 0 and ", but " or "") .. a.said end
  return text .. (words ~= "" and ": " .. words or "")
end

-- An end that a TLS server may put to plain HTTP.
local ABRUPT = { malformed = true, reset = true, truncated = true }

-- Not HTTP: TLS after all, or something else altogether?
function doctor:strange(a)
  local r, fixes = self.request, {}
  if ABRUPT[a.outcome] and not r.secure
    and question(self.host, { op = "certificate" }).error == "" then
    fixes[1] = ("this port speaks TLS: use %s"):format((r.url:gsub("^http:", "https:")))
  elseif a.outcome == "malformed" then
    fixes[1] = "what answers there does not speak HTTP: is it the right port?"
  else
    fixes = a.hints
  end
  self:find("wrong", "http", shown(a), fixes)
end

--- Where no HTTP came of it: the finding of the part that failed. True when
--- there is no use in going on.
function doctor:unreachable(a)
  if a.status > 0 then return false end
  local place = places[a.outcome]
  if place == "tls" then
    self:tls(a)
  elseif place == "proxy" then
    self:find("wrong", place, ("requests go through %s: %s"):format(self.request.proxy or "one",
      a.message), a.hints)
  elseif place then
    self:find("wrong", place, a.message, a.hints)
  else
    self:strange(a)
  end
  return true
end

-- ---- connection, key, clock ----

function doctor:connection(a)
  local s = a.seconds
  local http = a.http == "1.0" and ", HTTP/1.0" or ", HTTP/1.1"
  self:find(a.http == "1.0" and "warn" or "ok", "connect", ("%s in %s%s%s"):format(a.peer,
    ms(s.connect or 0), (s.tls or 0) > 0 and ", TLS in " .. ms(s.tls) or "", http),
    a.http == "1.0" and "connections are not kept: each request opens one, which is in TTFT"
    or nil)
  if self.request.secure then self:tls() end
end

local KEYS = { "OPENAI_API_KEY", "VLLM_API_KEY", "API_KEY", "LITELLM_API_KEY",
  "LITELLM_MASTER_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
  "OPENROUTER_API_KEY", "HF_TOKEN", "TOGETHER_API_KEY", "GROQ_API_KEY", "NVIDIA_API_KEY",
  "DEEPSEEK_API_KEY", "MISTRAL_API_KEY" }

local function other_keys(used)
  local found = {}
  for _, name in ipairs(KEYS) do
    local value = os.getenv(name)
    if name ~= used and value and value:find("%S") then found[#found + 1] = name end
  end
  return found
end

function doctor:key_notices()
  local r, lines = self.request, {}
  local name = r.key_variable or "OPENAI_API_KEY"
  local value = os.getenv(name)
  for _, notice in ipairs(r.notices) do
    if about_key(notice) then lines[#lines + 1] = notice end
  end
  if not r.key_from and value and not value:find("%S") then
    return { name .. " is empty, so no key is sent" }
  end
  return lines
end

--- `refused`: the exchange with the 401 or 403, or nil.
function doctor:key(refused)
  local r, lines = self.request, self:key_notices()
  if not refused then
    self:find(#lines > 0 and "warn" or "ok", "key",
      r.key_from and "from " .. r.key_from .. ", not refused" or "none sent, none asked for",
      lines)
    return
  end
  for _, hint in ipairs(refused.hints) do lines[#lines + 1] = hint end
  local others = other_keys(r.key_from)
  if #others > 0 then
    lines[#lines + 1] = ("another variable with a key is set: --api-key-env %s"):format(
      table.concat(others, ", or "))
  end
  self:find("wrong", "key", shown(refused), lines)
end

function doctor:clock(a)
  local date = times.of_header(servers.headers(a.headers).date)
  if not date then return end
  local skew = date - os.time()
  if math.abs(skew) <= 5 then
    return self:find("ok", "clock", "the server's clock agrees with this one")
  end
  self:find("warn", "clock", ("the server's clock is %d s %s of this one"):format(
    math.abs(skew), skew > 0 and "ahead" or "behind"),
    "times in its logs cannot be laid beside stoke's as they are")
end

-- ---- models ----

-- Names of a length that people read.
local function short(name) return #name > 80 and name:sub(1, 77) .. "..." or name end

local function some(list)
  local shown_ids = {}
  for i = 1, math.min(#list, 8) do shown_ids[i] = short(list[i]) end
  return table.concat(shown_ids, ", ") .. (#list > 8 and ", ..." or "")
end

local function context_of(body, id)
  for _, m in ipairs(type(body) == "table" and (body.data or body) or {}) do
    if type(m) == "table" and m.id == id and type(m.max_model_len) == "number" then
      return m.max_model_len
    end
  end
end

local function has(list, name)
  for _, item in ipairs(list) do if item == name then return true end end
  return false
end

function doctor:chosen_model(ids, body)
  local model = self.request.model
  if model and not has(ids, model) then
    self:find("warn", "models", ("the server lists %s, but not %s"):format(some(ids), model),
      "say --model as the server calls it, not a local path")
    return
  end
  self.model = model or ids[1]
  local context = context_of(body, self.model)
  self:find("ok", "models", ("%s%s%s"):format(
    #ids == 1 and short(ids[1]) or ("%d: %s"):format(#ids, some(ids)),
    not model and #ids > 1 and ("; nobody said --model, so %s is tried"):format(short(ids[1]))
      or "",
    context and ("; context of %d tokens"):format(context) or ""))
end

function doctor:no_list(a)
  local text = FINE[a.outcome] and "what came is no list of models (content-type "
    .. (a.content_type ~= "" and a.content_type or "none") .. ")" or shown(a)
  if self.request.model then
    self:find("warn", "models", text, "without a list nobody can tell whether the model is there")
  else
    local fixes = { "name the model with --model" }
    for _, hint in ipairs(a.hints or {}) do fixes[#fixes + 1] = hint end
    self:find("wrong", "models", text, fixes)
  end
end

function doctor:models(a)
  local body = self.host.decode(a.body)
  self.model = self.request.model
  self.kind = servers.by_headers(servers.headers(a.headers)) or servers.by_models(body)
  if a.outcome == "auth" then
    self.refused = a
  elseif not a.ids then
    self:no_list(a)
  elseif #a.ids == 0 then
    self:find(self.model and "warn" or "wrong", "models", "the server lists none",
      "is a model loaded?")
  else
    self:chosen_model(a.ids, body)
  end
end

-- ---- requests ----

function doctor:ask(stream, max_tokens)
  return question(self.host, { op = "request", stream = stream, max_tokens = max_tokens,
    model = self.model })
end

function doctor:failed(what, a)
  if a.unmade then
    self:find("wrong", what, "no request of this kind could be made: " .. a.unmade)
  elseif a.outcome == "auth" then
    self.refused = a
  elseif a.status == 0 then -- though the server answered before
    self:find("wrong", what, shown(a), "the connection is fine, so this is the server's, or a "
      .. "gateway's, doing: their logs tell more")
  else
    self:find("wrong", what, shown(a), a.hints)
  end
end

-- What no request of ours can make up.
local BRINGS = { rerank = "what is ranked is", transcriptions = "the recording is",
  translations = "the recording is" }

--- One token, in one piece. False: others would fare no better.
function doctor:answer()
  local needs = BRINGS[self.request.api]
  if needs then
    self:find("warn", "answer", ("not tried: %s the scenario's business"):format(needs),
      "its own first request shows it: stoke run SCENARIO -n 1")
    return false
  end
  -- The Responses API refuses less than 16.
  local few = self.request.api == "responses" and 16 or 1
  local a = self:ask(false, few)
  self.last = a.unmade and self.last or a
  if a.unmade or not FINE[a.outcome] or a.message == NO_BODY then
    self:failed("answer", a)
    return false
  end
  if self.refused then
    self:find("warn", "models", shown(self.refused), "the list is refused, but answers are not")
    self.refused = nil
  end
  self.alone = a.seconds.total
  self:find("ok", "answer", ("%s in %s%s"):format(
    not self.request.streams and "vectors"
      or a.outcome == "empty" and "no text within one token (a model that thinks first?)"
      or few == 1 and "one token" or few .. " tokens", ms(a.seconds.total),
    a.streamed and ", though as a stream that nobody asked for" or ""))
  return true
end

function doctor:why_held_back(headers)
  local fixes, gateway = {}, servers.gateway(headers)
  if headers["content-encoding"] and headers["content-encoding"] ~= "identity" then
    fixes[1] = ("the stream comes compressed (%s), and a compressor waits for more: switch it "
      .. "off for text/event-stream"):format(headers["content-encoding"])
  elseif gateway and gateway:find("^nginx") then
    fixes[1] = "in nginx: proxy_buffering off; for this location, or let the server send "
      .. "X-Accel-Buffering: no"
  elseif self.request.proxy then
    fixes[1] = "the proxy may be what holds it back: try without"
  else
    fixes[1] = ("look for response buffering in %s"):format(gateway or "the gateway in front")
  end
  fixes[2] = "until then TTFT is the time of the whole answer, and ITL means nothing"
  return fixes
end

function doctor:judge_stream(a)
  if a.outcome == "empty" then
    self:find((a.completion_tokens or 0) > 0 and "warn" or "wrong", "stream",
      "it ended without a token",
      "is the model one that thinks longer than " .. TOKENS .. " tokens, out of sight?")
    return
  end
  if not a.streamed then
    self.no_stream = true
    self:find("warn", "stream", ("a stream was asked for, but the answer came in one piece "
      .. "(content-type %s)"):format(a.content_type ~= "" and a.content_type or "none"),
      "no TTFT, TPOT or ITL can be measured; --no-stream says so beforehand")
    return
  end
  local status, text, held = streaming.judge(a.arrivals, self.alone, a.completion_tokens)
  self:find(status, "stream", text, held and self:why_held_back(servers.headers(a.headers)))
end

function doctor:usage(a)
  local n = a.completion_tokens
  if not n then
    if a.hung_up then return end
    self:find("warn", "usage", "none in the stream",
      "tokens will be counted by events, which is approximate")
    return
  end
  local share = #a.arrivals > 0 and n / #a.arrivals or 1
  self:find("ok", "usage", ("%s prompt and %d answer tokens told%s"):format(
    a.prompt_tokens and tostring(a.prompt_tokens) or "no", n,
    #a.arrivals > 1 and share >= 1.3
      and (", %.1f an event: ITL is between events, TPOT between tokens"):format(share) or ""))
end

function doctor:stream()
  if not self.request.streams then return end
  local a = self:ask(true, TOKENS)
  if a.unmade or not FINE[a.outcome] then
    self:failed("stream", a)
    return
  end
  self.last = a
  self:judge_stream(a)
  self:usage(a)
end

-- ---- what else the server has ----

local function is_there(a) return a.outcome == "ok" and a.status == 200 end

function doctor:metrics()
  local a = question(self.host, { op = "get", path = "/metrics" })
  local families = is_there(a) and select(2, ("\n" .. a.body):gsub("\n# TYPE ", "")) or 0
  if families == 0 then
    self:find("ok", "metrics", "none at /metrics")
    return
  end
  local kind = servers.by_metrics(a.body)
  self.kind = self.kind or kind
  self:find("ok", "metrics", ("/metrics is there%s"):format(kind and ", " .. kind .. "'s" or ""))
end

function doctor:tokenize()
  local a = question(self.host, { op = "post", path = "/tokenize",
    body = ('{"model":%s,"%s":"How long is the Nile?"}'):format(
      self.host.quote(self.model or ""), servers.tokenize_fields(self.kind)) })
  local body = is_there(a) and self.host.decode(a.body)
  local tokens = type(body) == "table" and (body.count or body.tokens or body)
  local n = type(tokens) == "table" and #tokens or tokens
  if type(n) ~= "number" or n == 0 then
    self:find("ok", "tokenize", "none at /tokenize: lengths of prompts come from usage")
    return
  end
  self:find("ok", "tokenize", ("/tokenize is there (%d tokens for five words)"):format(n))
end

function doctor:server()
  local headers = servers.headers(self.last.headers)
  local a = question(self.host, { op = "get", path = servers.version_path(self.kind) })
  local version, kind
  if is_there(a) then version, kind = servers.version(self.host.decode(a.body), self.kind) end
  kind = self.kind or kind
  self.version, self.gateway = version, servers.gateway(headers)
  self.kind = kind
  local name = kind or (headers.server and "unknown (server: " .. headers.server .. ")")
    or "unknown"
  self:find("ok", "server", ("%s%s%s"):format(name, version and " " .. version or "",
    self.gateway and ", behind " .. self.gateway or ""))
end

-- Variables that other tools read, and that may be meant.
function doctor:environment()
  local r, left = self.request, {}
  for _, name in ipairs({ "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN" }) do
    if os.getenv(name) and r.key_from ~= name then left[#left + 1] = name end
  end
  if os.getenv("OPENAI_BASE_URL") and not r.url_from_env then
    left[#left + 1] = "OPENAI_BASE_URL (--url goes before it)"
  end
  if os.getenv("HTTP_PROXY") and not os.getenv("http_proxy") then
    left[#left + 1] = "HTTP_PROXY (other tools may go through that proxy)"
  end
  if #left > 0 then
    self:find("ok", "variables", "set, but not used here: " .. table.concat(left, ", "))
  end
end

-- ---- all of it ----

function doctor:examine()
  self:url()
  self:environment()
  self:proxy()
  if not self:name() then return end
  local a = question(self.host, { op = "models" })
  if self:unreachable(a) then return end
  self.last = a
  self:connection(a)
  self:clock(a)
  self:models(a)
  if self.model and self:answer() then self:stream() end
  self:key(self.refused)
  if self.refused then return end
  self:metrics()
  if self.alone then self:tokenize() end -- the model is there
  self:server()
end

-- As a shell would need it.
local function shell(text)
  if text:find("^[%w_=./:,@%%+-]+$") then return text end
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

function doctor:next_command(worst)
  local r = self.request
  local command = r.next
  if worst == "wrong" then return (command:gsub("^stoke run", "stoke check")) end
  if r.words then command = command:gsub("^stoke run", "%0 " .. r.words) end
  if not r.model and self.model then command = command .. " -m " .. shell(self.model) end
  if self.no_stream then command = command .. " --no-stream" end
  return command .. " -c 8 -d 30s"
end

function doctor:as_json(worst)
  local null = json_text.null
  return json_text.encode(self.host, {
    kind = "check", stoke = self.request.version, url = self.request.url, verdict = worst,
    checks = self.findings:list(), model = self.model or null,
    server = { kind = self.kind or null, version = self.version or null,
      gateway = self.gateway or null },
    next = self:next_command(worst),
  })
end

local CLOSING = {
  ok = "All is well:", warn = "It can be measured, with the warnings above in mind:",
  wrong = "Something is wrong. When it is put right:",
}

return function(host, request)
  local d = setmetatable({ host = host, request = request, findings = findings.new() }, doctor)
  d:examine()
  local worst = d.findings:worst()
  if request.json then
    io.write(d:as_json(worst))
  else
    print(d.findings:text() .. "\n" .. CLOSING[worst] .. "\n  " .. d:next_command(worst))
  end
  return worst == "wrong" and 1 or 0
end
