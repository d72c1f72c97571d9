-- scenarios/bench.lua: the data sets of `vllm bench serve`, by the names of its flags
local bench = require "stoke.dataset.bench"

return {
  description = "The data sets of vllm bench serve: random, sharegpt, custom and eleven more",
  params = require "stoke.dataset.params",
  load = bench.load,
  setup = bench.setup,
  init = bench.init,
  request = bench.request,
  on_response = bench.on_response,
  exit = bench.exit,
  summary = bench.summary,
}
