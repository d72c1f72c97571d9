-- SPEED-Bench: <subset>.jsonl in a folder; the first message of each row.

local sampling = require "stoke.dataset.sampling"
local text_of = require("stoke.messages").text

local speed = { file = true }

function speed.open(run)
  local params = run.params
  local path = params.dataset_path
  if not path:find("%.jsonl?$") then
    path = path .. "/" .. params.speed_bench_dataset_subset .. ".jsonl"
  end
  local file = sampling.open(run, { format = "jsonl", require = "messages" }, path)
  local function take(i)
    local row = file:at(i)
    if params.speed_bench_category and row.category ~= params.speed_bench_category then
      return nil, "of other categories"
    end
    local first = row.messages[1]
    if not first or (text_of(first.content) or "") == "" then
      return nil, "the first message has no text", true
    end
    return i
  end
  return { file = file, rows = sampling.rows(run, file, take) }
end

function speed.request(data, i, ctx)
  local row = data.file:at(data.rows[i])
  return { prompt = text_of(row.messages[1].content), template = true,
    output = ctx.params.speed_bench_output_len }
end

return speed
