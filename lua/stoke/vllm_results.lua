-- Results that `vllm bench serve` saved, seen as those of `stoke run`: what
-- is not in them stays absent.

local M = {}

local METRICS = { "ttft", "tpot", "itl", "e2el" }
local STATS = { mean = "mean", median = "p50", std = "std" }

local function number(x) return type(x) == "number" and x or nil end

-- "mean_ttft_ms", "p99.9_ttft_ms" -> { mean =, p999 = }. No samples are 0
-- there.
local function latency_of(value, metric)
  local out
  if not number(value["mean_" .. metric .. "_ms"]) or value["mean_" .. metric .. "_ms"] == 0 then
    return nil
  end
  for key, x in pairs(value) do
    local stat = type(key) == "string" and number(x) and key:match("^(.-)_" .. metric .. "_ms$")
    stat = stat and (STATS[stat] or stat:match("^p[%d.]+$") and (stat:gsub("%.", "")))
    if stat then
      out = out or {}
      out[stat] = x
    end
  end
  return out
end

-- "20261130-144851", local time there, and no zone told.
local function time_of(date)
  return (date:gsub("^(%d%d%d%d)(%d%d)(%d%d)%-(%d%d)(%d%d)(%d%d)$", "%1-%2-%3T%4:%5:%6"))
end

local function figures_of(value)
  local failed = number(value.failed)
  local goodput = number(value.request_goodput)
  return {
    completed = value.completed, failed = failed, duration_s = number(value.duration),
    sent = failed and value.completed + failed,
    success_rate = failed and value.completed + failed > 0
      and value.completed / (value.completed + failed) or nil,
    request_throughput = value.request_throughput,
    output_throughput = number(value.output_throughput),
    total_token_throughput = number(value.total_token_throughput),
    max_concurrent_requests = number(value.max_concurrent_requests),
    goodput = goodput and { requests_per_s = goodput },
  }
end

--- Is this one of them?
function M.are(value)
  return value.stoke == nil and type(value.date) == "string" and number(value.completed) ~= nil
    and number(value.request_throughput) ~= nil and value.backend ~= nil
end

--- Give them the part that results of stoke have.
function M.adopt(value)
  local latency = {}
  for _, metric in ipairs(METRICS) do latency[metric] = latency_of(value, metric) end
  value.stoke = {
    foreign = "vllm bench serve", metric_mode = "vllm", started_at = time_of(value.date),
    scenario = { name = "vllm bench serve", params = {} },
    load = { request_rate = value.request_rate, burstiness = number(value.burstiness),
      max_concurrency = number(value.max_concurrency), num_requests = number(value.num_prompts) },
    figures = figures_of(value), latency = latency, outcomes = {},
    client = { verdict = "unknown", reasons = {} },
    series = { interval_s = 1, done = {}, tokens = {} },
  }
end

local function mean_gap(ttft, latency, tokens)
  if tokens > 1 then return 1e3 * (latency - ttft) / (tokens - 1) end
end

--- What --save-detailed kept of each request that succeeded, in the order of
--- time; nil when it was not asked for.
function M.requests(value)
  local starts, list = value.start_times, {}
  if not starts or not value.ttfts or not value.latencies or not value.errors then return nil end
  for i, start in ipairs(starts) do
    local ttft, latency, tokens = value.ttfts[i], value.latencies[i], value.output_lens[i]
    if value.errors[i] == "" then
      list[#list + 1] = { sent_s = start, done_s = start + latency, tokens = tokens,
        ttft_ms = 1e3 * ttft, e2el_ms = 1e3 * latency, tpot_ms = mean_gap(ttft, latency, tokens) }
    end
  end
  if #list ~= value.completed then return nil end
  table.sort(list, function(a, b) return a.sent_s < b.sent_s end)
  return list
end

return M
