/* metrics.h -- what one worker accumulates, and how workers come together.
 * A worker owns one `metrics` and adds every record to it as it ends; the
 * main thread merges them when the workers are done. Requests are filed by
 * turn, stage and tags (cells.h), so that groups of them have figures too
 * (group.h).
 * Adding copies what it needs and allocates only when a block of 64 KiB is
 * full; it reads no clock. How records are split over workers never changes
 * the result.
 * Memory: 88 bytes a measured request, 8 bytes a gap up to METRICS_ITL_EXACT
 * gaps, then a histogram. */
#ifndef STOKE_STATS_METRICS_H
#define STOKE_STATS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/record.h"
#include "stats/slo.h"

/* Gaps that are kept exactly; beyond, <= 0.1 % error (hist.h). */
#define METRICS_ITL_EXACT 4000000

struct metrics;

struct metrics_config {
  uint64_t epoch_ns; /* time zero of the run; the same in every worker */
  struct slo slo;    /* of the run; a record's own limits go first */
};

struct metrics *metrics_new(const struct metrics_config *c);
void metrics_free(struct metrics *m);

/* Moves time zero: when the measured phase begins, which a warm-up delays.
 * Only while no measured record is in. */
void metrics_set_epoch(struct metrics *m, uint64_t epoch_ns);

/* One request has ended, in whatever way. Warm-up records are counted apart
 * and enter no figure. A record of the measured phase enters the figures
 * whenever it ended: during the drain too. */
void metrics_add(struct metrics *m, const struct record *r);

/* An arrival of the measured phase that was due and will never be sent
 * (dropped at the cap, or still waiting when the run ended). */
void metrics_unsent(struct metrics *m, uint64_t due_ns);

/* The measured window: from the start of the measured phase until sending
 * stopped. Tokens are counted as inside until end_ns, so call it at the
 * latest when sending stops, before records are added that ended later; a
 * planned end may be told at the start and moved when the run is cut short.
 * Never called, or end_ns 0: the window is first sent to last done. */
void metrics_window(struct metrics *m, uint64_t start_ns, uint64_t end_ns);

/* Adds `from`, which is empty afterwards and still has to be freed. Epochs
 * must agree. */
void metrics_merge(struct metrics *into, struct metrics *from);

/* Measured records so far. */
uint64_t metrics_count(const struct metrics *m);

#endif
