/* custom.h -- what a scenario measures by itself: metrics that it declared,
 * and checks. A worker has one of its own, and the main thread's VM too; they
 * are merged at the end, and whatever was recorded is counted exactly once.
 * Records of the warm-up never get here. */
#ifndef STOKE_STATS_CUSTOM_H
#define STOKE_STATS_CUSTOM_H

#include "base/err.h"
#include "base/json.h"
#include "stats/filter.h"
#include "stats/trend.h"

/* X(ENUM, "name") */
#define CUSTOM_KIND_LIST(X)                                                    \
  X(COUNTER, "counter") /* a sum that only grows */                            \
  X(GAUGE, "gauge")     /* the latest value, the least, the greatest */        \
  X(RATE, "rate")       /* the share of true among booleans */                 \
  X(TREND, "trend")     /* a distribution of numbers */

enum custom_kind {
#define X(ENUM, name) CUSTOM_##ENUM,
  CUSTOM_KIND_LIST(X)
#undef X
      CUSTOM_KINDS
};
const char *custom_kind_name(enum custom_kind k);

struct custom_metric {
  char *name;
  enum custom_kind kind;
  uint64_t count;    /* of records */
  uint64_t passed;   /* rate */
  struct sum sum;    /* counter */
  double value;      /* gauge; the latest by the clock … */
  uint64_t value_ns; /* … monotonic */
  double min, max;   /* gauge */
  struct trend trend;
  bool parted; /* it has parts */
};

/* A metric's records that a threshold's filter chooses. */
struct custom_part {
  size_t of; /* place in the metrics */
  struct filter filter;
  struct custom_metric metric; /* named "calls{class=long}" */
};

/* Checks have names of the script's own making; beyond this many, the rest
 * share the last one, "(other)". */
#define CHECKS_MAX 256
#define CHECK_NAME 160

struct custom_check {
  char *name;
  uint64_t passed, failed;
};

/* A zeroed one is valid: nothing is declared. */
struct custom {
  struct custom_metric *metrics; /* by name */
  size_t n_metrics;
  struct custom_part *parts; /* in order of appearance */
  size_t n_parts;
  struct stage_names stages;   /* of the run; borrowed */
  struct custom_check *checks; /* in order of appearance */
  size_t n_checks;
};

void custom_deinit(struct custom *c);
/* `metrics` is a scenario's: {"name":"counter", …} as scenario.lua checked
 * it, or NULL. A name that is a figure of ours is -1 and a message. */
int custom_declare(struct custom *c, const json_value *metrics,
                   const char *place, struct err *e);
/* From now on the records of metric `of` that f chooses are kept apart, too. */
void custom_add_part(struct custom *c, size_t of, const struct filter *f);
/* Such a part, or without any condition the metric itself. NULL: it was not
 * added. */
const struct custom_metric *custom_part(const struct custom *c, size_t of,
                                        const struct filter *f);
/* Empty, with the same declarations and parts. */
void custom_like(struct custom *c, const struct custom *declared);
/* NULL when it is not declared. */
struct custom_metric *custom_find(const struct custom *c, struct str name);

/* A finite x; a rate's is 0 or 1. */
void custom_record(struct custom_metric *m, double x, uint64_t now_ns);
/* The same in its parts that x belongs to, when m->parted. A part is chosen by
 * the label of a stage and by tags, NULL: none. */
void custom_record_parts(struct custom *c, const struct custom_metric *m,
                         double x, uint64_t now_ns, const char *stage,
                         const char *tags);
void custom_check(struct custom *c, struct str name, bool passed);
/* Declarations agree. */
void custom_merge(struct custom *into, const struct custom *from);
/* Checks by name, for people. */
void custom_sort(struct custom *c);

#endif
