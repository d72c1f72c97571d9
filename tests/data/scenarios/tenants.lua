-- Tenants with their own keys, headers and promises.
local tenants = {
  { name = "acme", weight = 5, slo = { ttft = 5 } },
  { name = "globex", weight = 2, slo = { ttft = "5s", e2el = "60s" } },
  { name = "initech", weight = 1 },
}
local weights = {}
for i, tenant in ipairs(tenants) do weights[i] = tenant.weight end

return {
  load = { request_rate = 200, num_requests = 40 },
  thresholds = { "error_rate{tenant=acme} < 1%", "good_share{tenant=acme} > 50%" },

  request = function(ctx)
    local tenant = tenants[ctx.rng:weighted(weights)]
    return {
      prompt = ctx.rng:words(5), max_tokens = 2,
      headers = { Authorization = "Bearer sk-" .. tenant.name, ["X-Tenant"] = tenant.name },
      tags = { tenant = tenant.name },
      slo = tenant.slo,
    }
  end,
}
