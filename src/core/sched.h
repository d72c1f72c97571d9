/* sched.h -- what one worker starts next, and when.
 * Pure: time comes in as an argument. Worker w of n takes the items w, w+n,
 * w+2n … of one sequence; concurrency and caps are shared out the same way.
 *
 * Closed loop (request_rate 0): `max_concurrency` slots; an item is due the
 * moment its slot became free. Open loop: an item is due when the timetable
 * says so; where a cap holds it back it waits (its `due` stays, `capped` is
 * set) in timetable order. */
#ifndef STOKE_CORE_SCHED_H
#define STOKE_CORE_SCHED_H

#include "core/arrival.h"

struct sched_item {
  uint64_t id;     /* 1, 2, 3 … over all workers */
  uint64_t due_ns; /* absolute */
  bool capped;     /* a cap made it wait */
};

enum sched_verdict {
  SCHED_START, /* *item is to be started now */
  SCHED_WAIT,  /* nothing now; look again at *wake_ns (0: when one ends) */
  SCHED_OVER,  /* nothing will come any more */
};

struct sched {
  struct arrival arrival;
  bool open, stopped;
  unsigned worker, workers;
  uint64_t slots; /* this worker's share of the cap; 0: none */
  uint64_t in_flight;
  uint64_t index;         /* next item of this worker's share */
  uint64_t limit;         /* items over all workers; UINT64_MAX: none */
  uint64_t t0_ns, end_ns; /* end 0: none */
  uint64_t offset_ns;     /* of the item at `index`, open loop */
  uint64_t arrived;       /* arrivals drawn from the sequence so far */
  bool drawn;             /* offset_ns holds the item's */
  bool held;              /* the cap held the next item back */
  uint64_t *freed_ns;     /* closed loop: when each free slot became free */
  uint64_t freed_head, freed_count;
};

/* Items start at t0_ns. `load` needs request_rate > 0 or max_concurrency
 * > 0. Free with sched_deinit. */
void sched_init(struct sched *s, const struct load *load, uint64_t seed,
                unsigned worker, unsigned workers, uint64_t t0_ns);
void sched_deinit(struct sched *s);
enum sched_verdict sched_next(struct sched *s, uint64_t now_ns,
                              struct sched_item *item, uint64_t *wake_ns);
/* An item that was started has ended. */
void sched_ended(struct sched *s, uint64_t now_ns);
/* When sending ends early: the next item of the timetable that was due before
 * `now_ns` (and before the end) and now never starts. False: no more. Only a
 * finite rate has a timetable. */
bool sched_unsent(struct sched *s, uint64_t now_ns, uint64_t *due_ns);
/* No new items from now on. */
void sched_stop(struct sched *s);
/* Worker w's share of `total` slots. */
uint64_t sched_share(uint64_t total, unsigned worker, unsigned workers);

#endif
