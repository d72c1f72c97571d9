/* table.h -- the summary table of `vllm bench serve`, byte for byte.
 * Where vLLM prints 0.00 for an empty set, n/a stands here. */
#ifndef STOKE_REPORT_TABLE_H
#define STOKE_REPORT_TABLE_H

#include "report/blocks.h"
#include "report/run_info.h"

/* From "==== Serving Benchmark Result ====" to the closing line. */
void table_write(struct buf *out, const struct summary *s,
                 const struct run_info *r, unsigned blocks);

#endif
