/* timer.h -- wake up at an absolute instant, to the kernel's precision.
 * A timerfd on CLOCK_MONOTONIC, watched by libev. libev's own timers over
 * epoll are rounded up to whole milliseconds (p50 0.5 ms late, p99 1.0); a
 * timerfd is late by about 0.03 and 0.1 ms, which is what an arrival
 * timetable needs. For deadlines of seconds ev_timer is good enough. */
#ifndef STOKE_NET_TIMER_H
#define STOKE_NET_TIMER_H

#include <ev.h>
#include <stdint.h>

#include "base/err.h"

struct timer;

/* From the loop, once per timer_at, at or after the instant asked for. It
 * may call timer_at again. */
typedef void timer_cb(struct timer *t, void *ud);

struct timer {
  ev_io io;
  struct ev_loop *loop;
  timer_cb *cb;
  void *ud;
  int fd; /* -1: closed */
};

/* 0, or -1 and a message when the system has no descriptor left (the timer
 * may then still be given to timer_deinit). */
int timer_init(struct timer *t, struct ev_loop *loop, timer_cb *cb, void *ud,
               struct err *e);
void timer_deinit(struct timer *t);
/* Fire at `at_ns` (CLOCK_MONOTONIC, as clock_ns); an instant in the past
 * fires in the next turn of the loop. Replaces an earlier one. */
void timer_at(struct timer *t, uint64_t at_ns);
void timer_stop(struct timer *t);

#endif
