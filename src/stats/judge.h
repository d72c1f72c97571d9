/* judge.h -- the value that a threshold speaks of, in what was measured.
 * After a run (or a stage of it) from the merged metrics, exactly; while it
 * goes on from tallies, small enough to be sent around, whose percentiles are
 * within 0.1 %. */
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
  /* Every threshold is about these requests, besides its own filter: the
   * stage that is looked at. Zeroed: all. */
  struct filter only;
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
/* Does the expression hold? 1, 0, or -1 and a message (`place` in front) when
 * it is none. *value (may be NULL) is its figure, in the typed unit. */
int judge_expression(struct str text, const struct figures *f,
                     const char *place, double *value, struct err *e);

/* The same where there is a summary alone: percentiles that it has not are
 * within 0.1 %. False: the threshold speaks of something else. */
bool judge_summary(const struct threshold *t, const struct summary *s,
                   double *value);

/* ---- while the run goes on ---- */

/* What one threshold with `abort` has seen. A zeroed one is empty. */
struct tally {
  struct group counts; /* latencies are left out */
  struct hist hist;    /* of a latency, ns */
};

/* What all of them have, of one worker or merged. */
struct live_figures {
  const struct thresholds *all; /* borrowed; those without abort are passed
                                 * over */
  struct stage_names stages;    /* borrowed */
  struct slo slo;               /* the run's */
  struct tally *tallies;        /* one each */
  struct custom custom;
  struct sessions sessions;
};

/* True when some threshold can stop the run. */
bool thresholds_abort(const struct thresholds *all);
/* Empty. `custom` has the declarations. */
void live_figures_init(struct live_figures *l, const struct thresholds *all,
                       const struct stage_names *stages, const struct slo *slo,
                       const struct custom *custom);
void live_figures_deinit(struct live_figures *l);
/* A request ended; warm-up ones are passed over. */
void live_figures_add(struct live_figures *l, const struct record *r);
void live_figures_merge(struct live_figures *into,
                        const struct live_figures *from);
/* As judge_value, `elapsed_s` into the measured phase. */
double live_figures_value(const struct live_figures *l, size_t threshold,
                          double elapsed_s);

#endif
