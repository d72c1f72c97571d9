-- Does a stream really stream? By when its events came, and by how long one
-- token alone takes. A gateway that holds an answer back until it is complete
-- makes TTFT the time of all and every gap nothing.

local M = {}

local BURST_S = 0.005   -- events this close together came at once …
local BURST_SHARE = 0.03 -- … or within this share of the answer's time
local TOGETHER_S = 0.0005 -- closer neighbours are one group
local SHORT_S = 0.1     -- an answer faster than this tells nothing
local FEW = 4

local function ms(s)
  return s < 0.01 and ("%.1f ms"):format(1000 * s)
    or s < 1 and ("%.0f ms"):format(1000 * s) or ("%.2f s"):format(s)
end
M.ms = ms

local function groups_of(arrivals)
  local n = 1
  for i = 2, #arrivals do
    if arrivals[i] - arrivals[i - 1] > TOGETHER_S then n = n + 1 end
  end
  return n
end

-- One token alone came much sooner than the first of many: somebody waited.
local function late(first, alone)
  return alone ~= nil and first > 2 * alone + 0.05
end

local function held_back(arrivals, alone, status)
  local n, first = #arrivals, arrivals[1]
  local span = arrivals[n] - first
  local text = ("all %d events came %s, after %s of silence"):format(n,
    span < TOGETHER_S and "at once" or "within " .. ms(span), ms(first))
  if status == "wrong" then
    return "wrong", ("held back to the end: %s; one token alone takes %s (sure)"):format(text,
      ms(alone))
  end
  return "warn", text .. (alone and ", and one token alone takes " .. ms(alone) or "")
    .. ": held back, or a very fast server (not sure)"
end

local function in_groups(arrivals, groups, alone)
  local n = #arrivals
  local text = ("events come about %.0f at a time, %s apart"):format(n / groups,
    ms((arrivals[n] - arrivals[1]) / (groups - 1)))
  if late(arrivals[1], alone) then
    return "wrong", ("held back in blocks: %s, the first after %s; one token alone takes %s "
      .. "(sure)"):format(text, ms(arrivals[1]), ms(alone))
  end
  return "warn", text .. ": a gateway that buffers, or a server that makes several tokens a step "
    .. "(not sure)"
end

local function one_event(tokens)
  if tokens and tokens > 1 then
    return "warn", ("the whole answer of %d tokens came as one event: no ITL can be measured")
      :format(tokens)
  end
  return "warn", "only one event: nothing to judge by"
end

--- `arrivals`: of the events with payload, s after the request was sent, at
--- least one; `alone`: how long an answer of one token took, or nil;
--- `tokens`: of the answer, or nil. Returns "ok", "warn" or "wrong", what to
--- say, and whether the stream seems to be held back.
function M.judge(arrivals, alone, tokens)
  local n = #arrivals
  local first, last = arrivals[1], arrivals[n]
  local span, groups = last - first, groups_of(arrivals)
  if n == 1 then return one_event(tokens) end
  if last < SHORT_S then
    return "ok", ("%d events in %s: too fast to tell whether they are held back"):format(n,
      ms(last))
  end
  if n < FEW then
    return "warn", ("only %d events: too few to tell whether they are held back"):format(n)
  end
  if span <= math.max(BURST_S, BURST_SHARE * last) then
    local status, text = held_back(arrivals, alone, late(first, alone) and "wrong" or "warn")
    return status, text, true
  end
  if n / groups >= FEW then
    local status, text = in_groups(arrivals, groups, alone)
    return status, text, true
  end
  return "ok", ("%d events over %s, the first after %s"):format(n, ms(span), ms(first))
end

return M
