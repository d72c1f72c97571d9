-- What kind of server answers: by what it says about itself, and of the
-- gateway in front of it by the headers that it adds. Names are guesses with
-- their evidence; nothing depends on them but words.

local M = {}

-- Header lines ("server: nginx/1.22.1") as a table of lower-case names; of a
-- repeated one the first counts.
function M.headers(lines)
  local out = {}
  for _, line in ipairs(lines or {}) do
    local name, value = line:match("^([^:]+):%s*(.*)$")
    if name and not out[name:lower()] then out[name:lower()] = value end
  end
  return out
end

-- Engines by `owned_by` in the list of models.
local owners = {
  vllm = "vLLM", sglang = "SGLang", llamacpp = "llama.cpp", library = "Ollama",
  ["llama.cpp"] = "llama.cpp", me = "llama-cpp-python", lmdeploy = "LMDeploy",
  openai = "OpenAI's names", ["openai-internal"] = "OpenAI", system = "OpenAI",
  tensorrt_llm = "TensorRT-LLM", mlx = "MLX", localai = "LocalAI", ["stoke-mock"] = "stoke mock",
  aimock = "aimock",
}

-- Engines by the names of their metrics.
local metrics = {
  { "\nvllm:", "vLLM" }, { "\nsglang:", "SGLang" }, { "\nllamacpp:", "llama.cpp" },
  { "\ntgi_", "TGI" }, { "\nlitellm_", "LiteLLM" }, { "\ntrtllm_", "TensorRT-LLM" },
  { "\nollama_", "Ollama" },
}

-- Gateways, by a header that is there, or one whose value says so. The first
-- that fits; {header, pattern or nil, name}.
local gateways = {
  { "x-litellm-version", nil, "LiteLLM" }, { "x-litellm-model-id", nil, "LiteLLM" },
  { "x-portkey-provider", nil, "Portkey" }, { "cf-ray", nil, "Cloudflare" },
  { "x-kong-upstream-latency", nil, "Kong" }, { "via", "[Kk]ong", "Kong" },
  { "apim-request-id", nil, "Azure API Management" },
  { "x-amzn-requestid", nil, "AWS" }, { "x-amz-cf-id", nil, "CloudFront" },
  { "x-envoy-upstream-service-time", nil, "Envoy" }, { "server", "^envoy", "Envoy" },
  { "server", "^istio", "Istio" }, { "server", "^[Nn]ginx", "nginx" },
  { "server", "[Oo]pen[Rr]esty", "OpenResty" }, { "server", "^[Cc]addy", "Caddy" },
  { "via", "[Cc]addy", "Caddy" }, { "server", "^[Tt]raefik", "Traefik" },
  { "server", "^Apache", "Apache" }, { "server", "^[Aa]pisix", "APISIX" },
  { "via", "[Ss]quid", "squid" }, { "via", "varnish", "Varnish" },
  { "via", "google", "Google's front end" }, { "server", "^mitmproxy", "mitmproxy" },
}

-- Engines that sign their answers.
local signatures = {
  { "server", "^llama%.cpp", "llama.cpp" }, { "server", "^[Oo]llama", "Ollama" },
  { "x-compute-type", nil, "TGI" }, { "openai-processing-ms", nil, "OpenAI" },
  { "x-ms-region", nil, "Azure OpenAI" }, { "anthropic-organization-id", nil, "Anthropic" },
  { "x-groq-region", nil, "Groq" },
}

local function first(list, headers)
  for _, row in ipairs(list) do
    local value = headers[row[1]]
    if value and (not row[2] or value:find(row[2])) then return row[3], row[1], value end
  end
end

--- The gateway in front: its name and the header that gave it away.
function M.gateway(headers)
  local name, header, value = first(gateways, headers)
  if not name then return headers.via and ("a gateway (via: " .. headers.via .. ")") or nil end
  local version = header == "server" and value:match("^%a+/([%d.]+)")
  return version and name .. " " .. version or name
end

--- The engine by the headers of any answer.
function M.by_headers(headers) return (first(signatures, headers)) end

--- The engine by the list of models: a decoded body.
function M.by_models(body)
  local list = type(body) == "table" and (body.data or body)
  local one = type(list) == "table" and list[1]
  local owner = type(one) == "table" and one.owned_by
  if type(owner) ~= "string" then return nil end
  if owner ~= "" and owner == one.id then return "TGI" end
  return owners[owner:lower()]
end

--- The engine by the text of /metrics.
function M.by_metrics(text)
  text = "\n" .. text
  for _, row in ipairs(metrics) do
    -- Of a line itself, or of the "# HELP" in front of it.
    if text:find(row[1], 1, true) or text:find("\n# HELP " .. row[1]:sub(2), 1, true) then
      return row[2]
    end
  end
end

--- Where such a server tells its version.
function M.version_path(kind)
  if kind == "Ollama" then return "/api/version" end
  if kind == "TGI" then return "/info" end
  if kind == "llama.cpp" then return "/props" end
  return "/version"
end

--- What its answer there says: version, and the engine where that shows.
function M.version(body, kind)
  if type(body) ~= "table" then return nil end
  local version = body.version or body.build_info
  if type(version) ~= "string" or #version > 60 or version:find("%c") then return nil end
  if kind == "TGI" or body.model_id then return version, "TGI" end
  return version
end

--- The body that /tokenize takes from such a server.
function M.tokenize_fields(kind)
  if kind == "llama.cpp" then return "content" end
  if kind == "TGI" then return "inputs" end
  return "prompt"
end

return M
