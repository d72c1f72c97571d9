-- BurstGPT's lengths: its rows of GPT-4 that have an answer, in any order.
-- Their times are not used; `stoke run trace` does that.

local sampling = require "stoke.dataset.sampling"

local burstgpt = { measures = true, file = true }

-- "472", or "472.0" as spreadsheets write it; none stands for no answer.
local function tokens(text)
  local digits = text:match("^%s*(%d+)%.?0*%s*$") or text:match("^%s*$") and "0"
  local n = tonumber(digits)
  return n and n <= sampling.LONGEST and n or nil
end

local columns = { "Model", "Request tokens", "Response tokens" }

function burstgpt.open(run)
  local file = sampling.open(run, { format = "csv", require = columns, shuffle = true })
  local function take(i)
    local row = file:at(i)
    if row.Model ~= "GPT-4" then return nil, "of other models than GPT-4" end
    local input, output = tokens(row["Request tokens"]), tokens(row["Response tokens"])
    if not input or not output then
      return nil, ("\"%s\" and \"%s\" are not both numbers of tokens"):format(
        row["Request tokens"], row["Response tokens"]), true
    end
    if input < 1 or output < 1 then return nil, "without an answer" end
    return { input, output }
  end
  return { rows = sampling.rows(run, file, take) }
end

function burstgpt.request(data, i, ctx, ruler)
  local input, output = data.rows[i][1], data.rows[i][2]
  local n = math.max(1, input - ruler.special)
  return { prompt = ruler:text(ctx.rng, n), input = n + ruler.special, output = output }
end

return burstgpt
