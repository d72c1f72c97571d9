-- A gateway that wants a token, which grows old, and a signature of each
-- request over its body.

local token, uses

local function take(answer)
  if not answer.ok then return nil, "no token: " .. answer.error end
  local t = answer:json()
  return { text = t.access_token, uses = t.uses }
end

local request = { path = "/token", method = "POST", body = { grant_type = "client_credentials" } }

return {
  description = "Signed requests with a token that is renewed",
  params = { secret = { required = true, help = "what signs" } },
  load = { max_concurrency = 1, num_sessions = 2 },

  setup = function(run) return take(run:http(request)) end,

  session = function(s)
    for _ = 1, 3 do
      token, uses = token or s.data.text, uses or s.data.uses
      if uses == 0 then
        local new, why = take(s:http(request))
        if not new then return s:fail(why) end
        token, uses = new.text, new.uses
      end
      uses = uses - 1
      local body = stoke.json.encode {
        model = "m", stream = true, max_tokens = 4,
        messages = { { role = "user", content = s.rng:words(5) } },
      }
      local date = os.date("!%Y%m%dT%H%M%SZ")
      local key = stoke.hmac(s.params.secret, date)
      local text = "POST\n" .. date .. "\n" .. stoke.hex(stoke.sha256(body))
      local r = s:request { body = body, headers = {
        Authorization = "Bearer " .. token,
        ["X-Date"] = date,
        ["X-Signature"] = stoke.base64(stoke.hmac(key, text)),
      } }
      if not r.ok then return s:fail(r.error) end
    end
  end,
}
