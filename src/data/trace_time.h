/* trace_time.h -- the time of a trace's row, as such files write it. */
#ifndef STOKE_DATA_TRACE_TIME_H
#define STOKE_DATA_TRACE_TIME_H

#include "base/str.h"

/* Seconds: a number of them, or "2023-11-16 18:17:03.9799600" (also with a T,
 * and with Z or +00:00 behind), then since 1970. -1 for anything else. */
int trace_time_parse(struct str s, double *seconds);

#endif
