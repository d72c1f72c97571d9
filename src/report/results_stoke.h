/* results_stoke.h -- the value of "stoke" in the results file. */
#ifndef STOKE_REPORT_RESULTS_STOKE_H
#define STOKE_REPORT_RESULTS_STOKE_H

#include "base/json.h"
#include "report/run_info.h"
#include "stats/summary.h"

/* Raised when a key changes its meaning or goes; new keys don't raise it. */
#define RESULTS_SCHEMA 1

void results_stoke(struct json_writer *w, const struct summary *s,
                   const struct run_info *r);

#endif
