-- Structured output that must hold what its schema says.
local schema = {
  type = "object", required = { "name", "age" },
  properties = { name = { type = "string" }, age = { type = "integer" } },
}

return {
  metrics = { valid = "rate" },
  thresholds = { "valid > 60%" },

  request = function()
    return {
      prompt = "Invent a person.", max_tokens = 40,
      response_format = { type = "json_schema",
        json_schema = { name = "person", strict = true, schema = schema } },
    }
  end,

  on_response = function(r)
    if not r.ok then return end
    local person, why = r:json()
    stoke.record("valid", person ~= nil and type(person.age) == "number")
    if not person then return false, why end
    if type(person.age) ~= "number" then return false, "no age" end
  end,
}
