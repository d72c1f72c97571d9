/* vllm_figures.h -- a run's figures by the definitions of `vllm bench serve`.
 * For comparisons with numbers that were made there. What it changes:
 *   ttft, itl, e2el     a role or a finish without any text is an event too
 *                       (`hollows` of the details)
 *   duration            from time zero, not from the first request sent
 *   throughputs, goodput  over that duration; a goodput's TPOT limit holds
 *                       for answers of one token, whose TPOT counts as 0
 *   peak output tokens  events (not tokens) in the fullest whole second,
 *                       counted from the first start
 *   peak concurrency    requests that touch the same whole second, both ends
 *                       included: it may be more than ever were in flight
 *   empty sets          0 instead of nothing */
#ifndef STOKE_REPORT_VLLM_FIGURES_H
#define STOKE_REPORT_VLLM_FIGURES_H

#include "report/details.h"
#include "stats/slo.h"
#include "stats/summary.h"

/* `d` is sorted. */
void vllm_figures_apply(struct summary *s, const struct details *d,
                        const struct slo *slo);

#endif
