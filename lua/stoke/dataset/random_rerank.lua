-- A question and documents to rank, all of random words. num_prompts counts
-- documents; each request has random_batch_size of them.

local random = require "stoke.dataset.random"
local sampling = require "stoke.dataset.sampling"

local rerank = { measures = true, ranks = true }

function rerank.check(params, problems)
  random.check(params, problems)
  local n = random.input_len(params)
  if not params.no_reranker and math.floor(n / 2) - 1 < 1 then
    problems:add("random_input_len %d: too small for a question and a document; say 4 at least", n)
  end
end

function rerank.check_endpoint(endpoint, params, problems)
  if params.no_reranker then
    if endpoint == "rerank" then
      problems:add("no_reranker: is for an embedding model: endpoint embeddings (backend "
        .. "openai-embeddings), not rerank")
    end
  elseif endpoint ~= "rerank" then
    problems:add("random-rerank speaks to a reranker: endpoint rerank (backend vllm-rerank), not "
      .. "%s; or say no_reranker for an embedding model", endpoint)
  end
end

function rerank.open(run, ruler)
  local params = run.params
  local share = random.shares(params, {})
  local n = random.input_len(params)
  local query = params.no_reranker and n or math.floor(n / 2) - 1
  local rest = params.no_reranker and math.max(1, n - ruler.special)
    or math.max(1, n - query - ruler.special)
  local low, high = sampling.around(rest, share, 1)
  return {
    n = math.max(1, math.ceil(params.num_prompts / params.random_batch_size)),
    query = params.no_reranker and math.max(1, query - ruler.special) or query,
    low = low, high = high,
  }
end

function rerank.request(data, i, ctx, ruler)
  local params, documents, input = ctx.params, {}, 0
  local left = params.num_prompts - (i - 1) * params.random_batch_size
  local query = ruler:text(ctx.rng, data.query)
  for k = 1, math.min(params.random_batch_size, left) do
    local n = ctx.rng:int(data.low, data.high)
    documents[k] = ruler:text(ctx.rng, n)
    input = input + n + ruler.special + (params.no_reranker and 0 or data.query)
  end
  if not params.no_reranker then
    return { prompt = query, fields = { documents = documents }, input = input }
  end
  table.insert(documents, 1, query)
  return { prompt = documents, input = input + data.query + ruler.special }
end

return rerank
