/* run_thresholds.h -- what a run must hold, from wherever it is said: the
 * scenario's `thresholds`, the lines of --thresholds FILE, every --threshold.
 * All of them hold together; none replaces another. */
#ifndef STOKE_CLI_RUN_THRESHOLDS_H
#define STOKE_CLI_RUN_THRESHOLDS_H

#include "cli/run_options.h"
#include "script/scenario.h"

/* Into o->config.thresholds. `s` may be NULL: then it could not be opened,
 * and nothing is said of names that it may have declared. 0, or -1 with all
 * mistakes in *e. */
int run_thresholds_read(struct run_options *o, const struct scenario *s,
                        struct err *e);

#endif
