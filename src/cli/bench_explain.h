/* bench_explain.h -- a run without a single success: what its failures mean,
 * in the words of the pre-flight, which `bench serve` does not send. */
#ifndef STOKE_CLI_BENCH_EXPLAIN_H
#define STOKE_CLI_BENCH_EXPLAIN_H

#include "cli/run_options.h"
#include "report/run_info.h"
#include "script/request.h"
#include "stats/summary.h"

/* Says it on stderr; nothing when some request succeeded. May ask the server
 * for its models. `sample` (NULL: none) says where requests went. */
void bench_explain(const struct run_options *o, const struct request *sample,
                   const struct summary *s);

#endif
