/* metrics_data.h -- the inside of `struct metrics`, for metrics.c and the
 * summary. Others use metrics.h.
 * Everything in it is a list, an integer or a minimum, so that merging in any
 * order gives the same data up to the order of the lists, and the summary
 * sorts those. */
#ifndef STOKE_STATS_METRICS_DATA_H
#define STOKE_STATS_METRICS_DATA_H

#include "stats/cells.h"
#include "stats/column.h"
#include "stats/errors.h"
#include "stats/hist.h"
#include "stats/metrics.h"
#include "stats/series.h"
#include "stats/summary.h"

/* What is kept of a measured request. Figures in ns, NaN where null; they are
 * whole numbers below 2^53, so double holds them exactly. */
struct metrics_row {
  uint64_t id, due_ns, sent_ns, done_ns;
  double ttft, ttfat, ttfb, tpot, e2el;
  uint32_t tokens, prompt_tokens; /* 0: not known; saturate */
  uint16_t cell;                  /* what it is filed under: cells.h */
  uint8_t outcome;
  bool capped, good; /* good: within its SLOs */
};

/* Sums; all of one type, so that merging is a loop. "Completed" means with
 * outcome ok. */
struct metrics_counts {
  uint64_t outcomes[OUTCOME_COUNT];
  uint64_t unsent, warmup_sent, warmup_failed, inconsistent;
  uint64_t retries, capped, bytes_in, bytes_out;
  uint64_t window_tokens; /* arrived inside the window, of any outcome */
  uint64_t tokens_arrived;
  /* of completed requests */
  uint64_t input_tokens, output_tokens, cached_tokens, reasoning_tokens;
  uint64_t audio_ns; /* of sound that was sent */
  uint64_t output_sources[TOKEN_SOURCES], prompt_sources[TOKEN_SOURCES];
  uint64_t chunks, chunk_tokens;       /* of the streamed among them */
  uint64_t prefill_tokens, prefill_ns; /* the same, with both known */
  uint64_t streamed, not_streamed;     /* that asked for a stream */
  uint64_t refusals, empty_length, bunched, many_events;
  uint64_t no_token; /* completed or empty */
  uint64_t planned_requests, planned_tokens, planned_actual_tokens;
  uint64_t slo_requests, good, good_tokens;
};

struct metrics {
  struct metrics_config config;
  uint64_t window_start_ns, window_end_ns;
  struct metrics_counts counts;
  int64_t planned_min, planned_max, actual_min, actual_max;
  uint64_t unsent_due_ns; /* the latest due of what was never sent */
  struct column rows;     /* struct metrics_row */
  struct column gaps;     /* uint64_t ns; empty once there were too many */
  uint64_t itl_count;     /* gaps in all cells */
  struct hist connect;
  struct cells cells; /* with the histograms of gaps */
  struct series series;
  struct errors errors;
  struct finish_count finish[FINISH_MAX];
  size_t n_finish;
  uint64_t content_type_id; /* of the record that it was taken from */
  char content_type[96];
};

#endif
