/* custom_out.h -- what the scenario measured by itself: metrics and checks. */
#ifndef STOKE_REPORT_CUSTOM_OUT_H
#define STOKE_REPORT_CUSTOM_OUT_H

#include "base/json.h"
#include "stats/custom.h"

/* The value of "custom": each metric by name, and the members of `extra` (an
 * object's text; empty: none), which replace a metric of the same name. */
void custom_write(struct json_writer *w, const struct custom *c,
                  double duration_s, struct str extra);
/* [{"name","passed","failed","rate"}, …] by name. */
void checks_write(struct json_writer *w, const struct custom *c);
void custom_show(struct buf *out, const struct custom *c, double duration_s);
/* `marks`: with ticks and crosses of Unicode. */
void checks_show(struct buf *out, const struct custom *c, bool marks);

#endif
