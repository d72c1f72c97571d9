/* blocks.h -- which latencies are shown: vLLM's --percentile-metrics and
 * --metric-percentiles. The names are vLLM's, and each stands for a figure
 * of ours: the table and the results' top level are made from this list. */
#ifndef STOKE_REPORT_BLOCKS_H
#define STOKE_REPORT_BLOCKS_H

#include "base/err.h"
#include "stats/summary.h"

/* X(ENUM, "vllm name", FIGURE, "title", "label in the lines") */
#define BLOCK_LIST(X)                                                          \
  X(TTFT, "ttft", TTFT, "Time to First Token", "TTFT")                         \
  X(TPOT, "tpot", TPOT, "Time per Output Token (excl. 1st token)", "TPOT")     \
  X(ITL, "itl", ITL, "Inter-token Latency", "ITL")                             \
  X(E2EL, "e2el", E2EL, "End-to-end Latency", "E2EL")                          \
  X(QUEUE, "client_queue_time", QUEUE, "Client-side Queueing",                 \
    "Client Queue Time")                                                       \
  X(E2EL_QUEUE, "e2el_including_client_queue", E2EL_DUE,                       \
    "Queue-inclusive End-to-end Latency", "E2EL incl. Client Queue")

enum block {
#define X(ENUM, name, figure, title, label) BLOCK_##ENUM,
  BLOCK_LIST(X)
#undef X
      BLOCK_COUNT
};

/* A set is 1u << BLOCK_… */
#define BLOCKS_DEFAULT (1u << BLOCK_TTFT | 1u << BLOCK_TPOT | 1u << BLOCK_ITL)

const char *block_name(enum block b);
enum figure block_figure(enum block b);
const char *block_title(enum block b);
const char *block_label(enum block b);

/* By its name; -1 for none. */
int block_find(struct str name);
/* "ttft,e2el" -> a set, which may be empty. Blanks around names are dropped;
 * an unknown name is -1 and a message that lists them. */
int blocks_parse(struct str list, unsigned *out, struct err *e);
/* "50,90,99.9" -> percentiles in 0..100, each once, at most
 * USER_PERCENTILES_MAX. */
int percentiles_parse(struct str list, double *out, size_t *n, struct err *e);
/* "99", "99.9": as Python prints them in keys and labels. Returns buf. */
const char *percentile_name(double p, char buf[32]);

struct run_info;
/* The blocks that apply: vLLM has the queue ones only with a cap (and the
 * second only with a finite rate), whatever was asked. */
unsigned blocks_shown(unsigned asked, const struct run_info *r);

#endif
