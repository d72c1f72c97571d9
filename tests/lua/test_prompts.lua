-- Prompts from a file, a line each or JSON Lines.
local prompts = require "stoke.prompts"

local function load_lines(name, lines)
  stoke.files = { [name] = lines }
  local ok, result = pcall(prompts.load, name)
  return ok and result or { err = result }
end

describe("prompts", function()
  it("has some of its own", function()
    assert(#prompts.list >= 24)
    for _, prompt in ipairs(prompts.list) do assert(prompt:find("%S")) end
  end)

  it("reads a line each, but blank ones", function()
    equal(load_lines("a.txt", { "one", "", "  ", "two" }), { "one", "two" })
  end)

  it("reads JSON Lines", function()
    equal(load_lines("a.jsonl", { '{"prompt":"one"}', "", '{"prompt":"two"}' }),
      { "one", "two" })
  end)

  it("b100 names the line and the key that is missing", function()
    equal(load_lines("a.jsonl", { '{"prompt":"a"}', "", '{"text":"b"}' }).err,
      'a.jsonl:3: the key "prompt" is missing, or is no string')
    equal(load_lines("a.jsonl", { "{" }).err, "a.jsonl:1: bad JSON")
  end)

  it("says when there is nothing", function()
    equal(load_lines("a.txt", { "" }).err, "a.txt: no prompt in it")
    stoke.files = {}
    equal(select(2, pcall(prompts.load, "b.txt")), "b.txt: no such file")
  end)
end)
