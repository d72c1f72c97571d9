/* bench_server.h -- what a vLLM server is asked beside the load: its counters
 * of speculative decoding, and its profiler. Blocks. */
#ifndef STOKE_CLI_BENCH_SERVER_H
#define STOKE_CLI_BENCH_SERVER_H

#include "core/config.h"
#include "report/run_info.h"

/* Read the Prometheus text of /metrics: the sums over engines. False: nothing
 * about speculative decoding in it. */
bool bench_spec_decode_read(struct str text, struct spec_decode *out);
/* Ask the server. */
bool bench_spec_decode_ask(const struct config *c, struct spec_decode *out);
/* now - before; false: it drafted nothing meanwhile. */
bool bench_spec_decode_since(const struct spec_decode *before,
                             struct spec_decode *now);

/* POST /start_profile, /stop_profile. 0, or -1 and a message. */
int bench_profile(const struct config *c, bool start, struct err *e);

#endif
