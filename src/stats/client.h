/* client.h -- is this client to be trusted?
 * A worker fills a `client_worker` while it runs; client_add brings them
 * together; client_judge applies the limits and says why in words. */
#ifndef STOKE_STATS_CLIENT_H
#define STOKE_STATS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/hist.h"

/* The limits, as README.md says them. */
#define CLIENT_SEND_LAG_MS  10.0 /* p99 */
#define CLIENT_LOOP_LAG_MS  5.0  /* p99; see client_loop_limit_ms */
#define CLIENT_LATE_SHARE   0.01 /* of the time; see client_late_share */
#define CLIENT_CPU_SHARE    0.90 /* of the busiest thread */
#define CLIENT_RATE_SHARE   0.98 /* achieved / planned */
#define CLIENT_SCRIPT_MS    5.0  /* one call of a hook: told, not judged */
#define CLIENT_SCRIPT_SHARE 0.10 /* of a thread's time: told, not judged */

/* One thread's own measurements of the measured phase; zeroed is empty. */
struct client_worker {
  struct hist loop_lag;     /* ns that the 1 ms probe timer fired late */
  uint64_t cpu_ns, wall_ns; /* of this thread, over the same interval */
  uint64_t script_ns, script_calls, script_worst_ns;
  char script_place[96]; /* "file.lua:12 on_response" of the worst call */
  uint64_t gc_ns;        /* Lua's collector, where it is stepped by us */
  uint64_t heap_peak;    /* bytes of the Lua heap */
  uint64_t retries;      /* requests put on the wire again */
};
void client_worker_deinit(struct client_worker *w);

#define CLIENT_THREADS_MAX 256

/* All threads together; zeroed is empty. */
struct client {
  struct hist loop_lag;
  double cpu_share[CLIENT_THREADS_MAX]; /* 0..1, in the order of adding */
  uint64_t heap_peak[CLIENT_THREADS_MAX];
  size_t threads;
  uint64_t wall_ns; /* sum over threads */
  uint64_t script_ns, script_calls, script_worst_ns, gc_ns, retries;
  char script_place[96];
  uint64_t open_files, open_files_limit; /* told by the caller; 0: unknown */
  bool kernel_times; /* arrivals are stamped by the kernel */
};
void client_add(struct client *c, const struct client_worker *w);
void client_deinit(struct client *c);

/* What the records say about punctuality; filled by summary_build. */
struct client_timing {
  uint64_t sends;
  double send_lag_p99_ms;           /* NaN: nothing to judge */
  double planned_rps, achieved_rps; /* NaN: no timetable */
  double slip_ms;    /* how much later than planned the last one left */
  uint64_t capped;   /* sends that a cap of ours held back */
  double itl_p50_ms; /* NaN: no gaps between tokens */
};

/* How late the loop may be. Where it stamps arrivals, every one is off by
 * that. Where the kernel does, a late loop moves none: it delays what is
 * sent, and merges tokens that come closer together than that into one
 * instant. Machines that share their processors stop for some ms now and
 * then, and shall not be blamed for what changes no figure. */
double client_loop_limit_ms(const struct client *c,
                            const struct client_timing *t);

/* The share of the threads' time in which what arrived had to wait longer than
 * `limit_ms` for the loop. The p99 of the probes counts stalls, this how long
 * they are: one of 100 ms every two seconds is one probe of many, but holds up
 * 5 % of the events. The worst three are spared, which any machine that shares
 * its processors has. 0 when the time is not known. */
double client_late_share(const struct client *c, double limit_ms);

#define CLIENT_REASONS_MAX 4

struct client_verdict {
  bool limited;
  size_t n; /* reasons, each part of a sentence, none when not limited */
  char reasons[CLIENT_REASONS_MAX][160];
};
struct client_verdict client_judge(const struct client *c,
                                   const struct client_timing *t);

#endif
