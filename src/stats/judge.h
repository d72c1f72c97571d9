/* judge.h -- the value that a threshold speaks of, in what was measured: after
 * a run, or a stage of it, from the merged metrics. live_figures.h does the
 * same while a run goes on. */
#ifndef STOKE_STATS_JUDGE_H
#define STOKE_STATS_JUDGE_H

#include "stats/group.h"
#include "stats/sessions.h"
#include "stats/threshold.h"

/* All that there is to look at. */
struct figures {
  const struct summary *summary;
  const struct metrics *metrics;
  const struct sessions *sessions;
  const struct custom *custom;
  struct stage_names stages;
  double duration_s; /* of the run: for what is counted per second */
};

/* What became of one. */
struct threshold_result {
  const struct threshold *threshold;
  double value; /* in the typed unit; NaN: no data, and not ok */
  bool ok;
  bool ended_run; /* it was broken while the run went on */
};

/* NaN: there is no sample. Times are ns, shares 0 .. 1. */
double judge_value(const struct threshold *t, const struct figures *f);
/* Judges all of them; `broken` is 1 + the one that ended the run at
 * `broken_value` (0: none), which is broken whatever came later. The list is
 * the caller's to free. */
struct threshold_result *judge_all(const struct thresholds *all,
                                   const struct figures *f, size_t broken,
                                   double broken_value);
/* judge_value where there is a summary alone: percentiles that it has not are
 * within 0.1 %. False: the threshold speaks of something else. */
bool judge_summary(const struct threshold *t, const struct summary *s,
                   double *value);
/* Does an expression hold in a summary? 1, 0, or -1 and a message (`place` in
 * front) when it is none, or speaks of something else. *value is its figure
 * in the typed unit. */
int judge_expression(struct str text, const struct summary *s,
                     const char *place, double *value, struct err *e);

#endif
