/* judge_impl.h -- shared by the two ways of judging: judge.c and
 * live_figures.c. Values are as judge_value's. */
#ifndef STOKE_STATS_JUDGE_IMPL_H
#define STOKE_STATS_JUDGE_IMPL_H

#include "stats/judge.h"

/* What is not counted request by request. True when *value was found. */
bool judge_apart(const struct threshold *t, const struct custom *c,
                 const struct sessions *s, double duration_s, double *value);
/* The threshold's statistic of a histogram of ns. */
double judge_hist(const struct threshold *t, const struct hist *h);
/* An outcome, or a value of counted requests. */
double judge_counts(const struct threshold *t, const struct group *g,
                    double duration_s);

#endif
