/* run_stages.h -- the stages of a run as report wants them. */
#ifndef STOKE_CLI_RUN_STAGES_H
#define STOKE_CLI_RUN_STAGES_H

#include "core/run.h"
#include "report/run_info.h"
#include "stats/summary.h"

struct run_stages {
  struct run_stage_info *list;
  struct summary *summaries;
  size_t n;
};

/* `config` as for the whole run; labels stay the result's. */
void run_stages_build(struct run_stages *s, const struct run_result *r,
                      const struct summary_config *config);
void run_stages_free(struct run_stages *s);

/* A rate that stands for the timetables of all stages, for summary_config: 0
 * when there are none, or when users who all start at once are among them. */
double run_stages_rate(const struct run_result *r);

#endif
