/* group.h -- the figures of some of a run's requests: those of one turn, one
 * tag, one stage, or a mix of them. Made from the rows of the merged metrics,
 * with the formulas of the whole run. Latencies are exact, but for `itl`,
 * which is within 0.1 %. */
#ifndef STOKE_STATS_GROUP_H
#define STOKE_STATS_GROUP_H

#include "stats/filter.h"
#include "stats/summary.h"

struct group {
  uint64_t sent, completed, failed, cancelled, good;
  uint64_t outcomes[OUTCOME_COUNT];
  uint64_t input_tokens, output_tokens; /* of completed requests */
  double duration_s; /* first sent to last done, of these; NaN: none */
  struct latency latency[FIGURE_COUNT];
};

/* `percentiles` is the summary whose user's percentiles are wanted. */
void group_build(struct group *g, const struct metrics *m,
                 const struct filter *f, const struct stage_names *stages,
                 const struct summary *percentiles);

/* Counts alone: latencies are left out. */
void group_count(struct group *g, const struct metrics *m,
                 const struct filter *f, const struct stage_names *stages);

/* The sorted samples of one figure in ns, for the caller to free. For `itl`
 * NULL when there are but histograms: group_gaps has them then. */
double *group_samples(const struct metrics *m, const struct filter *f,
                      const struct stage_names *stages, enum figure figure,
                      size_t *n);
/* Adds the gaps of these requests to *out. */
void group_gaps(const struct metrics *m, const struct filter *f,
                const struct stage_names *stages, struct hist *out);

/* What there is to make groups of. */
unsigned metrics_turns(const struct metrics *m); /* the highest, as filed */
size_t metrics_tags(const struct metrics *m);
const char *metrics_tag(const struct metrics *m, size_t i); /* "class=long" */
/* Requests of which a tag was filed as "(other)". */
uint64_t metrics_crowded(const struct metrics *m);

#endif
