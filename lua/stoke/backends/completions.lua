-- Text completions, also in C.
return { path = "/v1/completions", body = "completions", dialect = "completions" }
