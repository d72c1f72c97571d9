/* results.h -- the results file: one JSON object on one line.
 * Top level: the keys of `vllm bench serve --save-result`, in its order and
 * with its spacing; under "stoke" everything else (what it means: README.md).
 * Strict RFC 8259: what has no value is null, an infinite rate is "inf". */
#ifndef STOKE_REPORT_RESULTS_H
#define STOKE_REPORT_RESULTS_H

#include "base/buf.h"
#include "report/run_info.h"
#include "stats/summary.h"

/* The whole object with a newline behind it. `blocks` as in blocks.h selects
 * the mean_…_ms keys of the top level; "stoke" always has all. */
void results_write(struct buf *out, const struct summary *s,
                   const struct run_info *r, unsigned blocks);

#endif
