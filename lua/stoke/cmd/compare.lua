-- `stoke compare`: runs side by side, and what of the difference is noise.

local difference = require("stoke.difference")
local figure = require("stoke.figure")
local files = require("stoke.files")
local json_text = require("stoke.json_text")
local results = require("stoke.results")

local USUAL = { "request_throughput", "output_throughput", "error_rate", "ttft.mean", "ttft.p50",
  "ttft.p99", "tpot.mean", "tpot.p99", "itl.mean", "itl.p99", "e2el.mean", "e2el.p99" }

-- ---- did they run the same thing? ----

local function mean_tokens(r, key)
  return r.completed > 0 and r[key] and r[key] / r.completed or nil
end

local function params_text(stoke)
  local parts = {}
  for k, v in pairs(stoke.scenario.params or {}) do
    parts[#parts + 1] = k .. "=" .. tostring(v)
  end
  table.sort(parts)
  return table.concat(parts, " ")
end

local function differing(a, b, what, out)
  if a ~= b then
    out[#out + 1] = ("%s: %s against %s"):format(what, tostring(a == nil and "none" or a),
      tostring(b == nil and "none" or b))
  end
end

local function differing_lengths(a, b, key, what, out)
  local x, y = mean_tokens(a, key), mean_tokens(b, key)
  if x and y and math.abs(x - y) > 0.05 * math.max(x, y) then
    out[#out + 1] = ("%s: %.1f tokens a request against %.1f"):format(what, x, y)
  end
end

local function cached_share(r) return figure.get(r, "cached_share") or 0 end

local function streams(r)
  local answers = r.stoke.answers
  return not answers or r.completed == 0 or (answers.streamed or 0) > 0
end

-- Not only alike: one and the same.
local function same_run(a, b)
  return a.stoke.started_at == b.stoke.started_at and a.duration ~= nil and
    a.duration == b.duration
end

-- Which definitions a run's figures have.
local function mode_of(s)
  return (s.metric_mode or "stoke") .. "'s" .. (s.foreign and ", by " .. s.foreign or "")
end

-- What another client did not save says nothing.
local function differing_setup(sa, sb, out)
  local keys = { "request_rate", "burstiness", "max_concurrency", "num_requests" }
  if not sa.foreign and not sb.foreign then
    differing(sa.scenario.name, sb.scenario.name, "scenario", out)
    if sa.scenario.name == sb.scenario.name and sa.scenario.sha256 ~= sb.scenario.sha256 then
      out[#out + 1] = "the scenario's text has changed"
    end
    differing(params_text(sa), params_text(sb), "parameters", out)
    differing(sa.seed, sb.seed, "seed", out)
    keys = { "loop", "request_rate", "arrival", "burstiness", "max_concurrency", "num_requests",
      "duration_s" }
  end
  for _, key in ipairs(keys) do differing(sa.load[key], sb.load[key], "load, " .. key, out) end
  differing(mode_of(sa), mode_of(sb), "definitions of figures", out)
end

--- What keeps the two from being comparable, in words.
local function doubts(a, b)
  local out, sa, sb = {}, a.stoke, b.stoke
  if same_run(a, b) then return { "nothing to compare: both are the run of " .. sa.started_at } end
  differing_setup(sa, sb, out)
  differing(a.model_id, b.model_id, "model", out)
  differing_lengths(a, b, "total_input_tokens", "prompts", out)
  differing_lengths(a, b, "total_output_tokens", "answers", out)
  if streams(a) ~= streams(b) then
    out[#out + 1] = "the answers of one are streamed, those of the other are not"
  end
  if math.abs(cached_share(a) - cached_share(b)) > 0.01 then
    out[#out + 1] = ("cached prompt tokens: %.0f %% against %.0f %%"):format(
      100 * cached_share(a), 100 * cached_share(b))
  end
  return out
end

local function doubts_of_one(run)
  local out, s = {}, run.result.stoke
  if s.client.verdict == "limited" then
    out[#out + 1] = "the client was the limit: " .. table.concat(s.client.reasons, "; ")
  end
  if run.result.completed == 0 then out[#out + 1] = "nothing succeeded" end
  if s.interrupted then out[#out + 1] = "it was interrupted" end
  return out
end

-- ---- samples ----

-- A figure's sample of a run: request lines where they are, else histograms.
local function sample_of(run, metric)
  run.samples = run.samples or {}
  if run.samples[metric] ~= nil then return run.samples[metric] end
  local values = {}
  for _, q in ipairs(run.requests or {}) do values[#values + 1] = q[metric .. "_ms"] end
  local made
  if metric ~= "itl" and #values > 0 then
    made = difference.sample(values, difference.dependence(values))
  elseif run.result.stoke.hist and run.result.stoke.hist[metric] then
    -- Gaps of one request hang together, too: as many as requests count.
    local hist = run.result.stoke.hist[metric]
    local d = difference.dependence(run.result.latencies or {})
    if metric == "itl" and run.result.completed > 0 then
      d = d * math.max(1, hist.count / run.result.completed)
    end
    made = difference.histogram(hist, 1e-6, d)
  end
  run.samples[metric] = made or false
  return made
end

-- Of the parts of the run, or its seconds, without its ends.
local function rates_of(run, key)
  local series, values = run.result.stoke.series, results.rates(run.requests, key)
  if values then return values end
  values = {}
  for i = 2, #series[key] - 1 do values[#values + 1] = series[key][i] / series.interval_s end
  return values
end

local SERIES = { request_throughput = "done", output_throughput = "tokens" }

local function difference_of_rates(a, b, name, confidence)
  local d = { a = figure.get(a.result, name), b = figure.get(b.result, name), plain = true }
  if not d.a or not d.b or d.a == 0 then return nil end
  d.change = (d.b - d.a) / d.a
  local key = SERIES[name]
  local va, vb = key and rates_of(a, key), key and rates_of(b, key)
  if va and #va >= 6 and #vb >= 6 then
    local noise = difference.of(difference.sample(va), difference.sample(vb), "mean", confidence)
    if noise.low then
      -- The width from the seconds, around the figures of the runs.
      d.low, d.high = d.change + noise.low - noise.change, d.change + noise.high - noise.change
    end
  end
  return d
end

local function difference_of_errors(a, b, confidence)
  local fa, fb = a.result.stoke.figures, b.result.stoke.figures
  if not fa.failed or not fb.failed then return nil end
  return difference.of_shares(fa.failed, fa.failed + fa.completed, fb.failed,
    fb.failed + fb.completed, confidence)
end

local function compare(a, b, name, confidence)
  if name == "error_rate" then return difference_of_errors(a, b, confidence) end
  local metric, stat = name:match("^([%w_]+)%.([%w_]+)$")
  if not metric then return difference_of_rates(a, b, name, confidence) end
  local x, y = figure.get(a.result, name), figure.get(b.result, name)
  if not x or not y then return nil end
  local sa, sb = sample_of(a, metric), sample_of(b, metric)
  local d = { change = x ~= 0 and (y - x) / x or nil }
  if sa and sb and (stat == "mean" or stat:match("^p%d+$")) then
    d = difference.of(sa, sb, stat, confidence)
    d.change = x ~= 0 and (y - x) / x or nil
  end
  d.a, d.b = x, y
  return d
end

-- ---- what is shown ----

local function value_text(name, x)
  if name:find("_rate$") then return ("%.2f %%"):format(100 * x) end
  return (x < 1e12 and "%.2f" or "%.4g"):format(x)
end

local function unit_of(name)
  if figure.is_latency(name) then return " (ms)" end
  if name == "request_throughput" then return " (req/s)" end
  if name:find("throughput$") then return " (tok/s)" end
  return ""
end

local function percent(x, absolute)
  return ("%+.1f%s"):format(100 * x, absolute and " pp" or " %")
end

local function print_row(row, tolerance)
  local d = row.difference
  local between = d.low and ("%s .. %s"):format(percent(d.low, d.absolute),
    percent(d.high, d.absolute)) or ""
  local verdict = row.verdict == "same" and ("same within %g %%"):format(100 * tolerance)
    or row.verdict
  if row.verdict == "same" and d.absolute then verdict = "same" end
  print(("%-28s %12s %12s %10s  %-21s %s"):format(row.name .. unit_of(row.name),
    value_text(row.name, d.a), value_text(row.name, d.b),
    d.change and percent(d.change, d.absolute) or "n/a", between, verdict))
end

local function show(pair, o)
  print(("A: %s\nB: %s"):format(pair.a.name, pair.b.name))
  for _, line in ipairs(pair.doubts) do print("! " .. line) end
  print(("%-28s %12s %12s %10s  %-21s %s"):format("", "A", "B", "change",
    ("%g %% interval"):format(o.confidence), "verdict"))
  for _, row in ipairs(pair.rows) do print_row(row, o.tolerance / 100) end
end

-- ---- --fail-on ----

-- Is it so, and not by chance? -> broken, note. What cannot be looked at does
-- not pass: a run without a success has no latency to be worse.
local function judge(expr, pair, confidence)
  for _, run in ipairs({ pair.b, expr.relative and pair.a or nil }) do
    if not figure.get(run.result, expr.name) then return true, "fails: none in " .. run.name end
  end
  local d = compare(pair.a, pair.b, expr.name, confidence)
  if not d then
    local x = figure.get(pair.b.result, expr.name)
    return not expr.relative and figure.holds(expr, x), expr.relative and
      "but A has 0 of it" or nil
  end
  if not expr.relative then return figure.holds(expr, d.b) end
  local change = d.absolute and d.a > 0 and d.change / d.a or d.change
  if not change or not figure.holds(expr, change) then return false end
  if d.low and d.low <= 0 and d.high >= 0 then return false, "but that can be noise" end
  if not d.low and not d.plain then return false, "but there are too few requests to tell" end
  return true
end

local function check_limits(host, pairs_, limits, confidence)
  local broken = {}
  for _, pair in ipairs(pairs_) do
    for _, expr in ipairs(limits) do
      local is, note = judge(expr, pair, confidence)
      if is then broken[#broken + 1] = { file = pair.b.name, expr = expr.text } end
      if is or note then
        host.log(("%s: %s: %s"):format(pair.b.name, expr.text, note or "fails"))
      end
    end
  end
  return broken
end

-- ---- the command ----

local function understand(host, request)
  local o, runs, limits, mistakes = request.options, {}, {}, 0
  local function wrong(line)
    mistakes = mistakes + 1
    host.log(line)
  end
  for _, path in ipairs(request.files) do
    local ok, why = results.read(host, path, runs)
    if not ok then wrong(why) end
  end
  for _, text in ipairs(o.fail_on) do
    local expr, why = figure.parse(text)
    if expr then limits[#limits + 1] = expr else wrong("--fail-on " .. why) end
  end
  for _, name in ipairs(o.metric) do
    if not figure.known(name) then wrong("--metric " .. name .. ": no such figure") end
  end
  if mistakes == 0 and #runs < 2 then wrong("name two results files or more") end
  if o.output and o.output ~= "-" and not o.force and files.exists(o.output) then
    wrong(("--output %s: is there already; --force overwrites it"):format(o.output))
  end
  if mistakes > 0 then return nil end
  for _, run in ipairs(runs) do run.requests = results.requests(host, run) end
  return runs, limits
end

local function make_pair(a, b, names, o)
  local pair = { a = a, b = b, rows = {}, doubts = doubts(a.result, b.result) }
  for _, run in ipairs({ a, b }) do
    for _, line in ipairs(doubts_of_one(run)) do
      pair.doubts[#pair.doubts + 1] = run.name .. ": " .. line
    end
  end
  for _, name in ipairs(names) do
    local d = compare(a, b, name, o.confidence / 100)
    if d and d.a and d.b then
      pair.rows[#pair.rows + 1] = { name = name, difference = d,
        verdict = difference.verdict(d, o.tolerance / 100, figure.more_is_better(name)) }
    end
  end
  return pair
end

local function as_json(host, request, list, broken)
  local comparisons = json_text.list()
  for i, pair in ipairs(list) do
    local figures = {}
    for _, row in ipairs(pair.rows) do
      local d = row.difference
      figures[row.name] = { a = d.a, b = d.b, change = d.change or json_text.null,
        low = d.low or json_text.null, high = d.high or json_text.null,
        absolute = d.absolute or false, verdict = row.verdict }
    end
    comparisons[i] = { a = pair.a.name, b = pair.b.name, figures = figures,
      doubts = json_text.list(pair.doubts) }
  end
  return json_text.encode(host, { kind = "compare", schema = 1, version = request.version,
    tolerance = request.options.tolerance / 100, confidence = request.options.confidence / 100,
    comparisons = comparisons, broken = json_text.list(broken) })
end

return function(host, request)
  local o = request.options
  local runs, limits = understand(host, request)
  if not runs then
    host.log("`stoke compare --help` shows what there is")
    return 2
  end
  local list = {}
  for i = 2, #runs do
    local pair = make_pair(runs[1], runs[i], #o.metric > 0 and o.metric or USUAL, o)
    list[#list + 1] = pair
    if o.output ~= "-" then
      if i > 2 then print() end
      show(pair, o)
    end
  end
  local broken = check_limits(host, list, limits, o.confidence / 100)
  if o.output then
    local ok, why = files.write(o.output, as_json(host, request, list, broken))
    if not ok then
      host.log(why)
      return 1
    end
  end
  return #broken > 0 and 99 or 0
end
