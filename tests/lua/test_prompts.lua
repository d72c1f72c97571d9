-- Prompts from a data file. What data files are is tested in C.
local prompts = require "stoke.prompts"

-- A data file of these rows; row i is on line 10 * i.
local function load_rows(rows)
  rows.path = "a.jsonl"
  rows.row = function(_, i) return rows[i] end
  rows.line = function(_, i) return 10 * i end
  stoke.data = { open = function() return rows end }
  local ok, result = pcall(prompts.load, "a.jsonl")
  return ok and result or { err = result }
end

describe("prompts", function()
  it("has some of its own", function()
    assert(#prompts.list >= 24)
    for _, prompt in ipairs(prompts.list) do assert(prompt:find("%S")) end
  end)

  it("takes each row's", function()
    equal(load_rows { { prompt = "one" }, { prompt = "two", x = 1 } }, { "one", "two" })
  end)

  it("b100 names the line whose prompt is missing or no text", function()
    equal(load_rows({ { prompt = "a" }, { text = "b" } }).err,
      'a.jsonl:20: no text in "prompt"')
    equal(load_rows({ { prompt = { "a" } } }).err, 'a.jsonl:10: no text in "prompt"')
  end)
end)
