/* summary.h -- the figures of a run, as plain data.
 * Built once from the merged metrics; everything that is shown or saved reads
 * it: the results file, the table, the notes under it, Lua's summary().
 * A figure that has no samples is NaN (JSON: null, terminal: n/a). Durations
 * are ms in latencies, seconds where the name ends in _s. */
#ifndef STOKE_STATS_SUMMARY_H
#define STOKE_STATS_SUMMARY_H

#include "stats/client.h"
#include "stats/errors.h"
#include "stats/metrics.h"
#include "stats/series.h"

/* X(ENUM, "name") in the order of the results file. */
#define FIGURE_LIST(X)                                                         \
  X(TTFT, "ttft")                                                              \
  X(TTFAT, "ttfat")                                                            \
  X(TTFB, "ttfb")                                                              \
  X(TPOT, "tpot")                                                              \
  X(ITL, "itl")                                                                \
  X(E2EL, "e2el")                                                              \
  X(QUEUE, "queue")                                                            \
  X(TTFT_DUE, "ttft_due")                                                      \
  X(E2EL_DUE, "e2el_due")

enum figure {
#define X(ENUM, name) FIGURE_##ENUM,
  FIGURE_LIST(X)
#undef X
      FIGURE_COUNT
};
const char *figure_name(enum figure f);

/* Percentiles that every latency has: p1 p5 p10 p25 p50 p75 p90 p95 p99 and
 * p99.9, named "p999". */
#define LATENCY_PERCENTILES 10
extern const double latency_percentiles[LATENCY_PERCENTILES];
extern const char *const latency_names[LATENCY_PERCENTILES];
#define LATENCY_P50 4
#define LATENCY_P99 8

#define USER_PERCENTILES_MAX 32

struct latency {
  uint64_t count;
  double mean, std, min, max; /* ms; std is the population's */
  double p[LATENCY_PERCENTILES];
  double user[USER_PERCENTILES_MAX]; /* as summary_config asked */
};

struct steady {
  bool found;
  double start_s, duration_s; /* from time zero */
  double in_flight;           /* the plateau */
  uint64_t completed;         /* that ended inside */
  double request_throughput, output_throughput;
};

struct finish_count {
  char reason[32];
  uint64_t count;
};
#define FINISH_MAX 16

struct summary_config {
  double percentiles[USER_PERCENTILES_MAX]; /* 0..100, for latency.user */
  size_t n_percentiles;
  double request_rate; /* asked; 0: closed loop, INFINITY: all at once */
  uint64_t series_interval_ns; /* 0: 1 s; doubled until <= 3,600 points */
};

struct summary {
  /* ---- requests ---- */
  uint64_t sent; /* = the sum of the outcomes */
  uint64_t outcomes[OUTCOME_COUNT];
  uint64_t completed; /* outcome ok */
  uint64_t cancelled;
  uint64_t failed; /* sent - completed - cancelled */
  uint64_t unsent;
  uint64_t warmup_sent, warmup_failed;
  struct errors errors; /* sorted */
  uint64_t retries;     /* attempts beyond the first */

  /* ---- figures of the run (README.md); NaN where undefined ---- */
  double start_s;    /* first sent, from time zero */
  double duration_s; /* first sent to last done */
  double window_s;
  double request_throughput, output_throughput, total_token_throughput;
  double window_output_throughput;
  bool slo; /* some request had one */
  uint64_t good, good_tokens;
  double request_goodput; /* per second */
  double token_goodput;   /* output tokens of good requests, per second */
  double good_share;      /* of all sent */
  uint64_t max_concurrent_requests;
  /* The highest rate over any stretch of peak_window_s or longer; that is 1 s,
   * or the whole run when it was shorter. Never below a mean over the run. */
  double max_output_tokens_per_s, peak_window_s;
  double capacity_rps; /* (n-1)/(last end - first end); NaN: n < 3 */
  struct steady steady;

  struct latency latency[FIGURE_COUNT];
  bool itl_exact;
  double percentiles[USER_PERCENTILES_MAX];
  size_t n_percentiles;
  struct hist hist[FIGURE_COUNT];
  struct latency connect; /* of requests that opened a connection */

  /* ---- tokens of completed requests ---- */
  uint64_t input_tokens, output_tokens, cached_tokens, reasoning_tokens;
  double audio_s; /* of sound that they sent */
  uint64_t output_sources[TOKEN_SOURCES], prompt_sources[TOKEN_SOURCES];
  uint64_t chunks;         /* payload events */
  double tokens_per_chunk; /* of streamed requests */
  double prefill_tokens_per_s;
  uint64_t planned_requests; /* that had a planned and a real prompt length */
  uint64_t planned_tokens, planned_actual_tokens; /* sums over those */
  int64_t planned_min, planned_max, actual_min, actual_max;

  /* ---- what the answers looked like ---- */
  uint64_t streamed, not_streamed; /* completed ones that asked for a stream */
  char content_type[96];           /* of one that was not */
  uint64_t no_token;     /* completed or empty, without a first token */
  uint64_t refusals;     /* requests with a refusal */
  uint64_t empty_length; /* finish "length" without any answer text */
  uint64_t bunched;      /* >= 8 events, all within 1 ms: buffered? */
  uint64_t many_events;  /* >= 8 events */
  struct finish_count finish[FINISH_MAX];
  size_t n_finish;
  uint64_t bytes_in, bytes_out;
  uint64_t inconsistent; /* records whose instants contradict: our bug */

  /* ---- over time ---- */
  double series_start_s, series_interval_s;
  size_t series_len;
  struct series_bucket *series; /* by interval */
  uint64_t *series_in_flight;   /* at the end of the interval */

  /* ---- per request, in the order of ids; NULL beyond 100,000 ---- */
  size_t n_requests;
  double *latencies_s, *queue_times_s; /* 0 where the request failed */

  /* ---- the client ---- */
  double planned_rps, achieved_rps; /* of the timetable, of the sends */
  uint64_t capped;
  struct latency send_lag; /* sent - due where no cap held it back */
  struct latency loop_lag;
  struct client client; /* loop_lag above; its hist is empty here */
  struct client_verdict verdict;
};

/* Fills *s from the merged metrics; both inputs stay as they are. `c` may be
 * NULL. Free with summary_deinit. */
void summary_build(struct summary *s, const struct metrics *m,
                   const struct client *c, const struct summary_config *cfg);
void summary_deinit(struct summary *s);

/* For metrics of what ended inside a window: what was counted there, over the
 * window's length and not from first sent to last done. */
void summary_over_window(struct summary *s);

/* Another window's figures on top of those of *s, as if both were one: counts,
 * what is counted a second, shares, and latencies from the histograms (within
 * 0.1 %). What has a place in time or a text (errors, peaks, series, the
 * client's account) stays that of *s. */
void summary_merge(struct summary *s, const struct summary *other);

/* A sorted list of ns likewise. */
struct latency latency_of(const struct summary *s, const double *ns, size_t n);
/* A histogram of ns as a latency, with the summary's own percentiles. */
struct latency latency_of_hist(const struct summary *s, const struct hist *h);

/* completed / sent; NaN when nothing was sent. Cancelled ones, which nobody
 * judged, are left out of both. */
double summary_success_rate(const struct summary *s);

#endif
