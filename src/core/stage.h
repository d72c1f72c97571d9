/* stage.h -- a stage as JSON has it: in a scenario's load, a configuration
 * file, run:set.
 *   { "duration": "30s", "request_rate": [1, 10], "shape": "linear",
 *     "max_concurrency": 200, "label": "ramp" }
 * Times are seconds or text with a unit; a rate may be "inf"; a list of two
 * ramps from one to the other. session_rate and num_sessions are the same as
 * request_rate and num_requests. */
#ifndef STOKE_CORE_STAGE_H
#define STOKE_CORE_STAGE_H

#include "base/json.h"
#include "core/config.h"

/* Set what `o` says in *s, which keeps the rest; label and offsets are not
 * freed. `place` starts every message. 0, or -1 with all mistakes in *e. */
int stage_read(const json_value *o, struct stage *s, const char *place,
               struct err *e);
/* What can never work in one stage of a run: no end in a stage that another
 * one follows, a ramp without a time, rates below 0 … 0 or -1. */
int stage_check(const struct stage *s, bool last, const char *place,
                struct err *e);

#endif
