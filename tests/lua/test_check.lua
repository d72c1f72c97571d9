-- What stoke check concludes: from instants, headers, dates.

local certificate = require("stoke.certificate")
local servers = require("stoke.servers")
local streaming = require("stoke.streaming")
local times = require("stoke.times")

-- `n` events from `first` on, `gap` apart, `together` at a time.
local function events(n, first, gap, together)
  local out = {}
  for i = 1, n do out[i] = first + gap * math.floor((i - 1) / (together or 1)) end
  return out
end

local function verdict(...)
  local status, _, held = streaming.judge(...)
  return status .. (held and " held" or "")
end

describe("a stream", function()
  it("with a rhythm is one", function()
    equal(verdict(events(64, 0.05, 0.01), 0.06), "ok")
    equal(verdict(events(64, 2, 0.02), 1.9), "ok")
    equal(verdict(events(8, 0.5, 0.05), nil), "ok")
  end)

  it("held back to its end is told, and how sure that is", function()
    equal(verdict(events(64, 1.3, 0.00001), 0.06), "wrong held")
    equal(verdict(events(64, 1.3, 0.00001), 1.2), "warn held")
    equal(verdict(events(64, 1.3, 0.00001), nil), "warn held")
    local _, text = streaming.judge(events(64, 1.3, 0), 0.06)
    assert(text:find("(sure)", 1, true), text)
  end)

  it("held back in blocks is told", function()
    equal(verdict(events(60, 0.5, 0.4, 20), 0.06), "wrong held")
    equal(verdict(events(60, 0.06, 0.4, 20), 0.06), "warn held")
    -- Two tokens a step are speculation, and nobody's buffer.
    equal(verdict(events(60, 0.06, 0.02, 2), 0.06), "ok")
  end)

  it("too short or too fast says nothing", function()
    equal(verdict({ 0.3 }, 0.3, 64), "warn")
    equal(verdict({ 0.3 }, 0.3, 1), "warn")
    equal(verdict({ 0.3, 0.3001 }, 0.3), "warn")
    equal(verdict(events(64, 0.01, 0.00001), 0.009), "ok")
  end)

  it("slow at the start for both is not sure", function()
    equal(verdict(events(64, 1, 0.00001), 0.6), "warn held")
  end)
end)

describe("dates", function()
  it("agree with the calendar", function()
    equal(times.of_header("Thu, 01 Jan 1970 00:00:00 GMT"), 0)
    equal(times.of_header("Mon, 30 Nov 2026 14:47:23 GMT"), 1796050043)
    equal(times.of_header("Thu, 29 Feb 2024 12:00:00 GMT"), 1709208000)
    equal(times.of_certificate("Jan  1 00:00:00 2021 GMT"), 1609459200)
    equal(times.of_certificate("Feb 29 23:59:59 2000 GMT"), 951868799)
    equal(times.of_header("yesterday"), nil)
    equal(times.of_certificate(nil), nil)
  end)

  it("decide about certificates", function()
    local c = certificate.read({ "Subject: C = X, CN = host.example", "Issuer: CN = A CA",
      "Start date: Jan  1 00:00:00 2020 GMT", "Expire date: Jan  1 00:00:00 2021 GMT",
      "X509v3 Subject Alternative Name: DNS:host.example, IP Address:10.0.0.1" })
    equal(certificate.dates(c, c.till - 1), nil)
    assert(certificate.dates(c, c.till + 1):find("expired"))
    assert(certificate.dates(c, c.from - 3600):find("not valid yet"))
    equal(certificate.describe(c), "certificate for host.example (host.example, 10.0.0.1) by "
      .. "A CA, until Jan  1 00:00:00 2021 GMT")
    equal(certificate.describe(certificate.read({})), "certificate for ? by ?, until ?")
  end)
end)

describe("a server", function()
  it("is known by its list, its headers, its metrics", function()
    equal(servers.by_models({ data = { { id = "m", owned_by = "vllm" } } }), "vLLM")
    equal(servers.by_models({ data = { { id = "m", owned_by = "m" } } }), "TGI")
    equal(servers.by_models({ data = {} }), nil)
    equal(servers.by_models({ { id = "m", owned_by = 3 } }), nil)
    equal(servers.by_models("text"), nil)
    equal(servers.by_headers(servers.headers({ "Server: llama.cpp" })), "llama.cpp")
    equal(servers.by_metrics("# HELP vllm:x y\nvllm:x 1\n"), "vLLM")
    equal(servers.by_metrics("# HELP sglang:x y\n"), "SGLang")
    equal(servers.by_metrics("python_gc 1\n"), nil)
  end)

  it("has a gateway in front by its headers", function()
    local function gateway(...) return servers.gateway(servers.headers({ ... })) end
    equal(gateway("server: nginx/1.22.1"), "nginx 1.22.1")
    equal(gateway("server: uvicorn", "x-litellm-version: 1.0"), "LiteLLM")
    equal(gateway("server: uvicorn", "via: 1.1 Caddy"), "Caddy")
    equal(gateway("server: uvicorn", "via: 1.1 x"), "a gateway (via: 1.1 x)")
    equal(gateway("server: uvicorn"), nil)
  end)

  it("tells its version in its own way", function()
    equal(servers.version({ version = "0.32.0" }), "0.32.0")
    equal({ servers.version({ version = "3", model_id = "m" }) }, { "3", "TGI" })
    equal(servers.version({ version = { 1 } }), nil)
    equal(servers.version("<html>"), nil)
    equal(servers.version(nil), nil)
    equal(servers.version_path("Ollama"), "/api/version")
    equal(servers.version_path(nil), "/version")
  end)
end)
