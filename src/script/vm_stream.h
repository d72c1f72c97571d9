/* vm_stream.h -- the hooks that run while an answer streams in.
 * They run per token, so all that a call into Lua costs besides is paid once
 * for all the events of one read: they are collected first, and then a loop
 * in Lua, which LuaJIT compiles together with the hook, goes over them. What
 * the hooks see of each is as if it had just arrived. */
#ifndef STOKE_SCRIPT_VM_STREAM_H
#define STOKE_SCRIPT_VM_STREAM_H

#include "script/vm.h"

/* Events that are shown in one go, at most, and so many as long as it isn't
 * known what the hooks take. */
enum { VM_EVENTS_MAX = 256, VM_EVENTS_FIRST = 16 };

/* Of a lot of events: all of them, one behind the other, and where each one's
 * ends, in a place that they begin at `start` of. */
struct vm_texts {
  struct str all;
  const size_t *ends;
  size_t start;
};

struct vm_events {
  const struct response *response;
  unsigned n;      /* 1 to VM_EVENTS_MAX */
  uint32_t before; /* events of the answer before these; 0: on_first_token */
  /* Make *response say what was known when event i (from 0) arrived. Before
   * a hook reads it, and only then. It neither allocates nor fails. */
  void (*show)(unsigned i, void *ud);
  /* The same for the texts so far, besides. */
  void (*show_text)(unsigned i, void *ud);
  /* The events' own texts. Asked once at most, and only for a hook that takes
   * them: then of every lot of an answer's events, in their order. */
  struct vm_texts (*texts)(void *ud);
  void *ud;
};

/* Run the scenario's on_first_token(r) and on_chunk(r, text) for them. VM_OK,
 * or VM_END (on_chunk returned false: hang up) or VM_FAILED (the request's
 * outcome is `script`, vm_error says why). *at is the last event that was
 * shown; after VM_OK they all were. */
enum vm_result vm_stream(struct vm *vm, const struct vm_events *e,
                         unsigned *at);

#endif
