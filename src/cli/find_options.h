/* find_options.h -- what `stoke find` is asked, beyond a run. */
#ifndef STOKE_CLI_FIND_OPTIONS_H
#define STOKE_CLI_FIND_OPTIONS_H

#include "cli/run_options.h"

/* Mistakes in the search's own options, and in a run's that it cannot obey. */
void find_options_check(const struct run_options *o, struct err *e);
/* The JSON object that lua/stoke/search.lua gets. */
void find_options_write(const struct run_options *o, struct buf *out);

#endif
