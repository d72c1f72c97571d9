/* arrival.h -- when requests should leave: one seeded sequence of offsets.
 * Pure: no clock, no I/O. Every worker walks the same sequence and takes its
 * share, so the thread count never changes the timetable.
 *
 *   constant  i / rate, the first at 0
 *   poisson   exponential gaps with mean 1 / rate; the first gap comes first
 *   gamma     gaps with shape `burstiness` and mean 1 / rate (CV is
 *             1/sqrt(burstiness): below 1 burstier than Poisson)
 *   rate inf  all at 0
 *
 * When the number of requests is known and no duration bounds the run, the
 * random kinds are scaled so that the last request leaves at n / rate, as
 * `vllm bench serve` does: given that the n-th arrival of a Poisson process
 * falls there, the others are distributed exactly so. The achieved rate then
 * is the asked one, not one that luck moved by 1/sqrt(n). */
#ifndef STOKE_CORE_ARRIVAL_H
#define STOKE_CORE_ARRIVAL_H

#include "base/rng.h"
#include "core/config.h"

struct arrival {
  struct rng rng;
  enum arrival_kind kind;
  double rate, shape;
  double scale; /* of the random kinds, see above */
  double at_s;  /* the last offset, unscaled */
  uint64_t index;
};

/* request_rate > 0 (INFINITY allowed). */
void arrival_init(struct arrival *a, const struct load *load, uint64_t seed);
/* The next offset from time zero, ns; never smaller than the one before. */
uint64_t arrival_next(struct arrival *a);

#endif
