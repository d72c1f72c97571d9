/* bench_options.h -- what a command line for `vllm bench serve` means as a
 * run of the scenario `bench`. Every mistake that vLLM finds, many of them
 * only after the run, is found here, all at once. */
#ifndef STOKE_CLI_BENCH_OPTIONS_H
#define STOKE_CLI_BENCH_OPTIONS_H

#include "cli/bench_flags.h"
#include "cli/bench_target.h"
#include "cli/run_options.h"

struct bench {
  struct bench_flags flags;
  const struct bench_backend *backend; /* NULL: a mistake */
  uint64_t batch;                      /* texts a request */
  bool timed;              /* the data set says when requests leave */
  double thresholds_ms[2]; /* of the timeline */
  char *path;              /* of the results, or NULL */
};

/* argv (behind `bench serve`) into b->flags and *r, as run_options_read does.
 * Free both in any case. */
enum options_result bench_options_read(struct bench *b, struct run_options *r,
                                       int argc, char *const argv[],
                                       struct err *e);
void bench_free(struct bench *b);

#endif
