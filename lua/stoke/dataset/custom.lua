-- Prompts of one's own: rows with `prompt`, and `output_tokens` when
-- custom_output_len is -1.

local sampling = require "stoke.dataset.sampling"

local custom = { file = true }

local function output_of(row)
  local n = tonumber(row.output_tokens)
  return n and n >= 1 and n % 1 == 0 and n or nil
end

function custom.open(run)
  local params = run.params
  local wanted = params.output_len or params.custom_output_len
  local file = sampling.open(run, { require = "prompt" })
  local rows = sampling.sound_rows(run, file, function(i)
    local row = file:at(i)
    if type(row.prompt) ~= "string" then return "\"prompt\" is no text" end
    if wanted < 0 and not output_of(row) then
      return "no output_tokens of 1 or more, which custom_output_len -1 asks for"
    end
  end)
  return { file = file, wanted = wanted, rows = rows }
end

function custom.request(data, i, _, ruler)
  local row = data.file:at(data.rows[i])
  return {
    prompt = row.prompt, template = true,
    input = ruler and ruler.kind == "tokenizer" and ruler:count(row.prompt) or nil,
    output = data.wanted >= 0 and data.wanted or output_of(row),
  }
end

return custom
