/* timetable.h -- arrivals that only the scenario knows: load.rate(t) and
 * load.arrivals(i, rng), turned into offsets before the run, once for all
 * workers. */
#ifndef STOKE_CORE_TIMETABLE_H
#define STOKE_CORE_TIMETABLE_H

#include "core/config.h"

struct scenario;
struct vm;

/* Makes the load's only stage when the scenario has one of the functions;
 * `vm` is the main thread's. 0, or -1 with what is wrong in *e. */
int timetable_make(struct load *l, uint64_t seed, const struct scenario *s,
                   struct vm *vm, struct err *e);

#endif
