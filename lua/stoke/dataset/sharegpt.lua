-- Recorded conversations: the first question of each, and as many tokens of
-- answer as were given.

local sampling = require "stoke.dataset.sampling"

local sharegpt = { measures = true, file = true }

function sharegpt.open(run, ruler)
  local params = run.params
  local file = sampling.open(run)
  local forced = params.output_len or params.sharegpt_output_len
  local function take(i)
    local first = (file:at(i).turns or {})[1]
    if not first or not first.prompt or not first.reference then
      return nil, "without a question and an answer"
    end
    local input = ruler:count(first.prompt)
    local output = forced or ruler:count(first.reference)
    local why = sampling.unfit(input, output, forced)
    if why then return nil, why end
    return { i, input, output }
  end
  return { file = file, rows = sampling.collect(file.path, #file, params.num_prompts,
    not params.no_oversample, run.rng, take) }
end

function sharegpt.request(data, i)
  local item = data.rows[i]
  return { prompt = data.file:at(item[1]).turns[1].prompt, input = item[2], output = item[3] }
end

return sharegpt
