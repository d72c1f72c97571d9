-- What a sweep leaves behind: one CSV, one JSON, of all its levels.

local cells = require("stoke.cells")
local json_text = require("stoke.json_text")

local M = {}

-- What is kept of a run, and its column in the CSV.
local FIGURES = {
  { "completed", "Completed" }, { "failed", "Failed" }, { "error_rate", "Error rate" },
  { "timeout_rate", "Timeout rate" }, { "duration_s", "Duration (s)" },
  { "request_throughput", "Request throughput (req/s)" },
  { "output_throughput", "Output token throughput (tok/s)" },
  { "total_token_throughput", "Total token throughput (tok/s)" },
  { "goodput", "Request goodput (req/s)" },
}
for _, metric in ipairs({ "ttft", "tpot", "itl", "e2el" }) do
  for _, stat in ipairs({ "mean", "p50", "p90", "p95", "p99" }) do
    local word = stat == "mean" and "Mean" or stat == "p50" and "Median" or stat:upper()
    FIGURES[#FIGURES + 1] = { metric .. "." .. stat,
      ("%s %s (ms)"):format(word, metric:upper()) }
  end
end

FIGURES[#FIGURES + 1] = { "cached_share", "Cached prompt tokens (share)" }

M.FIGURES = FIGURES

-- RFC 4180; a text that a spreadsheet would take for a formula is quoted by an
-- apostrophe.
local function csv_field(x)
  if x == nil then return "" end
  if type(x) == "number" then return cells.text(x) end
  if x:find("^[=+@\t\r-]") and not tonumber(x) then x = "'" .. x end
  if x:find('[,"\r\n]') then x = '"' .. x:gsub('"', '""') .. '"' end
  return x
end

local FIXED = { "concurrency", "request_rate", "input_len", "output_len", "num_prompts" }
local SAID = { concurrency = "max_concurrency", num_prompts = "num_requests" }

-- The columns that everybody has: as set, else as measured.
local function fixed(level, name)
  local source = SAID[name] or name
  for _, c in ipairs(level.cell) do
    if c.name == source or c.name == name then return tonumber(c.value) or c.value end
  end
  local result
  for _, r in ipairs(level.runs) do result = result or r.result end
  if not result then return nil end
  local n = result.completed
  if name == "concurrency" then return result.max_concurrency end
  if name == "request_rate" then return result.request_rate end
  if name == "num_prompts" then return result.num_prompts end
  local given = result.stoke.scenario.params[name]
  if given then return given end
  local total = name == "input_len" and result.total_input_tokens or result.total_output_tokens
  return n > 0 and math.floor(total / n + 0.5) or nil
end

local function own_columns(job)
  local names, known = {}, {}
  for _, name in ipairs(FIXED) do known[name], known[SAID[name] or name] = true, true end
  for _, c in ipairs(job.plan.cells[1]) do
    if not known[c.name] then names[#names + 1] = c.name end
  end
  return names
end

local function csv_line(fields, n)
  local out = {}
  for i = 1, n do out[i] = csv_field(fields[i]) end
  return table.concat(out, ",") .. "\r\n"
end

local function csv_head(job, own)
  local head = {}
  for _, name in ipairs(FIXED) do head[#head + 1] = name end
  for _, name in ipairs(own) do head[#head + 1] = name end
  for _, f in ipairs(FIGURES) do head[#head + 1] = f[2] end
  head[#head + 1], head[#head + 2] = "status", "runs"
  if job.request.options["repeat"] > 1 then
    for _, f in ipairs(FIGURES) do head[#head + 1] = f[2] .. " 95% CI" end
  end
  return head
end

--- RFC 4180, a line each.
function M.csv(job, levels)
  local own = own_columns(job)
  local head = csv_head(job, own)
  local lines = { csv_line(head, #head) }
  for _, level in ipairs(levels) do
    local row, n = {}, 0
    local function put(x) n = n + 1; row[n] = x end
    for _, name in ipairs(FIXED) do put(fixed(level, name)) end
    for _, name in ipairs(own) do
      for _, c in ipairs(level.cell) do if c.name == name then put(c.value) end end
    end
    for _, f in ipairs(FIGURES) do put(level.means[f[1]]) end
    put(level.status)
    put(#level.runs)
    if job.request.options["repeat"] > 1 then
      for _, f in ipairs(FIGURES) do put(level.widths[f[1]]) end
    end
    lines[#lines + 1] = csv_line(row, #head)
  end
  return table.concat(lines)
end

local function json_level(level)
  local values, runs = {}, json_text.list()
  for _, c in ipairs(level.cell) do values[c.name] = tonumber(c.value) or c.value end
  for k, v in pairs(values) do if v == math.huge then values[k] = "inf" end end
  for i, r in ipairs(level.runs) do
    runs[i] = { exit_status = r.code, file = r.file, resumed = r.resumed or false,
      seed = r.result and r.result.stoke.seed, interrupted = r.interrupted or false }
  end
  return { index = level.cell.index, label = cells.label(level.cell), values = values,
    status = level.status, figures = level.means, confidence_95 = level.widths, runs = runs,
    notes = json_text.list(level.notes) }
end

--- Why it ended goes with it.
function M.json(job, levels, why)
  local list, vary = json_text.list(), json_text.list()
  for i, level in ipairs(levels) do list[i] = json_level(level) end
  for i, v in ipairs(job.plan.vary) do
    vary[i] = { name = v.name, values = json_text.list(v.values) }
  end
  return json_text.encode(job.host, { kind = "sweep", schema = 1,
    version = job.request.version, vary = vary, zip = job.request.options.zip,
    ["repeat"] = job.request.options["repeat"], started_at = job.started_at,
    stop_reason = why, levels = list })
end

return M
