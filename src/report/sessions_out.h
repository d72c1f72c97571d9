/* sessions_out.h -- what became of the users of a session scenario. */
#ifndef STOKE_REPORT_SESSIONS_OUT_H
#define STOKE_REPORT_SESSIONS_OUT_H

#include "base/json.h"
#include "stats/sessions.h"
#include "stats/summary.h"

/* The value of "sessions"; times in ms but for think_s. `percentiles` is the
 * summary with the user's. */
void sessions_write(struct json_writer *w, const struct sessions *s,
                    const struct summary *percentiles);
void sessions_show(struct buf *out, const struct sessions *s);

#endif
