/* series.h -- counts over time, in buckets of constant memory.
 * Buckets start at 125 ms and double their width when the run outgrows
 * SERIES_MAX of them (after 2.3 hours), so that every width divides the
 * whole seconds that a report shows. Widths depend on the latest instant
 * alone and counts are integers: merging in any order gives the same. */
#ifndef STOKE_STATS_SERIES_H
#define STOKE_STATS_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define SERIES_MAX      65536
#define SERIES_WIDTH_NS UINT64_C(125000000)

enum series_kind {
  SERIES_DUE,
  SERIES_SENT,
  SERIES_DONE,   /* succeeded */
  SERIES_FAILED, /* and cancelled: in flight no more */
  SERIES_TOKENS,
  SERIES_KINDS
};

struct series_bucket {
  uint64_t n[SERIES_KINDS];
};

struct series {
  uint64_t epoch_ns; /* start of bucket 0 */
  uint64_t width_ns;
  struct series_bucket *buckets;
  size_t len, cap;
};

void series_init(struct series *s, uint64_t epoch_ns);
void series_deinit(struct series *s);
/* Instants before the epoch count in bucket 0. */
void series_add(struct series *s, enum series_kind kind, uint64_t at_ns,
                uint64_t n);
/* Both have the same epoch. */
void series_merge(struct series *into, const struct series *from);
/* Double the width of the buckets until it is at least width_ns. */
void series_coarsen(struct series *s, uint64_t width_ns);
/* The highest rate (per second) of `kind` over any run of buckets that lasts
 * `window_ns` or longer; 0 when the series is shorter. */
double series_peak(const struct series *s, enum series_kind kind,
                   uint64_t window_ns);
/* The count in [from_ns, to_ns); buckets at the edges count by their share. */
double series_between(const struct series *s, enum series_kind kind,
                      uint64_t from_ns, uint64_t to_ns);

#endif
