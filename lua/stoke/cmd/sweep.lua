-- `stoke sweep`: a cell after the other, each a `stoke run` of its own.

local cells = require("stoke.cells")
local figure = require("stoke.figure")
local files = require("stoke.files")
local sample = require("stoke.sample")
local shown = require("stoke.sweep_table")
local sweep_files = require("stoke.sweep_files")

-- ---- what is asked ----

-- An option by any of its spellings: its name in expressions, and its key; a
-- parameter of the scenario has only a name.
local function option_of(flags, typed)
  local key = flags[(typed:gsub("^%-+", ""):gsub("_", "-"))]
  return key and key:gsub("-", "_") or typed, key
end

local function pairs_of(list, flags, field, read, wrong)
  local out, seen = {}, {}
  for _, text in ipairs(list) do
    local typed, rest = text:match("^%s*([^=%s]+)%s*=%s*(.-)%s*$")
    local name, key, value, why
    if typed then name, key = option_of(flags, typed) end
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
  for _, v in ipairs(vary) do
    for _, s in ipairs(set) do
      if s.name and s.name == v.name then
        wrong(("--set %s=%s: is varied already"):format(s.name, s.expr))
      end
    end
  end
  local stop, why, list
  if o.stop_when then
    stop, why = figure.parse(o.stop_when)
    if not stop then wrong("--stop-when " .. why) end
  end
  if mistakes == 0 then
    list, why = cells.make(vary, set, o.zip, function(typed)
      return (option_of(request.flags, typed))
    end)
    if not list then wrong(why) end
  end
  for _, flag in ipairs({ "csv", "output" }) do
    if o[flag] and o[flag] ~= "-" and not o.force and files.exists(o[flag])
      and not is_ours(host, flag, o[flag]) then
      wrong(("--%s %s: is there already; --force overwrites it"):format(flag, o[flag]))
    end
  end
  if o.csv == "-" and o.output == "-" then
    wrong("--csv and --output cannot both go to the standard output")
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

-- A level that is there again (2,2) is measured again, into a file of its own.
local function file_name(cell, rep, repeats)
  local name = cells.label(cell):gsub("[^%w=,._+-]", "_"):sub(1, 180)
  if cell.again then name = name .. ",again=" .. cell.again end
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

-- ---- before any ----

-- So many command lines are tried before the first cell; that of a later one
-- is found wrong when its turn comes.
local CHECKED = 300

-- Would `stoke run` take them? 0, or the exit status of one that it would not.
local function check_cells(job)
  for i = 1, math.min(#job.plan.cells, CHECKED) do
    local args, tail, add = arguments(job, job.plan.cells[i], 1)
    add("-q", "--print-config")
    for _, a in ipairs(tail) do add(a) end
    local code = job.host.run(args)
    if code ~= 0 then return code end
  end
  return 0
end

-- ---- a cell ----

local function figures_of(runs)
  local means, widths = {}, {}
  for _, f in ipairs(sweep_files.FIGURES) do
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

-- What a reader of the figures should know. Their own tables are not shown.
local function notes_of(runs, means)
  local notes = {}
  for _, r in ipairs(runs) do
    local client = r.result and r.result.stoke.client
    if client and client.verdict == "limited" then
      notes[1] = "limited by the client: " .. table.concat(client.reasons, "; ")
    end
  end
  if means.cached_share and means.cached_share >= 0.01 then
    notes[#notes + 1] = ("%.0f %% of the prompt tokens were cached"):format(
      100 * means.cached_share)
  end
  return notes
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
  level.notes = notes_of(runs, level.means)
  level.misused = runs[#runs].code == 2 or runs[#runs].code == 127
  return level
end

local function save(job, levels, why)
  local o, ok = job.request.options, true
  for _, f in ipairs({ { path = o.csv, text = sweep_files.csv },
    { path = o.output, text = sweep_files.json } }) do
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
  return { cell = cell, runs = {}, status = "skipped", means = {}, widths = {}, notes = {} }
end

local function run_all(job)
  local levels, ended, why, began = {}, {}, "done", job.host.now()
  for i, cell in ipairs(job.plan.cells) do
    local curve = shown.curve_of(job, cell)
    local level = ended[curve] and skipped(cell) or run_cell(job, cell)
    if level.runs[1] and not level.runs[1].resumed then job.fresh = job.fresh + 1 end
    levels[i] = level
    if level.misused then return levels, "misused" end
    if not job.request.options.dry_run then
      shown.level(job, level)
      if level.status == "interrupted" then why = "interrupted" end
      -- After each, so that nothing is lost with what comes.
      if not save(job, levels, why) then return levels, "unwritten" end
      if why == "interrupted" then return levels, why end
      if level.status ~= "skipped" and stops(job, level) then
        ended[curve] = true
        job.host.log(("%s: %s, higher ones are skipped"):format(cells.label(cell),
          job.plan.stop.text))
      end
      shown.eta(job, i, began)
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
    started_at = os.date("!%Y-%m-%dT%H:%M:%SZ") }
  if not o.dry_run then
    local ok, wrong = host.mkdir(o.result_dir)
    if not ok then
      host.log("--result-dir " .. wrong)
      return 2
    end
    ok, wrong = host.lock(o.result_dir .. "/.lock")
    if not ok then
      host.log(("--result-dir %s: %s"):format(o.result_dir, wrong))
      return 2
    end
    local code = check_cells(job)
    if code ~= 0 then return code end
    shown.bound(job)
    shown.head(job)
  end
  local levels, why = run_all(job)
  if o.dry_run then return why == "misused" and 2 or 0 end
  if o.plot then shown.draw(job, levels) end
  if o.csv == "-" then io.stdout:write(sweep_files.csv(job, levels)) end
  if o.output == "-" then io.stdout:write(sweep_files.json(job, levels, why)) end
  return why == "unwritten" and 1 or exit_status(levels, why)
end
