/* wrk.h -- scripts for wrk as scenarios: what lua/stoke/wrk.lua needs of C.
 * That module is the adapter; here are the server's name, addresses, and the
 * figures that done() is given. */
#ifndef STOKE_SCRIPT_WRK_H
#define STOKE_SCRIPT_WRK_H

#include "base/outcome.h"
#include "script/request.h"
#include "stats/samples.h"

struct lua_State;

/* What done(summary, latency, requests) is told. */
struct wrk_figures {
  uint64_t duration_us, requests, bytes;
  uint64_t connect, read, write, status, timeout; /* errors */
  struct samples latency, rate;
};
/* From the counts of all outcomes; `requests` are those that were answered.
 */
void wrk_count(struct wrk_figures *f, const uint64_t outcomes[OUTCOME_COUNT]);

/* In front of the script's main chunk on top: the adapter; behind it, what
 * the adapter is told. Call it with two arguments. [-0, +2, e] */
void wrk_push(struct lua_State *L);
/* Read what its request() returned: the table at 1, and seconds to wait at
 * 2. [-0, +0, v] */
void wrk_read(struct lua_State *L, struct request *out);

#endif
