/* bench_probe.h -- --probe-request-rate: a tiny request now and then, on a
 * thread and connections of its own, beside the load. What it waits for is
 * the server, not this client's slots. */
#ifndef STOKE_CLI_BENCH_PROBE_H
#define STOKE_CLI_BENCH_PROBE_H

#include "core/config.h"
#include "report/run_info.h"
#include "script/request.h"

struct bench_probe;

/* `sample` is a request of the run: where to and which API. NULL when this
 * API has no tiny request, or no thread could be started. */
struct bench_probe *bench_probe_start(const struct config *c,
                                      const struct request *sample,
                                      double per_second);
/* Ends it; a probe under way is waited for, some seconds at most. */
void bench_probe_stop(struct bench_probe *p, struct probe_figures *out);

#endif
