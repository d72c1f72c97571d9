/* alarm.h -- wake up after a while, cheaply: thousands of users who think.
 * One of libev's own timers, so up to a millisecond late (timer.h is for
 * instants that must be met). Embed it; zeroed is not set. */
#ifndef STOKE_NET_ALARM_H
#define STOKE_NET_ALARM_H

#include <ev.h>
#include <stdint.h>

struct alarm;

/* From the loop, once per alarm_set. The alarm may be set again. */
typedef void alarm_cb(struct alarm *a, void *ud);

struct alarm {
  ev_timer timer;
  struct ev_loop *loop;
  alarm_cb *cb;
  void *ud;
};

/* Fire `after_ns` from now, whatever the loop believes is now. Replaces an
 * earlier setting. */
void alarm_set(struct alarm *a, struct ev_loop *loop, uint64_t after_ns,
               alarm_cb *cb, void *ud);
void alarm_stop(struct alarm *a);

#endif
