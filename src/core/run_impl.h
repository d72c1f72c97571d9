/* run_impl.h -- a run under way from the inside, for its three files: run.c
 * (phases, signals, the clock), drive.c (control(run)), collect.c (what
 * workers measured, put together). */
#ifndef STOKE_CORE_RUN_IMPL_H
#define STOKE_CORE_RUN_IMPL_H

#include <ev.h>

#include "base/clock.h"
#include "core/run.h"
#include "core/worker.h"
#include "script/control.h"

/* From the order to the common time zero: every worker must have heard of it
 * before. */
#define LEAD_NS (5 * NS_PER_MS)
/* What an interrupted run still waits for answers. */
#define BRIEF_NS (3 * NS_PER_SEC)
#define TICK_S   0.25
#define TICKS    5 /* samples kept for the rates: one second */
/* Thresholds that may end the run are looked at every so many ticks. */
#define JUDGE_TICKS 4

enum state { STARTING, WARMUP, MEASURE, ENDED };

struct sample {
  uint64_t at_ns, done, tokens;
};

struct run {
  const struct config *config;
  const struct scenario *scenario;
  const struct run_callbacks *cb;
  struct run_result *out;
  struct err *e;

  struct ev_loop *loop;
  ev_signal on_int, on_term, on_hup;
  ev_timer tick;

  struct custom declared; /* read by all workers as they start */
  struct worker **workers;
  struct progress *progress;  /* the latest of each worker */
  struct live_figures **live; /* likewise; NULL: none yet */
  uint64_t live_at_ns;        /* when they were asked for */
  unsigned ticks;
  unsigned n, ready, sent, over, hopeless;
  enum state state;
  bool failed, stopping, exhausted, out_of_time;
  uint64_t t0_ns, duration_ns; /* of the measured phase; 0: not bounded */
  struct sample samples[TICKS];
  unsigned n_samples;

  /* control(run) */
  struct control *control;
  ev_timer control_timer; /* settle, sleep, the end of a window */
  struct stage rule;      /* what it has set */
  uint16_t rule_number;
  unsigned windows; /* still to be told */
  struct run_stage *window;
  uint64_t in_flight[2];
};

/* ---- run.c ---- */

void run_start_phase(struct run *r, enum state state);
/* No new requests; what is in flight has so long. The first reason counts. */
void run_stop_sending(struct run *r, enum stop_reason why, const char *detail,
                      uint64_t grace_ns);

/* ---- drive.c ---- */

/* The measured phase begins, and whoever drives it. */
void run_start_measuring(struct run *r);
/* The run ends without it: it gets a last word. */
void run_end_control(struct run *r);
void run_on_control_timer(EV_P_ ev_timer *t, int revents);
/* A worker told its part of a window; it is taken over. */
void run_on_window(struct run *r, struct worker_window *part);

/* ---- collect.c ---- */

/* Room for one more; valid until the next call. */
struct run_stage *run_new_stage(struct run *r);
/* NULL is fine. */
void run_free_live(struct live_figures *l);
/* Ends the workers and merges their figures. */
void run_collect(struct run *r);

#endif
