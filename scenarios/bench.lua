-- scenarios/bench.lua: the data sets of `vllm bench serve`, by the names of its flags
local bench = require "stoke.dataset.bench"

return {
  description = "The data sets of vllm bench serve: random, sharegpt, custom",
  params = require "stoke.dataset.params",
  load = bench.load,
  setup = bench.setup,
  request = bench.request,
  summary = bench.summary,
}
