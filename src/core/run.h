/* run.h -- one load test from the first connection to the merged figures.
 * The main thread starts the workers, gives them a common time zero, watches
 * signals and the clock, and puts together what they measured. It sends no
 * request itself (but with threads = 0, where the only worker lives on its
 * loop). */
#ifndef STOKE_CORE_RUN_H
#define STOKE_CORE_RUN_H

#include "core/config.h"
#include "net/xfer.h"
#include "stats/client.h"
#include "stats/custom.h"
#include "stats/filter.h"
#include "stats/metrics.h"
#include "stats/progress.h"
#include "stats/record.h"
#include "stats/calls.h"
#include "stats/sessions.h"

struct scenario;
struct script_errors;
struct vm;
struct watchdog;

/* Why the measured phase ended. */
enum stop_reason {
  STOP_COUNT,       /* num_requests were sent */
  STOP_DURATION,    /* the time was up */
  STOP_EXHAUSTED,   /* the scenario had nothing left to send */
  STOP_INTERRUPTED, /* SIGINT, SIGTERM or SIGHUP */
  STOP_SCRIPT,      /* the script asked for it, or failed too often */
  STOP_THRESHOLD,   /* one that may end the run was broken */
  STOP_CONTROL,     /* control(run) had nothing left to do */
  STOP_HOPELESS,    /* the first results were all the same failure */
};
const char *stop_reason_name(enum stop_reason r);

/* What a run shows while it goes on: main thread, 4 times a second. */
struct run_progress {
  uint64_t elapsed_ns; /* of the measured phase, or of the warm-up */
  bool warmup, draining;
  const struct progress *progress; /* cumulative, all workers */
  double request_rate, token_rate; /* over the last second */
};

struct run_callbacks {
  /* Every record as it ends, on its worker's thread; warm-up ones too. */
  void (*record)(unsigned worker, const struct record *r, void *ud);
  /* At least once a second on each worker's thread: flush what must not be
   * lost. */
  void (*flush)(unsigned worker, void *ud);
  void (*progress)(const struct run_progress *p, void *ud);
  /* The measured phase is about to begin: main thread, nothing in flight. */
  void (*measuring)(void *ud);
  void *ud;
};

/* A stretch of the measured phase with figures of its own: a stage of the
 * load (requests that began in it), or what run:measure saw (requests that
 * ended in it). */
struct run_stage {
  char *label;
  struct stage rule;      /* strings and offsets are not its own */
  uint64_t t0_ns, end_ns; /* end 0: with the run */
  bool by_end;            /* run:measure's */
  struct metrics *metrics;
};

struct run_result {
  /* From run_prepare on. */
  struct vm *vm; /* the main thread's: setup(), a sample, summary() */
  struct script_errors *errors;
  struct watchdog *watchdog;
  struct buf data;      /* what setup() returned */
  struct vm_http *http; /* where its run:http goes */

  uint64_t began_ns;                /* of the first phase; set once, before
                                      * any worker sends; 0: never */
  uint64_t epoch_ns, epoch_wall_ns; /* time zero of the measured phase, of
                                      * the warm-up until that begins */

  struct metrics *metrics; /* all workers'; NULL: run_execute failed */
  struct sessions sessions;
  struct calls calls; /* of s:http */
  /* What the scenario recorded, in all VMs; the main thread's own goes here
   * directly. Declared by run_prepare. */
  struct custom custom;
  struct stage_names stage_names; /* of records' stages; the array is ours */
  size_t broken;       /* 1 + the threshold that ended the run; 0: none */
  double broken_value; /* what it was then; see judge.h */
  struct run_stage *stages;
  size_t n_stages;
  struct buf reports;            /* run:report's: a JSON object, or empty */
  struct buf said;               /* run:say's lines, for people */
  const struct backend *backend; /* of a request that was sent, else of those
                                  * that name none; NULL: plain HTTP */
  struct buf *exits;    /* what exit(ctx) returned on each of `threads` */
  struct client client; /* merged over workers */
  struct net_counts net;
  enum net_clock clock;
  enum stop_reason stop_reason;
  char stop_detail[200];  /* the script's words, the signal's name, or "" */
  int signal;             /* 0, SIGINT, SIGTERM or SIGHUP */
  bool control_failed;    /* control(run) ended in an error, */
  bool teardown_failed;   /* and so did teardown(run), */
  bool exit_failed;       /* or exit(ctx) on a thread */
  unsigned threads;       /* workers that there were */
  char *preconnect_error; /* NULL when all went well */
};

/* The script is loaded and its setup() run, on the calling thread. 0, or -1
 * with messages. Free the result in both cases. */
int run_prepare(const struct config *c, const struct scenario *s,
                struct run_result *out, struct err *e);
/* After run_prepare: the run, to its end. 0, or -1 with messages when it could
 * not start (nothing was sent then). SIGINT, SIGTERM and SIGHUP end the run:
 * the first stops sending and waits a little for what is in flight, the second
 * cancels that. */
int run_execute(const struct config *c, const struct scenario *s,
                const struct run_callbacks *cb, struct run_result *out,
                struct err *e);
void run_result_free(struct run_result *r);

#endif
