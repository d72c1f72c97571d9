/* engine.h -- who is served when: gate, waiting line, slots, decode steps.
 *
 * Without steps each running request keeps its own time (the plan's TTFT and
 * ITL) and holds a slot from its start to its last token. With steps the
 * server works like a batching engine: one step at a time, in which every
 * running request makes one event; free slots are filled before each step.
 * A step takes
 *     step + step_each * (running requests)
 *          + prefill * (prompt tokens, not cached, of those that just came in)
 * and the next begins when it should have ended, so that a late server
 * catches up instead of losing capacity. See mock_capacity for what follows.
 * Knows neither sockets nor bytes. */
#ifndef STOKE_MOCK_ENGINE_H
#define STOKE_MOCK_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mock/deadline.h"

struct mock_engine_config {
  uint64_t slots;      /* 0: no limit */
  int64_t queue;       /* places in the waiting line; -1: no limit */
  uint64_t hold_until; /* hold all until so many are in; 0: no gate */
  uint64_t step_ns, step_each_ns; /* both 0: no steps */
  uint64_t prefill_ns;            /* a prompt token */
};

/* Embedded by a request; zeroed is "outside". */
struct mock_job {
  struct list node;
  enum { MOCK_OUTSIDE, MOCK_HELD, MOCK_WAITING, MOCK_RUNNING } place;
  uint64_t prefill_tokens;
  bool fresh; /* its prompt is worked on in this step */
  /* It got its slot, at this time. */
  void (*start)(struct mock_job *j, uint64_t at);
  /* It may make an event, due at this time. Only with steps. */
  void (*step)(struct mock_job *j, uint64_t at);
};

struct mock_engine {
  struct mock_engine_config config;
  struct mock_deadlines *deadlines;
  struct mock_deadline turn; /* end of a step; or: a slot became free */
  struct list held, waiting, running;
  uint64_t held_count, waiting_count, running_count;
  bool open;     /* the gate */
  bool stepping; /* a step is under way, until `turn` */
};

void mock_engine_init(struct mock_engine *e, const struct mock_engine_config *c,
                      struct mock_deadlines *deadlines);
static inline bool mock_engine_steps(const struct mock_engine *e)
{
  return e->config.step_ns || e->config.step_each_ns;
}

/* Take a job in (start may be called at once). Returns false when the waiting
 * line is full. */
bool mock_engine_enter(struct mock_engine *e, struct mock_job *j, uint64_t now);
/* The job is done or given up; fine for one that is outside. */
void mock_engine_leave(struct mock_engine *e, struct mock_job *j);

/* Requests a second that the engine can finish for ever, all slots busy, for
 * requests of `prompt` uncached prompt tokens and `events` events:
 *   with steps      1 / (prefill*prompt + events * (step/slots + step_each))
 *   without         slots / (ttft + prefill*prompt + itl * (events - 1))
 * (times in seconds, ttft and itl their means). INFINITY without slots. */
double mock_capacity(const struct mock_engine_config *c, double ttft_ns,
                     double itl_ns, double prompt, double events);

#endif
