/* bench_bodies.h -- what the flags put into every request's body: the
 * sampling, what vLLM's own endpoints are told, and --extra-body over both. */
#ifndef STOKE_CLI_BENCH_BODIES_H
#define STOKE_CLI_BENCH_BODIES_H

#include "cli/bench_flags.h"
#include "cli/bench_target.h"
#include "cli/run_options.h"

/* Sets the extra body of *r. `b` may be NULL, for a mistake. */
void bench_bodies_set(const struct bench_flags *f,
                      const struct bench_backend *b, struct run_options *r,
                      struct err *e);

#endif
