-- stoke.dataset.template: the model's chat template for completions, as texts
-- to put around a prompt. The server has it: /tokenize says which tokens a
-- message becomes, /detokenize what they are.

local template = {}

local MARK = "stoke7chat7template"

local function post(run, path, body)
  body.model = run.model
  local r = run:http { method = "POST", path = path, timeout = "10s", body = body }
  local answer = r.ok and r:json()
  return type(answer) == "table" and answer or nil
end

local function text_of(run, body)
  local answer = post(run, "/tokenize", body)
  if not answer or type(answer.tokens) ~= "table" then return nil end
  answer = post(run, "/detokenize", { tokens = answer.tokens })
  return answer and answer.prompt
end

-- { before, after }, or nil when this server cannot say. What is put around
-- every prompt anyway (BOS) is left out: it would be there twice.
function template.find(run)
  local kwargs = run.params.chat_template_kwargs
  local whole = text_of(run, { messages = { { role = "user", content = MARK } },
    add_generation_prompt = true, chat_template_kwargs = kwargs and stoke.json.decode(kwargs) })
  local from, to = (whole or ""):find(MARK, 1, true)
  if not from then return nil end
  local before, after = whole:sub(1, from - 1), whole:sub(to + 1)
  local around = text_of(run, { prompt = MARK, add_special_tokens = true })
  local bos = around and around:sub(1, (around:find(MARK, 1, true) or 1) - 1) or ""
  if bos ~= "" and before:sub(1, #bos) == bos then before = before:sub(#bos + 1) end
  return { before, after }
end

return template
