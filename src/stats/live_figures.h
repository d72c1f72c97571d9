/* live_figures.h -- what thresholds that may end a run look at meanwhile.
 * Tallies, small enough to be sent around: a worker keeps one set, posts
 * copies of it, and the main thread merges them. Percentiles are within
 * 0.1 %. */
#ifndef STOKE_STATS_LIVE_FIGURES_H
#define STOKE_STATS_LIVE_FIGURES_H

#include "stats/judge.h"

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
