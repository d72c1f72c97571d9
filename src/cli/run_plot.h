/* run_plot.h -- --plot: what a run's results look like, in the terminal. What
 * is drawn and how is lua/stoke/cmd/plot.lua. */
#ifndef STOKE_CLI_RUN_PLOT_H
#define STOKE_CLI_RUN_PLOT_H

#include <stdbool.h>

#include "report/results.h"

/* `search`: the curve that control(run) reported as "find". */
void run_plot(const struct summary *s, const struct run_info *info,
              unsigned blocks, bool search, bool to_stderr);

#endif
