/* bench_ramp.h -- --ramp-up-strategy: exactly N arrivals under a rate that
 * grows. By our definition it grows in time, the last request leaving at its
 * end; by vLLM's with the number of the request, so that a "linear" ramp
 * spends most of its time at the bottom. Pure. */
#ifndef STOKE_CLI_BENCH_RAMP_H
#define STOKE_CLI_BENCH_RAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_ramp {
  bool exponential;  /* else linear */
  bool by_number;    /* vLLM's */
  double from, to;   /* requests a second; to > 0 */
  uint64_t n;        /* requests; at least 1 */
  double burstiness; /* gaps: 1 exponential, INFINITY constant, else gamma */
  uint64_t seed;
};

/* When the rate came past a whole number; ns from the start. */
struct bench_rate_change {
  uint64_t rps, at_ns;
};

struct bench_timetable {
  uint64_t *offsets; /* ns from the start, ascending; n of the ramp */
  struct bench_rate_change *changes;
  size_t n_changes;
};

/* Both arrays are the caller's. */
struct bench_timetable bench_ramp_make(const struct bench_ramp *r);

#endif
