-- scenarios/trace.lua: requests at the times, and of the lengths, of a recorded trace
local trace     -- on the main thread: arrivals asks it for the times before the run
local params

-- When request i leaves, in seconds. Traces with coarse clocks have many rows
-- with one time, which would be a burst that never was: these are spread over
-- the time up to the next one.
local function times(rng)
  local i, width = 1, 0
  local queue, head = {}, 1
  local function more()
    if i > #trace then return end
    local at, last = trace:time(i), i
    while last < #trace and trace:time(last + 1) == at do last = last + 1 end
    local n = last - i + 1
    if last < #trace then width = trace:time(last + 1) - at end
    queue, head = {}, 1
    for k = 1, n do
      if params.spread == "even" then
        queue[k] = at + width * (k - 1) / n
      elseif params.spread == "random" and n > 1 then
        queue[k] = at + width * rng:uniform()
      else
        queue[k] = at
      end
    end
    table.sort(queue)
    i = last + 1
  end
  return function()
    if head > #queue then more() end
    head = head + 1
    return queue[head - 1]
  end
end

local next_time, before

return {
  description = "A recorded trace: its times, its lengths, its shared prefixes",
  params = {
    file = { type = "path", required = true,
      help = "Azure or BurstGPT CSV, Mooncake JSON Lines, or --requests-out of an earlier run" },
    bodies = { type = "path",
      help = "send these instead: an OpenAI batch (verbatim), or any file of prompts" },
    speed = { default = 1, min = 0.001, help = "2: twice as fast" },
    spread = { default = "even", choices = { "even", "random", "none" },
      help = "what happens to requests of one and the same time" },
    block = { default = 512, min = 1, type = "integer",
      help = "tokens that a hash id stands for (Mooncake)" },
    skip_bad_rows = { default = false, help = "count bad rows instead of refusing the file" },
    ignore_eos = { default = false, help = "answers as long as the trace's (vLLM and others)" },
  },

  setup = function(run)
    params = run.params
    trace = stoke.data.open(params.file, {
      block = params.block, skip_bad_rows = params.skip_bad_rows,
    })
    if not trace:row(1).timestamp then
      return nil, trace.path .. ": no trace (times and lengths), but " .. trace.format
    end
    local bodies = params.bodies and stoke.data.open(params.bodies, { when_exhausted = "cycle" })
    local first = bodies and bodies:row(1)
    if first and not first.body and not (first.turns and first.turns[1].messages) then
      return nil, bodies.path .. ": its rows have nothing to send"
    end
    return { trace = trace, bodies = bodies }
  end,

  load = {
    -- The gap before arrival i; nil ends the run.
    arrivals = function(i, rng)
      if i == 1 then next_time, before = times(rng), 0 end
      local at = next_time()
      if not at then return nil end
      local gap = (at - before) / params.speed
      before = at
      return gap
    end,
  },

  request = function(ctx)
    local row = ctx.data.trace:next()
    if not row then return nil end
    local body = ctx.data.bodies and ctx.data.bodies:next()
    if body and body.body then
      return { endpoint = body.url, body = body.body }
    end
    return {
      messages = body and body.turns[1].messages,
      prompt = not body and row.prompt or nil,
      prompt_tokens = not body and row.input_len or nil,
      max_tokens = math.max(1, row.output_len),
      ignore_eos = ctx.params.ignore_eos or nil,
    }
  end,
}
