-- stoke.conversation: a history that grows with every turn.
-- The module is a function: conversation(session, options) -> conversation;
-- scripts call it as s:conversation{…}. What is sent is encoded once, as it
-- is added (stoke.json.list): a long history costs a copy a turn, no more.

local json = stoke.json

local own_options = {
  system = true, history = true, messages = true, turns = true, empty = true,
  max_turns = true, reasoning = true,
}
local roles = {
  system = true, developer = true, user = true, assistant = true, tool = true,
  ["function"] = true, -- a tool's answer before calls had ids
}
local choices = {
  history = { live = true, recorded = true },
  empty = { keep = true, drop = true, fail = true },
  reasoning = { drop = true, keep = true },
}

-- Misuse is told at the line of the script that called us.
local function misuse(format, ...)
  error("s:conversation: " .. format:format(...), 0)
end

-- ---- messages ----

local function check_content(message, place)
  local content = message.content
  local empty = content == nil or content == json.null
  local calls = message.tool_calls or message.function_call or message.refusal
  if empty and not (message.role == "assistant" and calls) then
    misuse("%s has no content", place)
  end
  if empty or type(content) == "string" then return end
  if type(content) ~= "table" or content[1] == nil then
    misuse("%s: content must be a string or a list of parts, not %s", place,
      type(content) == "table" and "a table without any" or "a " .. type(content))
  end
  for i, part in ipairs(content) do
    if type(part) ~= "table" then
      misuse("%s: content[%d] must be a part, { type = …, … }, not a %s", place, i, type(part))
    end
  end
end

local function check_message(message, place)
  if type(message) ~= "table" then
    misuse("%s must be a table, not a %s", place, type(message))
  end
  if not roles[message.role] then
    misuse("%s: role must be system, developer, user, assistant or tool, not %s", place,
      tostring(message.role))
  end
  if message.role == "tool" and type(message.tool_call_id) ~= "string" then
    misuse("%s: a tool's message needs the tool_call_id that it answers", place)
  end
  check_content(message, place)
end

-- What the server said, as the next request must repeat it.
local function answer_of(r, keep_reasoning)
  local calls
  if r.tool_calls then
    calls = {}
    for i, call in ipairs(r.tool_calls) do
      calls[i] = {
        id = call.id, type = "function",
        ["function"] = { name = call.name, arguments = call.arguments },
      }
    end
  end
  return {
    role = "assistant",
    content = (r.text ~= "" or not calls and r.refusal == "") and r.text or json.null,
    refusal = r.refusal ~= "" and r.refusal or nil,
    tool_calls = calls,
    reasoning_content = keep_reasoning and r.reasoning ~= "" and r.reasoning or nil,
  }
end

-- ---- recorded rounds ----
-- A round: { messages = what is said before the answer, answer = message? }

local function as_message(value, role)
  if type(value) == "string" then return { role = role, content = value } end
  return value
end

-- A recorded answer, or nil when there is none.
local function as_answer(value, place)
  if value == nil or value == json.null then return nil end
  local message = as_message(value, "assistant")
  if type(message) ~= "table" or message.role ~= "assistant" then
    misuse("%s: its answer must be a text or a message of the assistant's", place)
  end
  check_message(message, place .. ", answer")
  return message
end

-- One list of messages: a round ends where the assistant speaks. As in data
-- files, what it says unasked at the start is left out, and of several answers
-- in a row the last counts.
local function split_rounds(messages)
  local rounds, round = {}, { messages = {} }
  for i, message in ipairs(messages) do
    check_message(message, ("message %d"):format(i))
    if message.role == "assistant" and #round.messages == 0 then
      if rounds[1] then rounds[#rounds].answer = message end
    elseif message.role == "assistant" then
      round.answer = message
      rounds[#rounds + 1] = round
      round = { messages = {} }
    else
      round.messages[#round.messages + 1] = message
    end
  end
  if #round.messages > 0 then rounds[#rounds + 1] = round end
  return rounds
end

-- One element of `turns`: a text, a list of messages, or a table with
-- `messages` (or `prompt`) and perhaps the `answer` (or `reference`).
local function read_turn(turn, i)
  if type(turn) == "string" then
    return { messages = { { role = "user", content = turn } } }
  end
  if type(turn) ~= "table" then misuse("turn %d is a %s", i, type(turn)) end
  local list = turn.messages or (turn[1] ~= nil and turn) or nil
  local answer = as_answer(turn.answer or turn.reference or turn.assistant, ("turn %d"):format(i))
  if not list then list = { as_message(turn.prompt or turn.user, "user") } end
  if #list == 0 then misuse("turn %d has no messages", i) end
  local round = { messages = {}, answer = answer }
  for k, message in ipairs(list) do
    check_message(message, ("turn %d, message %d"):format(i, k))
    round.messages[k] = message
  end
  return round
end

local function begins_with(list, prefix)
  if #list <= #prefix then return false end
  for i, item in ipairs(prefix) do
    if json.encode(item) ~= json.encode(list[i]) then return false end
  end
  return true
end

-- Rows that hold the whole history up to their turn are cut to what is new:
-- sent as they are, every turn would repeat all before it.
local function undo_cumulation(rounds)
  local full = {}
  for i, round in ipairs(rounds) do full[i] = round.messages end
  for i = #rounds, 2, -1 do
    if not begins_with(full[i], full[i - 1]) then return end
  end
  for i = #rounds, 2, -1 do
    local new = {}
    for k = #full[i - 1] + 1, #full[i] do new[#new + 1] = full[i][k] end
    if new[1].role == "assistant" then
      rounds[i - 1].answer = rounds[i - 1].answer or new[1]
      table.remove(new, 1)
    end
    rounds[i].messages = new
  end
end

-- Without the recorded answers of one turn, the next one's questions would
-- stand behind each other.
local function check_answers(rounds)
  for i = 1, #rounds - 1 do
    if not rounds[i].answer then
      misuse("turn %d has no recorded answer; say history = \"live\"", i)
    end
  end
end

local function read_turns(turns)
  if type(turns) ~= "table" then misuse("turns must be a list, not a %s", type(turns)) end
  local rounds = {}
  for i, turn in ipairs(turns) do rounds[i] = read_turn(turn, i) end
  if #rounds > 1 then undo_cumulation(rounds) end
  for i, round in ipairs(rounds) do
    for _, message in ipairs(round.messages) do
      if message.role == "assistant" then
        misuse("turn %d holds an assistant's message; its answer goes into `answer`", i)
      end
    end
  end
  return rounds
end

-- ---- the conversation ----

local conversation = {}
conversation.__index = conversation

local function append(self, message)
  self.encoded:add(message)
  self.messages[#self.messages + 1] = message
end

function conversation:add(role, content)
  local message = type(role) == "table" and role or { role = role, content = content }
  check_message(message, ("message %d"):format(#self.messages + 1))
  if (message.role == "system" or message.role == "developer") and #self.messages > 0 then
    misuse("a %s message stands first, or not at all", message.role)
  end
  append(self, message)
  return self
end

function conversation:tool(id, content)
  if type(content) == "table" then content = json.encode(content) end
  return self:add { role = "tool", tool_call_id = id, content = content }
end

local function is_empty(r)
  return r.text == "" and r.refusal == "" and not r.tool_calls
end

function conversation:hear(r, recorded)
  if self.history == "recorded" then
    if recorded then self:add(recorded) end
  elseif not r.ok then
    return
  elseif not is_empty(r) or self.empty == "keep" then
    self:add(answer_of(r, self.reasoning == "keep"))
  elseif self.empty == "fail" then
    self.session:fail(("turn %d: the answer is empty (finish_reason %s)"):format(self.turn,
      tostring(r.finish_reason)))
  end
end

function conversation:continue(options, recorded)
  if self.max_turns and self.turn >= self.max_turns then
    self.session:fail(("more than %d turns"):format(self.max_turns))
  end
  local request = {}
  for name, value in pairs(self.request) do request[name] = value end
  for name, value in pairs(options or {}) do request[name] = value end
  request.messages = self.encoded
  self.turn = self.turn + 1
  local sent, r = pcall(self.session.request, self.session, request)
  if not sent then error(r, 0) end -- with the place of who called us
  self:hear(r, recorded)
  return r
end

function conversation:ask(text, options)
  local answer
  if options and options.answer ~= nil then
    answer = as_answer(options.answer, "ask")
    local rest = {}
    for name, value in pairs(options) do rest[name] = value end
    rest.answer = nil
    options = rest
  end
  self:add("user", text)
  return self:continue(options, answer)
end

-- The next recorded round; nil when there is none left. What was recorded was
-- checked when it was read, and is sent as it is: a system's message may
-- stand anywhere.
function conversation:next(options)
  local round = self.rounds[self.at]
  if not round then return nil end
  self.at = self.at + 1
  for _, message in ipairs(round.messages) do append(self, message) end
  return self:continue(options, round.answer)
end

function conversation:left()
  return #self.rounds - self.at + 1
end

-- A copy that goes its own way, for a branch of s:parallel.
function conversation:fork(session)
  local copy = setmetatable({}, conversation)
  for name, value in pairs(self) do copy[name] = value end
  copy.session = session
  copy:rewrite(self.messages)
  return copy
end

function conversation:rewrite(messages)
  self.messages, self.encoded = {}, json.list()
  for _, message in ipairs(messages) do append(self, message) end
  return self
end

-- Forget what was said but the system's message and the last `keep`; tools'
-- answers whose call is forgotten go with it, as no server takes them alone.
function conversation:forget(keep)
  if type(keep) ~= "number" or keep < 0 or keep % 1 ~= 0 then
    misuse("forget: keep is a number of messages, not %s", tostring(keep))
  end
  local old, kept = self.messages, {}
  local first = old[1] and (old[1].role == "system" or old[1].role == "developer") and 1 or 0
  if first == 1 then kept[1] = old[1] end
  local from = math.max(first + 1, #old - keep + 1)
  while old[from] and (old[from].role == "tool" or old[from].role == "function") do
    from = from + 1
  end
  for i = from, #old do kept[#kept + 1] = old[i] end
  return self:rewrite(kept)
end

-- Called with a dot, a method gets for its self what was meant to be said.
for name, method in pairs(conversation) do
  if type(method) == "function" then
    conversation[name] = function(self, ...)
      if getmetatable(self) ~= conversation then
        misuse("%s is called with a colon, as in chat:%s(…)", name, name)
      end
      return method(self, ...)
    end
  end
end

local function pick(options, name, otherwise)
  local value = options[name]
  if value == nil then return otherwise end
  if not choices[name][value] then misuse("%s cannot be %s", name, tostring(value)) end
  return value
end

-- Recorded talks have their own system's message, if any.
local function check_systems(options, rounds)
  local first = rounds[1] and rounds[1].messages[1]
  if options.system and first and (first.role == "system" or first.role == "developer") then
    misuse("the recorded messages begin with a system message; give no other as system")
  end
end

return function(session, options)
  if options.max_turns ~= nil and type(options.max_turns) ~= "number" then
    misuse("max_turns must be a number, not a %s", type(options.max_turns))
  end
  local self = setmetatable({
    session = session, messages = {}, encoded = json.list(), request = {},
    turn = 0, at = 1, rounds = {}, max_turns = options.max_turns,
    history = pick(options, "history", "live"),
    empty = pick(options, "empty", "keep"),
    reasoning = pick(options, "reasoning", "drop"),
  }, conversation)
  for name, value in pairs(options) do
    if not own_options[name] then self.request[name] = value end
  end
  if options.system then self:add("system", options.system) end
  if options.turns then
    self.rounds = read_turns(options.turns)
    if options.messages then misuse("give messages or turns, not both") end
    if self.history == "recorded" then check_answers(self.rounds) end
  end
  if self.history == "recorded" and options.messages then
    self.rounds = split_rounds(options.messages)
  else
    for _, message in ipairs(options.messages or {}) do self:add(message) end
  end
  check_systems(options, self.rounds)
  return self
end
