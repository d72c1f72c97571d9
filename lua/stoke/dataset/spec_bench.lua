-- Spec-Bench: the first question of each row's `turns`, of one category or all.

local sampling = require "stoke.dataset.sampling"

local spec = { file = true }

function spec.open(run)
  local params = run.params
  local file = sampling.open(run, { format = "jsonl", require = "turns" })
  local function take(i)
    local row = file:at(i)
    if params.spec_bench_category and row.category ~= params.spec_bench_category then
      return nil, "of other categories"
    end
    if type(row.turns) ~= "table" or type(row.turns[1]) ~= "string" or row.turns[1] == "" then
      return nil, "\"turns\" is no list that begins with a text", true
    end
    return i
  end
  return { file = file, rows = sampling.rows(run, file, take) }
end

function spec.request(data, i, ctx)
  return { prompt = data.file:at(data.rows[i]).turns[1], template = true,
    output = ctx.params.output_len or ctx.params.spec_bench_output_len }
end

return spec
