/* arrival.h -- when the requests of a stage should leave.
 * Pure: no clock, no I/O. Every worker walks the same seeded sequence and
 * takes its share, so the thread count never changes the timetable.
 *
 * A process with a changing rate is one with rate 1 in a time of its own:
 * Lambda(t), the integral of the rate, says how far that time has come, and
 * gaps are drawn there and carried back (Cinlar 1975). Exact for Poisson
 * arrivals, without thinning; for the others the gaps keep their shape.
 *
 *   constant  one arrival per unit, the first at once
 *   poisson   exponential gaps with mean 1; the first gap comes first
 *   gamma     gaps with shape `burstiness` and mean 1 (the coefficient of
 *             variation is 1/sqrt(burstiness): below 1 burstier than Poisson)
 *   rate inf  all at the start
 *
 * When the number of requests is known, no duration bounds the stage and the
 * rate does not change, the random kinds are scaled so that the last request
 * leaves at n / rate, as `vllm bench serve` does: given that the n-th arrival
 * of a Poisson process falls there, the others are distributed exactly so.
 * The achieved rate then is the asked one, not one that luck moved by
 * 1/sqrt(n). */
#ifndef STOKE_CORE_ARRIVAL_H
#define STOKE_CORE_ARRIVAL_H

#include "base/rng.h"
#include "core/config.h"

struct arrival {
  const struct stage *stage; /* borrowed */
  struct rng rng;
  enum arrival_kind kind;
  double duration_s; /* INFINITY: no end */
  double shape, scale;
  double units; /* Lambda at the last arrival, unscaled */
  uint64_t index;
};

/* `number` of the stage: each has a random stream of its own. */
void arrival_init(struct arrival *a, const struct stage *s, uint64_t seed,
                  uint64_t number);
/* The next offset from the stage's start, ns, never smaller than the one
 * before. False: the stage has no more. */
bool arrival_next(struct arrival *a, uint64_t *offset_ns);

/* When the integral of the ramp over `duration` (finite) reaches `units`; what
 * lies beyond the duration means nothing but "later", INFINITY never. */
double ramp_inverse(const struct ramp *r, double duration, double units);
/* A gap in units of mean 1, of the stage's kind. */
double arrival_gap(struct arrival *a);
/* A ramp's value at `t` of `duration` (same unit; a stage without an end stays
 * at `from`). */
double ramp_at(const struct ramp *r, double t, double duration);

#endif
