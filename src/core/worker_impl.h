/* worker_impl.h -- a worker from the inside, for its three files: worker.c
 * (thread, orders, reports), worker_load.c (what it starts and what ends),
 * worker_setup.c (what it is made of). */
#ifndef STOKE_CORE_WORKER_IMPL_H
#define STOKE_CORE_WORKER_IMPL_H

#include <ev.h>
#include <pthread.h>

#include "core/mailbox.h"
#include "core/sched.h"
#include "core/worker.h"
#include "net/timer.h"
#include "script/scenario.h"
#include "script/session.h"
#include "script/vm.h"

struct worker {
  struct worker_setup setup;
  bool is_inline, failed;
  pthread_t thread;
  struct ev_loop *loop;
  struct mailbox *orders, *reports;

  struct net *net;
  struct vm *vm;
  struct xfer_headers *headers;
  struct xfer_headers **backend_headers; /* by place; see exchange.h */
  struct exchange_pool *exchanges;
  struct session_pool *sessions;

  struct timer start_timer; /* the next item's due, or the end of sending */
  struct timer drain_timer;
  struct timer probe;
  uint64_t probe_due_ns, flush_due_ns;
  ev_idle more; /* a burst was cut: go on after looking at the sockets */

  struct sched sched;
  struct stage stage; /* the current one */
  size_t stage_number;
  uint64_t t0_ns, stage_t0_ns;
  enum phase phase;
  bool running; /* a phase is on */
  bool over;    /* nothing more starts in this phase */
  bool pumping; /* inside pump: what ends meanwhile must not recurse */
  bool quit;

  struct metrics *window; /* on, or NULL */
  uint64_t window_t0_ns, window_bound, window_in_flight, window_sent;

  struct progress progress;
  enum outcome same_outcome; /* of all results so far … */
  int same_status;
  uint32_t same;               /* … that many, while they are all the same */
  struct live_figures live;    /* of thresholds that may end the run */
  struct exchange_live before; /* totals when the measured phase began */
  uint64_t cpu_start_ns, wall_start_ns;
  struct worker_figures figures;
};

/* ---- worker.c ---- */

/* To the main thread. `text` may be NULL. */
void worker_tell(struct worker *w, enum worker_event event, const char *text);
/* The same; *r is handed over. */
void worker_post(struct worker *w, struct worker_report *r);
/* An order of the main thread. */
void worker_on_order(const struct message *m, void *ud);

/* ---- worker_load.c ---- */

struct metrics *worker_new_metrics(const struct worker *w, uint64_t epoch_ns);
/* Does control(run) drive the load? */
bool worker_is_driven(const struct worker *w);
void worker_begin_phase(struct worker *w, enum phase phase, uint64_t t0_ns);
/* As worker_stop, on the worker's thread. */
void worker_end_phase(struct worker *w, uint64_t grace_ns);
/* *s is handed over. */
void worker_change_stage(struct worker *w, struct stage *s, uint16_t number,
                         uint64_t t0_ns);
void worker_begin_window(struct worker *w, uint64_t bound);
void worker_end_window(struct worker *w);
/* The watchers of the load. */
void worker_load_init(struct worker *w, struct err *e);
/* What sessions call. */
void worker_load_callbacks(struct worker *w, struct session_config *c);

/* ---- worker_setup.c ---- */

/* Everything that lives on the worker's own thread. Ends in WORKER_READY or
 * WORKER_FAILED. */
void worker_set_up(struct worker *w);
void worker_tear_down(struct worker *w);

#endif
