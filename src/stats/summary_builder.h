/* summary_builder.h -- shared by the files that build a summary. */
#ifndef STOKE_STATS_SUMMARY_BUILDER_H
#define STOKE_STATS_SUMMARY_BUILDER_H

#include <math.h>

#include "base/clock.h"
#include "stats/metrics_data.h"

/* What the building needs besides the summary itself. */
struct builder {
  struct summary *s;
  const struct metrics *m;
  const struct summary_config *config;
  uint64_t first_sent, last_sent, first_due, last_due, last_done; /* ns */
  double *values; /* scratch: one number a row */
};

/* Walks the rows: `row` is each in turn. */
#define EACH_ROW(m, row)                                                       \
  for (const struct column_block *block_ = (m)->rows.first; block_;            \
       block_ = block_->next)                                                  \
    for (const struct metrics_row *row = (const void *)block_->items,          \
                                  *end_ = row + block_->len;                   \
         row < end_; row++)

/* NaN where there is nothing to divide by. */
static inline double ratio(double a, double b)
{
  return b > 0 ? a / b : NAN;
}

/* How long it waited after it was due, ns. */
static inline double queue_of(const struct metrics_row *row)
{
  return (double)ns_since(row->due_ns, row->sent_ns);
}

/* A figure of a row in ns, NaN where it is null; not FIGURE_ITL. */
double row_figure(const struct metrics_row *row, enum figure f);
/* Of sorted ns, with the summary's own percentiles. */
/* All gaps, sorted, for the caller to free; NULL when they were too many. */
double *metrics_gaps(const struct metrics *m, size_t *n);

/* summary_time.c: duration, window, rates, peaks, concurrency, series and the
 * list of requests. build_instants goes first. */
void build_instants(struct builder *b);
void build_time(struct builder *b);

#endif
