/* hist.h -- log-linear histogram of ns that can be merged.
 * Values below 2^HIST_BITS ns have a bucket each; above, every power of two
 * is cut into 2^HIST_BITS buckets, so that the middle of a bucket is within
 * 0.05 % of every value in it. Values of HIST_LIMIT_NS (19.5 hours) and more
 * are counted as overflow, never clamped into a bucket. Count, sum, sum of
 * squares, min and max are exact; sums are integers, so that merging in any
 * order gives the same result. Memory is taken per power of two in use. */
#ifndef STOKE_STATS_HIST_H
#define STOKE_STATS_HIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

#define HIST_BITS     10
#define HIST_OCTAVES  37
#define HIST_LIMIT_NS (UINT64_C(1) << (HIST_BITS + HIST_OCTAVES - 1))

/* A zeroed hist is a valid empty one. */
struct hist {
  uint64_t *octave[HIST_OCTAVES]; /* NULL or 2^HIST_BITS counts */
  uint64_t count, overflow, min, max;
  unsigned __int128 sum, sum2;
};

void hist_deinit(struct hist *h);
void hist_add(struct hist *h, uint64_t ns);
void hist_merge(struct hist *into, const struct hist *from);
/* ns at percentile p (0..100), by linear interpolation at p/100 * (n - 1);
 * NaN when empty. What lies in the overflow is taken as max. */
double hist_percentile(const struct hist *h, double p);
/* ns by which samples exceed `above_ns`, all together, but for the largest
 * `spared` of them. */
double hist_excess(const struct hist *h, uint64_t above_ns, uint64_t spared);
/* ns; NaN when empty. std is the population's. */
double hist_mean(const struct hist *h);
double hist_std(const struct hist *h);

/* The mergeable form:
 *   {"unit":"ns","bits":10,"count":n,"sum":s,"min":a,"max":b,"overflow":o,
 *    "buckets":[[lower,width,count], …]}
 * with the buckets that are not empty: values lower <= x < lower + width. */
void hist_write(const struct hist *h, struct json_writer *w);

#endif
