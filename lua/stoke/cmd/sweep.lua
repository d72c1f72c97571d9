-- `stoke sweep`: a cell after the other, each a `stoke run` of its own.

local cells = require("stoke.cells")
local figure = require("stoke.figure")
local files = require("stoke.files")
local json_text = require("stoke.json_text")
local plot = require("stoke.plot")
local sample = require("stoke.sample")

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

-- ---- what is asked ----

local function pairs_of(list, flags, field, read, wrong)
  local out, seen = {}, {}
  for _, text in ipairs(list) do
    local name, rest = text:match("^%s*([^=%s]+)%s*=%s*(.-)%s*$")
    local dashed = name and name:gsub("^%-+", ""):gsub("_", "-")
    local key = dashed and flags[dashed]
    name = key and key:gsub("-", "_") or name
    local value, why
    if name and seen[name] then
      why = "is there twice"
    elseif name then
      value, why = read(rest)
    end
    if not value then wrong(("--%s %s: %s"):format(field.flag, text,
      why or "wants NAME=VALUE")) end
    if name then seen[name] = true end
    out[#out + 1] = { name = name, key = key, [field.name] = value }
  end
  return out
end

-- A sweep that is begun again writes its own files once more.
local function is_ours(host, flag, path)
  local text = files.read(path) or ""
  if flag == "csv" then return text:find("^concurrency,request_rate,input_len,") ~= nil end
  local t = host.decode(text)
  return type(t) == "table" and t.kind == "sweep"
end

local function understand(host, request)
  local o, mistakes = request.options, 0
  local function wrong(line)
    mistakes = mistakes + 1
    host.log(line)
  end
  local vary = pairs_of(o.vary, request.flags, { flag = "vary", name = "values" },
    cells.values, wrong)
  local set = pairs_of(o.set, request.flags, { flag = "set", name = "expr" },
    function(text) return text end, wrong)
  local stop, why, list
  if o.stop_when then
    stop, why = figure.parse(o.stop_when)
    if not stop then wrong("--stop-when " .. why) end
  end
  if mistakes == 0 then
    list, why = cells.make(vary, set, o.zip)
    if not list then wrong(why) end
  end
  for _, flag in ipairs({ "csv", "output" }) do
    if o[flag] and o[flag] ~= "-" and not o.force and files.exists(o[flag])
      and not is_ours(host, flag, o[flag]) then
      wrong(("--%s %s: is there already; --force overwrites it"):format(flag, o[flag]))
    end
  end
  local keys = {}
  for _, v in ipairs(vary) do keys[v.name] = v.key or false end
  for _, s in ipairs(set) do keys[s.name] = s.key or false end
  if mistakes > 0 then return nil end
  return { cells = list, vary = vary, keys = keys, stop = stop }
end

-- ---- one run ----

-- FNV-1a in two halves of 32 bits: which settings a file belongs to.
local function digest(text)
  local a, b = 2166136261, 0x9747b28c
  local bit = require("bit")
  local function step(h, c)
    h = bit.bxor(h, c)
    return bit.tobit(h + bit.lshift(h, 1) + bit.lshift(h, 4) + bit.lshift(h, 7)
      + bit.lshift(h, 8) + bit.lshift(h, 24))
  end
  for i = 1, #text do
    local c = text:byte(i)
    a, b = step(a, c), step(b, c * 31 + i % 251)
  end
  return bit.tohex(a) .. bit.tohex(b)
end

-- The scenario's text belongs to it: another one is another cell.
local function fingerprint(hashed)
  local parts = {}
  for _, arg in ipairs(hashed) do
    parts[#parts + 1] = arg
    if arg:match("%.lua$") then parts[#parts + 1] = files.read(arg) or "" end
  end
  return table.concat(parts, "\0")
end

local function base_seed(run)
  local seed = 0
  for i, arg in ipairs(run) do
    local n = arg:match("^%-*seed=(%d+)$") or (arg == "--seed" and run[i + 1])
    seed = tonumber(n) or seed
  end
  return seed
end

local function file_name(cell, rep, repeats)
  local name = cells.label(cell):gsub("[^%w=,._+-]", "_"):sub(1, 180)
  if repeats > 1 then name = name .. ",run=" .. rep end
  return name .. ".json"
end

-- Flags of the cell go behind those of all, so that they win.
local function arguments(job, cell, rep)
  local request, o = job.request, job.request.options
  local args, tail = { "run" }, {}
  for i, arg in ipairs(request.run) do
    if arg == "--" then
      for k = i, #request.run do tail[#tail + 1] = request.run[k] end
      break
    end
    args[#args + 1] = arg
  end
  local function add(...) for _, a in ipairs({ ... }) do args[#args + 1] = a end end
  if not o.same_prompts and job.plan.keys.seed == nil then
    add("--seed", ("%.0f"):format(job.seed + cell.index * o["repeat"] + rep - 1))
  end
  for _, c in ipairs(cell) do
    local key = job.plan.keys[c.name]
    if not key then
      add("-P", c.name .. "=" .. c.value)
    elseif request.switches[key] then
      local off = c.value == "no" or c.value == "false" or c.value == "0"
      add((off and "--no-" or "--") .. key)
    else
      add("--" .. key .. "=" .. c.value)
    end
  end
  return args, tail, add
end

local function read_result(job, path, id)
  local text = files.read(path)
  local result = text and job.host.decode(text)
  if type(result) ~= "table" or type(result.stoke) ~= "table" then return nil end
  if id and result.sweep_cell ~= id then return nil end
  return result
end

local function succeeded(result) return result.completed > 0 and not result.stoke.interrupted end

-- -> { status, result, file, resumed }
local function run_once(job, cell, rep)
  local o = job.request.options
  local args, tail, add = arguments(job, cell, rep)
  local own = table.concat(args, "\0", #job.request.run - #tail + 2)
  local id = digest(job.fingerprint .. "\1" .. own)
  local path = o.result_dir .. "/" .. file_name(cell, rep, o["repeat"])
  local before = not o.force and read_result(job, path, id)
  if before and succeeded(before) then
    return { code = 0, result = before, file = path, resumed = true }
  end
  add("-q", "--force", "-o", path, "--metadata", "sweep_cell=" .. id)
  if o.save_requests then add("--requests-out", (path:gsub("json$", "requests.jsonl"))) end
  for _, a in ipairs(tail) do add(a) end
  if not o.force and not o.dry_run and files.exists(path) and not read_result(job, path, id) then
    job.host.log(path .. ": is there already, of other settings; choose another --result-dir, "
      .. "or overwrite it with --force")
    return { code = 2 }
  end
  if o.dry_run then
    print("stoke " .. table.concat(args, " "))
    return { code = 0, dry = true }
  end
  os.remove(path) -- what an older attempt left must not pass for this one's
  local code, interrupted = job.host.run(args)
  return { code = code, interrupted = interrupted or code == 130, file = path,
    result = read_result(job, path, id) }
end

-- ---- a cell ----

local function figures_of(runs)
  local means, widths = {}, {}
  for _, f in ipairs(FIGURES) do
    local values = {}
    for _, r in ipairs(runs) do
      values[#values + 1] = r.result and figure.get(r.result, f[1])
    end
    means[f[1]], widths[f[1]] = sample.mean(values)
  end
  return means, widths
end

-- One word per cell: a level that failed is there, and says so.
local function status_of(runs)
  local good, broken = 0, false
  for _, r in ipairs(runs) do
    if r.interrupted then return "interrupted" end
    if r.result and succeeded(r.result) then good = good + 1 end
    broken = broken or r.code == 99
  end
  if good < #runs then return "failed" end
  return broken and "threshold" or "ok"
end

local function pause(job)
  local seconds = job.request.options.pause
  if job.started and seconds > 0 then return job.host.sleep(seconds) end
end

local function run_cell(job, cell)
  local runs = {}
  for rep = 1, job.request.options["repeat"] do
    if pause(job) then
      runs[rep] = { code = 130, interrupted = true }
    else
      runs[rep] = run_once(job, cell, rep)
    end
    local r = runs[rep]
    job.started = not r.resumed and not r.dry
    if r.interrupted or r.code == 2 or r.code == 127 then break end
  end
  local level = { cell = cell, runs = runs, status = status_of(runs) }
  level.means, level.widths = figures_of(runs)
  level.misused = runs[#runs].code == 2 or runs[#runs].code == 127
  return level
end

-- ---- what is shown ----

local COLUMNS = {
  { "request_throughput", "req/s", "%.2f" }, { "output_throughput", "tok/s", "%.1f" },
  { "ttft.mean", "TTFT ms", "%.1f" }, { "ttft.p99", "p99", "%.1f" },
  { "tpot.mean", "TPOT ms", "%.2f" }, { "tpot.p99", "p99", "%.2f" },
  { "error_rate", "errors", "%.1f %%", 100 },
}

local function show(job, line)
  if job.request.options.csv == "-" or job.request.options.output == "-" then
    io.stderr:write(line, "\n")
  else
    print(line)
    io.stdout:flush()
  end
end

local function shown(level, column)
  local x, width = level.means[column[1]], level.widths[column[1]]
  if not x then return "n/a" end
  local scale = column[4] or 1
  local text = column[3]:format(x * scale)
  return width and text .. " ±" .. column[3]:format(width * scale) or text
end

-- "±" is two bytes and one column.
local function pad(text, width)
  local length = #text:gsub("±", "+")
  return (" "):rep(math.max(0, width - length)) .. text
end

local function widths_of(job)
  local widths = {}
  for k, c in ipairs(job.plan.cells[1]) do
    widths[k] = #c.name
    for _, cell in ipairs(job.plan.cells) do widths[k] = math.max(widths[k], #cell[k].value) end
  end
  return widths
end

local function show_head(job)
  local parts = {}
  for k, c in ipairs(job.plan.cells[1]) do parts[k] = pad(c.name, job.widths[k]) end
  for _, c in ipairs(COLUMNS) do parts[#parts + 1] = pad(c[2], job.column) end
  show(job, table.concat(parts, "  "))
end

local function show_level(job, level)
  local parts = {}
  for k, c in ipairs(level.cell) do parts[k] = pad(c.value, job.widths[k]) end
  if level.status == "skipped" then
    parts[#parts + 1] = " skipped"
  else
    for _, c in ipairs(COLUMNS) do parts[#parts + 1] = pad(shown(level, c), job.column) end
    if level.status ~= "ok" then parts[#parts + 1] = level.status end
  end
  show(job, table.concat(parts, "  "))
end

local function show_eta(job, done, began)
  local left = #job.plan.cells - done
  if job.request.options.quiet or job.fresh == 0 or left == 0 then return end
  local each = (job.host.now() - began) / job.fresh
  job.host.log(("%d of %d cells, about %.0f s left"):format(done, #job.plan.cells, each * left))
end

-- Cells that differ in the first --vary alone are one curve.
local function curve_of(job, cell)
  if job.request.options.zip then return "" end
  local parts = {}
  for k = 2, #job.plan.vary do parts[#parts + 1] = cell[k].value end
  return table.concat(parts, ",")
end

-- A curve for each of them, over the first --vary.
local function draw(job, levels)
  local curves, order = {}, {}
  for _, level in ipairs(levels) do
    local curve = curve_of(job, level.cell)
    if not curves[curve] then order[#order + 1] = curve end
    curves[curve] = curves[curve] or {}
    table.insert(curves[curve], level)
  end
  for _, curve in ipairs(order) do
    for _, f in ipairs({ { "output_throughput", "tok/s" }, { "ttft.p99", "p99 TTFT, ms" } }) do
      local points = {}
      for _, level in ipairs(curves[curve]) do
        local x, y = tonumber(level.cell[1].value), level.means[f[1]]
        if x and x < math.huge and y then points[#points + 1] = { x, y } end
      end
      plot.draw(f[2] .. (curve ~= "" and " (" .. curve .. ")" or ""), job.plan.vary[1].name, points)
    end
  end
end

-- ---- files ----

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

local function csv_text(job, levels)
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
    status = level.status, figures = level.means, confidence_95 = level.widths, runs = runs }
end

local function json_of(job, levels, why)
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

local function save(job, levels, why)
  local o, ok = job.request.options, true
  for _, f in ipairs({ { path = o.csv, text = csv_text }, { path = o.output, text = json_of } }) do
    if f.path and f.path ~= "-" then
      local done, wrong = files.write(f.path, f.text(job, levels, why))
      if not done then job.host.log(wrong) end
      ok = ok and done
    end
  end
  return ok
end

-- ---- all of them ----

local function stops(job, level)
  local s = job.plan.stop
  if not s then return false end
  return figure.holds(s, level.means[s.name])
    or (level.status == "failed" and (s.name == "error_rate" or s.name == "timeout_rate"))
end

local function exit_status(levels, why)
  local good, broken = 0, false
  for _, level in ipairs(levels) do
    if level.status == "ok" or level.status == "threshold" then good = good + 1 end
    broken = broken or level.status == "threshold"
  end
  if why == "interrupted" then return 130 end
  if why == "misused" then return 2 end
  if good == 0 then return 1 end
  return broken and 99 or 0
end

local function skipped(cell)
  return { cell = cell, runs = {}, status = "skipped", means = {}, widths = {} }
end

local function run_all(job)
  local levels, ended, why, began = {}, {}, "done", job.host.now()
  for i, cell in ipairs(job.plan.cells) do
    local curve = curve_of(job, cell)
    cell.index = i - 1
    local level = ended[curve] and skipped(cell) or run_cell(job, cell)
    if level.runs[1] and not level.runs[1].resumed then job.fresh = job.fresh + 1 end
    levels[i] = level
    if level.misused then return levels, "misused" end
    if not job.request.options.dry_run then
      show_level(job, level)
      if level.status == "interrupted" then why = "interrupted" end
      -- After each, so that nothing is lost with what comes.
      if not save(job, levels, why) then return levels, "unwritten" end
      if why == "interrupted" then return levels, why end
      if level.status ~= "skipped" and stops(job, level) then
        ended[curve] = true
        job.host.log(("%s: %s, higher ones are skipped"):format(cells.label(cell),
          job.plan.stop.text))
      end
      show_eta(job, i, began)
    end
  end
  return levels, why
end

return function(host, request)
  local plan = understand(host, request)
  local o = request.options
  if not plan then
    host.log("`stoke sweep --help` shows what there is")
    return 2
  end
  local job = { host = host, request = request, plan = plan, fresh = 0,
    seed = base_seed(request.run), fingerprint = fingerprint(request.hashed),
    started_at = os.date("!%Y-%m-%dT%H:%M:%SZ"), column = o["repeat"] > 1 and 15 or 9 }
  job.widths = widths_of(job)
  if not o.dry_run then
    local ok, wrong = host.mkdir(o.result_dir)
    if not ok then
      host.log("--result-dir " .. wrong)
      return 2
    end
    show_head(job)
  end
  local levels, why = run_all(job)
  if o.dry_run then return why == "misused" and 2 or 0 end
  if o.plot and o.csv ~= "-" and o.output ~= "-" then draw(job, levels) end
  if o.csv == "-" then io.stdout:write(csv_text(job, levels)) end
  if o.output == "-" then io.stdout:write(json_of(job, levels, why)) end
  return why == "unwritten" and 1 or exit_status(levels, why)
end
