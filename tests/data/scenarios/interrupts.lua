-- A user who interrupts: what came so far stays in the history, as in chat windows.
return {
  params = { pause = { default = "uniform(0, 20ms)", type = "dist" } },
  load = { num_sessions = 6, max_concurrency = 3 },

  session = function(s)
    local chat = s:conversation { system = "Be long-winded." }
    local r = chat:ask("Tell me a story.", { max_tokens = 50, cancel_after = { tokens = 3 } })
    assert(r.outcome == "cancelled" and r.error == "the scenario hung up", r.error)
    chat:add("assistant", r.text)
    s:think(s.params.pause)
    s:check("shorter", chat:ask("Stop. Shorter.", { max_tokens = 4 }).ok)
    s:sleep("exp(1ms)")
    chat:ask("Thanks.", { max_tokens = 2 })
    assert(#chat.messages == 7)
  end,
}
