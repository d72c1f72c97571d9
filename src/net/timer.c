#include "net/timer.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

static void on_expired(EV_P_ ev_io *w, int revents)
{
  struct timer *t = (struct timer *)((char *)w - offsetof(struct timer, io));
  uint64_t count;
  (void)loop;
  (void)revents;
  /* Nothing to read: it was set anew after the loop saw it fire. */
  if (read(t->fd, &count, sizeof count) == sizeof count)
    t->cb(t, t->ud);
}

static void set(struct timer *t, uint64_t at_ns)
{
  struct itimerspec when = {
      .it_value = {.tv_sec = (time_t)(at_ns / NS_PER_SEC),
                   .tv_nsec = (long)(at_ns % NS_PER_SEC)},
  };
  timerfd_settime(t->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

int timer_init(struct timer *t, struct ev_loop *loop, timer_cb *cb, void *ud,
               struct err *e)
{
  *t = (struct timer){.loop = loop, .cb = cb, .ud = ud};
  t->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (t->fd < 0)
    return err_add(e, "no timer: %s; raise the limit of open files (ulimit -n)",
                   strerror(errno));
  ev_io_init(&t->io, on_expired, t->fd, EV_READ);
  ev_io_start(loop, &t->io);
  return 0;
}

void timer_deinit(struct timer *t)
{
  if (!t->loop || t->fd < 0)
    return;
  ev_io_stop(t->loop, &t->io);
  close(t->fd);
  t->fd = -1;
}

void timer_at(struct timer *t, uint64_t at_ns)
{
  set(t, at_ns ? at_ns : 1); /* zero would disarm it */
}

void timer_stop(struct timer *t)
{
  set(t, 0);
}
