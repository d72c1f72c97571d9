/* latency_out.h -- a distribution of times in the results: count, mean, std,
 * min, percentiles (the user's too) and max, in ms. */
#ifndef STOKE_REPORT_LATENCY_OUT_H
#define STOKE_REPORT_LATENCY_OUT_H

#include "base/json.h"
#include "stats/summary.h"

/* `s` is the summary whose user's percentiles *l has. */
void latency_write(struct json_writer *w, const struct summary *s,
                   const char *key, const struct latency *l);

#endif
