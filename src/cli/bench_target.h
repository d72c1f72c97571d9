/* bench_target.h -- where `bench serve` sends, and what it speaks there:
 * vLLM's --backend, --base-url, --host, --port and --endpoint as a URL and
 * one of the APIs that stoke knows. */
#ifndef STOKE_CLI_BENCH_TARGET_H
#define STOKE_CLI_BENCH_TARGET_H

#include "cli/bench_flags.h"
#include "cli/run_options.h"

/* A value of --backend. */
struct bench_backend {
  const char *name;
  const char *api;    /* stoke's word for it */
  const char *tail;   /* what its paths end in */
  const char *why;    /* of one that is another today: a notice; NULL */
  const char *images; /* how pictures are embedded: the scenario's parameter
                       * image_embeddings; NULL: not its business */
  bool samples;       /* takes temperature and its like */
  bool vllm;          /* knows vLLM's own fields */
};

/* By --endpoint-type, which goes first, or --backend. NULL and a message when
 * there is none. Notices go to r's. */
const struct bench_backend *bench_backend_of(const struct bench_flags *f,
                                             struct run_options *r,
                                             struct err *e);
/* Sets the URL and the endpoint of *r. `b` may be NULL: the URL alone. */
void bench_target_set(const struct bench_flags *f,
                      const struct bench_backend *b, struct run_options *r,
                      struct err *e);
/* Variables of other tools that a user may think count here. */
void bench_target_notice_environment(struct run_options *r);

#endif
