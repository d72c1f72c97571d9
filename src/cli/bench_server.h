/* bench_server.h -- what a vLLM server is asked beside the load: its counters
 * of speculative decoding and of diffusion, and its profiler. Blocks. */
#ifndef STOKE_CLI_BENCH_SERVER_H
#define STOKE_CLI_BENCH_SERVER_H

#include "core/config.h"
#include "report/run_info.h"

/* Sums over a server's engines; each of the two may be missing. */
struct bench_counters {
  bool has_spec_decode, has_diffusion;
  struct spec_decode spec_decode;
  struct diffusion diffusion;
};

/* Read the Prometheus text of /metrics. */
void bench_counters_read(struct str text, struct bench_counters *out);
/* Ask the server; nothing is there when it does not answer. */
void bench_counters_ask(const struct config *c, struct bench_counters *out);
/* *now becomes what was added since; what did nothing meanwhile is gone. */
void bench_counters_since(const struct bench_counters *before,
                          struct bench_counters *now);

/* POST /start_profile, /stop_profile. 0, or -1 and a message. */
int bench_profile(const struct config *c, bool start, struct err *e);

#endif
