/* bench_explain.h -- what went wrong, in words for who typed vLLM's flags:
 * mistakes that the scenario found, and runs without a single success. */
#ifndef STOKE_CLI_BENCH_EXPLAIN_H
#define STOKE_CLI_BENCH_EXPLAIN_H

#include "cli/run_options.h"
#include "report/run_info.h"
#include "script/request.h"
#include "stats/summary.h"

/* The scenario speaks of its parameters ("-P num_prompts=x: …", "num_prompts:
 * …"); here they are flags ("--num-prompts x: …"). */
void bench_reword(struct err *e);
/* What the failures mean, as the pre-flight tells it, which `bench serve`
 * does not send. Says it on stderr; nothing when some request succeeded. May
 * ask the server for its models. `sample` (NULL: none) says where requests
 * went. */
void bench_explain(const struct run_options *o, const struct request *sample,
                   const struct summary *s);

#endif
