/* sched.h -- what one worker starts next, and when.
 * Pure: time comes in as an argument. Stages are entered in turn; worker w of
 * n takes the items w, w+n, w+2n … of a stage's sequence, and slots and caps
 * are shared out the same way.
 *
 * Closed loop: an item is due the moment its slot became free. Open loop: an
 * item is due when the timetable says so; where a cap holds it back it waits
 * in timetable order (its `due` stays, `capped` is set), also into the stages
 * that follow, or is dropped. */
#ifndef STOKE_CORE_SCHED_H
#define STOKE_CORE_SCHED_H

#include "core/arrival.h"

struct sched_item {
  uint64_t id;     /* 1, 2, 3 … over all workers */
  uint64_t due_ns; /* absolute */
  uint16_t stage;
  bool capped; /* a cap made it wait */
};

enum sched_verdict {
  SCHED_START, /* *item is to be started now */
  SCHED_DROP,  /* *item was due, met the cap, and will never start */
  SCHED_WAIT,  /* nothing now; look again at *wake_ns (0: when one ends) */
  SCHED_OVER,  /* the stage has nothing more to start */
};

/* An open-loop stage's sequence, as far as this worker has walked it. */
struct sched_lane {
  struct stage stage;
  struct arrival arrival;
  uint16_t number;
  uint64_t t0_ns, end_ns; /* of the stage; end 0: none */
  uint64_t base;          /* ids of the stage are base + 1 … */
  uint64_t arrived;       /* drawn from the sequence so far */
  uint64_t offset_ns;     /* of the last one drawn */
  uint64_t taken;         /* of this worker's share */
  uint64_t before;        /* of those, in closed stages before this one */
  bool drawn; /* the last one drawn is this worker's and not yet taken */
  bool dry;   /* the sequence has no more */
};

struct sched {
  uint64_t seed;
  unsigned worker, workers;
  struct sched_lane lane;  /* the current stage */
  struct sched_lane *late; /* earlier stages whose items a cap holds back */
  size_t n_late;
  bool open, stopped, held;
  uint64_t limit;   /* items of the whole run of this worker's; or ~0 */
  uint64_t started; /* of those */
  uint64_t in_flight, prefill; /* prefill: no first token yet */

  /* Closed loop: when the slots that were freed may start again, in order.
   * Slots beyond those never had anything. */
  uint64_t *freed_ns;
  size_t n_freed, freed_cap;
};

/* `limit`: items of the whole run over all workers; 0: no bound. Free with
 * sched_deinit. */
void sched_init(struct sched *s, uint64_t seed, unsigned worker,
                unsigned workers, uint64_t limit);
void sched_deinit(struct sched *s);
/* The stage `number` begins at t0_ns. What the one before still holds back
 * stays in line. `stage` is copied (what it points to is borrowed). */
void sched_enter(struct sched *s, const struct stage *stage, uint16_t number,
                 uint64_t t0_ns);
enum sched_verdict sched_next(struct sched *s, uint64_t now_ns,
                              struct sched_item *item, uint64_t *wake_ns);
/* An item that was started has its first token, or ended without one; once
 * per item. */
void sched_prefilled(struct sched *s);
/* An item that was started has ended; due_ns was the item's. */
void sched_ended(struct sched *s, uint64_t now_ns, uint64_t due_ns);
/* When sending ends early: the next item of the timetable that was due before
 * `now_ns` and now never starts. False: no more. */
bool sched_unsent(struct sched *s, uint64_t now_ns, uint64_t *due_ns);
/* No new items from now on. */
void sched_stop(struct sched *s);
/* Worker w's share of `total` slots. */
uint64_t sched_share(uint64_t total, unsigned worker, unsigned workers);

#endif
