/* slo.h -- service level objectives of one request. Pure. */
#ifndef STOKE_STATS_SLO_H
#define STOKE_STATS_SLO_H

#include "base/err.h"
#include "base/str.h"
#include "stats/record.h"

/* Upper limits, ns, inclusive; 0: none. */
struct slo {
  uint64_t ttft_ns, tpot_ns, e2el_ns;
};

/* One "ttft:500" (ms) as --goodput has it, set in *s. Returns 0, or -1 with a
 * message that names the keys. */
int slo_parse(struct slo *s, struct str text, struct err *e);
bool slo_set(const struct slo *s);
/* What holds for `r`: its own limits, and the run's where it has none. */
struct slo slo_of(const struct slo *run, const struct record *r);
/* Succeeded, and every limit holds (<=). A request without TPOT is judged by
 * the others; an answer that was not streamed shows its first token with its
 * last, so its TTFT is judged by its end-to-end latency. */
bool slo_good(const struct slo *s, const struct record *r);

#endif
