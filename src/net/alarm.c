#include "net/alarm.h"

static void on_alarm(EV_P_ ev_timer *t, int revents)
{
  struct alarm *a = t->data;
  (void)loop, (void)revents;
  a->cb(a, a->ud);
}

void alarm_set(struct alarm *a, struct ev_loop *loop, uint64_t after_ns,
               alarm_cb *cb, void *ud)
{
  alarm_stop(a);
  a->loop = loop;
  a->cb = cb;
  a->ud = ud;
  /* The loop's idea of now may be a busy turn old. */
  ev_now_update(loop);
  ev_timer_init(&a->timer, on_alarm, (double)after_ns / 1e9, 0);
  a->timer.data = a;
  ev_timer_start(loop, &a->timer);
}

void alarm_stop(struct alarm *a)
{
  if (a->loop)
    ev_timer_stop(a->loop, &a->timer);
  a->loop = NULL;
}
