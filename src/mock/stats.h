/* stats.h -- the server's counters, and how late its own writes are.
 * Lateness is the time from the instant an event was due to the instant it
 * was written: a measurement made while it is large says nothing about the
 * client. */
#ifndef STOKE_MOCK_STATS_H
#define STOKE_MOCK_STATS_H

#include <stdint.h>

#include "base/buf.h"

/* Buckets of 1/8 octave from 1 us up; the first holds what is below. */
#define MOCK_LATE_BUCKETS 256

struct mock_late {
  uint64_t count, max_ns;
  uint64_t buckets[MOCK_LATE_BUCKETS];
};

void mock_late_add(struct mock_late *l, uint64_t ns);
/* The upper edge of the bucket in which the share `q` of events lies, never
 * above max_ns; 0 without events. At most 9 % too large. */
uint64_t mock_late_quantile(const struct mock_late *l, double q);

struct mock_stats {
  uint64_t start_ns;
  uint64_t connections, open, peak_open;
  uint64_t requests;                  /* of any path */
  uint64_t generations;               /* chat and completions */
  uint64_t in_flight, peak_in_flight; /* generations */
  uint64_t rejected;                  /* for want of a place in the line */
  uint64_t aborted;                   /* the client went away */
  uint64_t finished_stop, finished_length, finished_error;
  uint64_t prompt_tokens, cached_tokens, generation_tokens;
  uint64_t bytes_in, bytes_out;
  struct mock_late late;
};

/* The exposition text of /metrics, with vLLM's names. */
void mock_stats_metrics(const struct mock_stats *s, const char *model,
                        uint64_t running, uint64_t waiting, struct buf *out);
/* The JSON of /stats. */
void mock_stats_json(const struct mock_stats *s, uint64_t running,
                     uint64_t waiting, uint64_t now_ns, struct buf *out);

#endif
