/* concurrency.h -- how many were in flight, by a sweep over starts and ends.
 * Where one ends at the instant at which another starts, the end goes first:
 * a slot that is filled again never counts twice. Pure. */
#ifndef STOKE_STATS_CONCURRENCY_H
#define STOKE_STATS_CONCURRENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct concurrency {
  uint64_t max;
  /* The median of the number in flight, weighted by time: what a run that
   * holds its load has most of the time, whatever its ramp and tail. */
  uint64_t plateau;
  /* From the first time that 95 % of the plateau were in flight until that
   * many last were; false: there was no plateau. */
  bool steady;
  double from, to;
};

/* `starts` and `ends` are sorted, in any one unit, n of each. */
struct concurrency concurrency_sweep(const double *starts, const double *ends,
                                     size_t n);

#endif
