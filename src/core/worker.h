/* worker.h -- one thread of load: a loop, its connections, its VM, its
 * figures. A running worker shares nothing writable; it talks with the main
 * thread through two mailboxes only. With threads = 0 it lives on the main
 * thread's loop, on the same path. */
#ifndef STOKE_CORE_WORKER_H
#define STOKE_CORE_WORKER_H

#include "core/config.h"
#include "core/run.h"
#include "net/xfer.h"
#include "stats/client.h"
#include "stats/live_figures.h"
#include "stats/metrics.h"
#include "stats/progress.h"
#include "stats/calls.h"
#include "stats/sessions.h"

struct ev_loop;
struct scenario;
struct script_errors;
struct watchdog;
struct worker;

/* What a worker tells. */
enum worker_event {
  WORKER_READY,     /* VM loaded; text: why connections failed, or NULL */
  WORKER_FAILED,    /* could not start; text: why */
  WORKER_EXHAUSTED, /* the script has nothing left to send */
  WORKER_STOP,      /* the script asks the run to stop; text: why */
  WORKER_HOPELESS, /* its first results are all the same failure; text: which */
  WORKER_SENT,     /* nothing more will be started in this phase */
  WORKER_PHASE_OVER, /* and nothing is in flight any more */
  WORKER_PROGRESS,   /* the answer to worker_poll */
  WORKER_WINDOW,     /* a window is over: what was asked by worker_window */
};

/* What ended inside a window, and what went on at its edges. */
struct worker_window {
  struct metrics *metrics; /* the receiver frees it */
  uint64_t in_flight_begin, in_flight_end, sent;
};

struct worker_report {
  enum worker_event event;
  char *text;                /* the receiver frees it */
  struct progress *progress; /* likewise */
  struct worker_window window;
  struct live_figures *live; /* likewise; NULL: not asked for */
};

typedef void worker_report_cb(struct worker *w, const struct worker_report *r,
                              void *ud);

struct worker_setup {
  unsigned index, count;
  const struct config *config;
  const struct scenario *scenario;
  struct str data; /* what setup() returned, for the VM */
  struct script_errors *errors;
  struct watchdog *watchdog;
  const struct custom *declared;    /* metrics of the scenario's */
  const struct stage_names *stages; /* for thresholds that may end the run */
  const struct run_callbacks *callbacks;
  struct ev_loop *main_loop;
  worker_report_cb *report; /* on the main loop */
  void *ud;
};

/* Starts the thread (or itself inline); WORKER_READY or WORKER_FAILED comes
 * first. */
struct worker *worker_start(const struct worker_setup *s);

/* Orders, from the main thread. */
void worker_go(struct worker *w, enum phase phase, uint64_t t0_ns);
/* Start nothing more; what is in flight may go on for grace_ns. */
void worker_stop(struct worker *w, uint64_t grace_ns);
void worker_poll(struct worker *w, bool live);
/* A new rule from t0_ns on; it has no end of its own. The stage is copied. */
void worker_stage(struct worker *w, const struct stage *s, uint16_t number,
                  uint64_t t0_ns);
/* Begin a window that ends with worker_window_end, or by itself when
 * `bound` requests of this worker have ended in it. WORKER_WINDOW is told
 * exactly once. */
void worker_window(struct worker *w, uint64_t bound);
void worker_window_end(struct worker *w);

/* Ends the thread. No phase may be on. */
void worker_join(struct worker *w);

/* What it measured; after worker_join only. */
struct worker_figures {
  struct metrics *metrics;
  struct sessions sessions;
  struct calls calls; /* of s:http */
  struct custom custom;
  struct buf exit;               /* what exit(ctx) returned */
  bool exit_failed;              /* it ended in an error */
  struct metrics **stages;       /* one per stage of a load that has stages */
  uint64_t *stage_t0_ns;         /* when each began; 0: never */
  bool sent;                     /* anything at all: */
  const struct backend *backend; /* of the first request */
  struct client_worker client;
  struct net_counts net;
  enum net_clock clock;
};
struct worker_figures *worker_figures(struct worker *w);
void worker_free(struct worker *w);

#endif
