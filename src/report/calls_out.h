/* calls_out.h -- what sessions did by s:http, name by name. */
#ifndef STOKE_REPORT_CALLS_OUT_H
#define STOKE_REPORT_CALLS_OUT_H

#include "base/json.h"
#include "stats/calls.h"
#include "stats/summary.h"

/* The value of "http": {name: {count, failed, latency}}. */
void calls_write(struct json_writer *w, const struct calls *c,
                 const struct summary *percentiles);
void calls_show(struct buf *out, const struct calls *c);

#endif
