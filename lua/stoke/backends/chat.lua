-- Chats as OpenAI, vLLM and most servers speak them. Bodies and answers are
-- known in C (script/body.c, net/dialect_builtin.c).
return { path = "/v1/chat/completions", body = "chat", dialect = "chat" }
