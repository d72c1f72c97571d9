/* trend.h -- a histogram of any finite numbers, that can be merged.
 * hist.h is for ns; a script's values may be negative, fractions, or of any
 * size. Every power of two is cut into 1,024 buckets, on both sides of zero,
 * so the middle of a bucket is within 0.05 % of every value in it; where all
 * values were whole numbers, so are the percentiles' neighbours. Count,
 * min and max are exact, mean and std as good as a double can be. Memory is
 * taken per power of two in use, 8 KiB each. */
#ifndef STOKE_STATS_TREND_H
#define STOKE_STATS_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/sum.h"

struct trend_octave;

/* A zeroed one is valid and empty. */
struct trend {
  struct trend_octave **list; /* ascending */
  size_t n, last;
  uint64_t count;
  bool fractions; /* some value was no whole number */
  double min, max;
  struct sum sum, squares;
};

void trend_deinit(struct trend *t);
/* x must be finite. */
void trend_add(struct trend *t, double x);
void trend_merge(struct trend *into, const struct trend *from);
/* At percentile p (0..100), by linear interpolation at p/100 * (n - 1); NaN
 * when empty. */
double trend_percentile(const struct trend *t, double p);
double trend_mean(const struct trend *t);
double trend_std(const struct trend *t); /* of the population */

#endif
