/* threshold.h -- "ttft{class=long}.p99 < 2s": one line that a run must hold.
 * Pure: text in, plain data out. judge.h looks the figure up.
 *
 *   METRIC[{NAME=VALUE,…}][.STATISTIC] OPERATOR NUMBER[UNIT] [abort [after T]]
 *
 * METRIC is a latency (with a statistic: mean min max std count med pNN), a
 * value of THRESHOLD_VALUES, the name of an outcome (its count), `checks`,
 * `check{NAME}`, `sessions`, or a metric of the scenario's. Braces choose
 * requests (filter.h). Latencies want a unit (s, ms, us); shares are 5% or
 * 0.05. `abort`: a run that breaks it is stopped, but not before T. */
#ifndef STOKE_STATS_THRESHOLD_H
#define STOKE_STATS_THRESHOLD_H

#include <stdint.h>

#include "base/err.h"
#include "stats/custom.h"
#include "stats/filter.h"

/* Values of the run, or of the requests that a filter chooses.
 * X(ENUM, "name", is a share) */
#define THRESHOLD_VALUES(X)                                                    \
  X(ERROR_RATE, "error_rate", true) /* failed / (completed + failed) */        \
  X(SUCCESS_RATE, "success_rate", true)                                        \
  X(GOOD_SHARE, "good_share", true) /* within their SLOs, of all sent */       \
  X(REQUEST_THROUGHPUT, "request_throughput", false)                           \
  X(OUTPUT_THROUGHPUT, "output_throughput", false)                             \
  X(TOTAL_TOKEN_THROUGHPUT, "total_token_throughput", false)                   \
  X(REQUEST_GOODPUT, "request_goodput", false)                                 \
  X(SENT, "sent", false)                                                       \
  X(COMPLETED, "completed", false)                                             \
  X(FAILED, "failed", false)                                                   \
  X(INPUT_TOKENS, "input_tokens", false)                                       \
  X(OUTPUT_TOKENS, "output_tokens", false)

enum threshold_value {
#define X(ENUM, name, share) VALUE_##ENUM,
  THRESHOLD_VALUES(X)
#undef X
      VALUE_COUNT
};

enum subject {
  SUBJECT_FIGURE,   /* which: enum figure */
  SUBJECT_VALUE,    /* enum threshold_value */
  SUBJECT_OUTCOME,  /* enum outcome */
  SUBJECT_CHECKS,   /* all, or the one called `check` */
  SUBJECT_SESSIONS, /* counts */
  SUBJECT_DURATION, /* of sessions; which 0: whole, 1: without thinking */
  SUBJECT_CUSTOM,   /* the place in custom->metrics */
};

/* X(ENUM, "name") */
#define STATISTIC_LIST(X)                                                      \
  X(MEAN, "mean")                                                              \
  X(MIN, "min")                                                                \
  X(MAX, "max")                                                                \
  X(STD, "std")                                                                \
  X(COUNT, "count")                                                            \
  X(PERCENTILE, "pNN") /* med and median too */                                \
  X(SUM, "sum")                                                                \
  X(RATE, "rate")                                                              \
  X(VALUE, "value")                                                            \
  X(PASSED, "passed")                                                          \
  X(STARTED, "started")                                                        \
  X(COMPLETED, "completed")                                                    \
  X(FAILED, "failed")                                                          \
  X(CUT, "cut")                                                                \
  X(TURNS, "turns")                                                            \
  X(SKIPPED, "turns_skipped")                                                  \
  X(MAX_TURNS, "max_turns")

enum statistic {
#define X(ENUM, name) STATISTIC_##ENUM,
  STATISTIC_LIST(X)
#undef X
      STATISTIC_NONE
};

enum comparison { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL };

/* What a value is made of. */
enum quantity {
  QUANTITY_TIME,   /* ns */
  QUANTITY_SHARE,  /* 0 .. 1 */
  QUANTITY_NUMBER, /* counts, rates, a script's numbers; its times in s */
};

struct threshold {
  char *text; /* as typed, the flags too */
  enum subject subject;
  int which;
  char check[CHECK_NAME + 1]; /* "": all of them */
  struct filter filter;
  enum statistic statistic;
  double percentile;
  enum comparison comparison;
  enum quantity quantity;
  double limit; /* ns, a share, or a number */
  char unit[4]; /* as typed: "ms", "%", "" */
  bool abort;
  uint64_t grace_ns;
};

/* Read one. `custom` has the declarations of the scenario. 0, or -1 with a
 * message that begins with `place`, and *t empty. */
int threshold_parse(struct threshold *t, struct str text,
                    const struct custom *custom, const char *place,
                    struct err *e);
void threshold_deinit(struct threshold *t);
/* NaN holds nowhere. */
bool threshold_holds(const struct threshold *t, double value);
/* A value or the limit in the unit that was typed. */
double threshold_in_unit(const struct threshold *t, double value);
/* Is this the name of a figure of ours? */
bool threshold_is_own(struct str name);

/* The thresholds of a run. A zeroed one is valid and empty. */
struct thresholds {
  struct threshold *list;
  size_t n;
};

/* Read and append; as threshold_parse. */
int thresholds_add(struct thresholds *all, struct str text,
                   const struct custom *custom, const char *place,
                   struct err *e);
/* Let *c keep what their filters choose of its metrics. */
void thresholds_add_parts(const struct thresholds *all, struct custom *c);
/* A line each; blank lines and what follows a # are skipped. */
int thresholds_add_lines(struct thresholds *all, struct str text,
                         const struct custom *custom, const char *file,
                         struct err *e);
void thresholds_deinit(struct thresholds *all);

#endif
