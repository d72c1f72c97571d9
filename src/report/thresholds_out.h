/* thresholds_out.h -- which thresholds held. */
#ifndef STOKE_REPORT_THRESHOLDS_OUT_H
#define STOKE_REPORT_THRESHOLDS_OUT_H

#include "base/json.h"
#include "stats/judge.h"

/* [{"expr","value","limit","unit","ok","no_data","ended_run"}, …]: value and
 * limit in the unit that the expression has. */
void thresholds_write(struct json_writer *w, const struct threshold_result *r,
                      size_t n);
void thresholds_show(struct buf *out, const struct threshold_result *r,
                     size_t n, bool marks);

#endif
