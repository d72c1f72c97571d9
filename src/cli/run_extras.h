/* run_extras.h -- what a scenario adds to a run's report: sessions, turns,
 * tags, its own metrics, checks and thresholds. */
#ifndef STOKE_CLI_RUN_EXTRAS_H
#define STOKE_CLI_RUN_EXTRAS_H

#include "core/run.h"
#include "report/run_info.h"
#include "script/scenario.h"
#include "stats/judge.h"

struct run_extras {
  const struct scenario *scenario;
  const struct run_result *result;
  const struct summary *summary;
  struct threshold_result *thresholds;
  size_t n_thresholds;
  struct buf sessions, turns, http, tags, custom, checks, thresholds_json;
};

/* Everything that it points to is borrowed; free it before them. */
void run_extras_init(struct run_extras *x, const struct scenario *s,
                     struct run_result *result, const struct summary *summary,
                     const struct thresholds *thresholds);
void run_extras_deinit(struct run_extras *x);
/* The texts for the results; `added` is what summary() returned (an object's
 * text, or empty). info borrows them. */
void run_extras_fill(struct run_extras *x, struct str added,
                     struct run_info *info);
/* For people, after the table. */
void run_extras_show(const struct run_extras *x, struct buf *out);
/* Some threshold is broken. */
bool run_extras_broken(const struct run_extras *x);

#endif
