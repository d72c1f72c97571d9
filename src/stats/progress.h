/* progress.h -- how far a run is, small enough to be sent around.
 * Plain data of fixed size: a worker keeps one, counts as it goes, and posts
 * copies of it; the main thread adds the copies up. For the live screen only:
 * percentiles are within 3 %. All counts are cumulative, measured phase. */
#ifndef STOKE_STATS_PROGRESS_H
#define STOKE_STATS_PROGRESS_H

#include <stdint.h>

#include "stats/record.h"

#define PROGRESS_BUCKETS 704

struct progress {
  uint64_t sent;   /* the worker counts this one when it sends … */
  uint64_t tokens; /* … and this one at every payload event */
  uint64_t done, failed, cancelled; /* by progress_ended */
  uint32_t ttft[PROGRESS_BUCKETS];
};

void progress_ended(struct progress *p, const struct record *r);
void progress_merge(struct progress *into, const struct progress *from);
/* ms; NaN when there is none. */
double progress_ttft_ms(const struct progress *p, double percentile);

#endif
