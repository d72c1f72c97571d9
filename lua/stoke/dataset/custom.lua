-- Prompts of one's own: rows with `prompt`, and `output_tokens` when
-- custom_output_len is -1.

local sampling = require "stoke.dataset.sampling"

local custom = { file = true }

function custom.open(run)
  local file = sampling.open(run, { require = "prompt" })
  local rows = sampling.sound_rows(run, file, function(i)
    local row = file:at(i)
    if type(row.prompt) ~= "string" then return "\"prompt\" is no text" end
    return select(2, sampling.own_output(run.params, row))
  end)
  return { file = file, rows = rows }
end

function custom.request(data, i, ctx, ruler)
  local row = data.file:at(data.rows[i])
  return {
    prompt = row.prompt, template = true,
    input = ruler and ruler.kind == "tokenizer" and ruler:count(row.prompt) or nil,
    output = sampling.own_output(ctx.params, row),
  }
end

return custom
