/* deadline.h -- exact deadlines on an event loop.
 * A heap of absolute monotonic times behind one timerfd. libev's own timers
 * are up to a millisecond late (its epoll timeouts are whole milliseconds);
 * these are as exact as the kernel wakes the thread, and whatever is due is
 * fired in one turn, in order of time. */
#ifndef STOKE_MOCK_DEADLINE_H
#define STOKE_MOCK_DEADLINE_H

#include <stddef.h>
#include <stdint.h>

#include <ev.h>

/* Embedded by its owner; zeroed is "not set". */
struct mock_deadline {
  uint64_t at; /* ns, valid while set */
  size_t pos;  /* in the heap, from 1; 0: not set */
  void (*fire)(struct mock_deadline *d);
};

struct mock_heap_entry {
  uint64_t at;
  struct mock_deadline *d;
};

struct mock_deadlines {
  struct mock_heap_entry *heap; /* from 1 */
  size_t count, cap;
  int fd;
  uint64_t armed; /* what the timerfd waits for; 0: nothing */
  struct ev_loop *loop;
  ev_io io;
  ev_prepare prepare;
};

/* Returns 0, or -1 with errno when there is no timerfd. */
int mock_deadlines_init(struct mock_deadlines *t, struct ev_loop *loop);
void mock_deadlines_deinit(struct mock_deadlines *t);

/* Call d->fire at `at` (a time gone by: in the next turn). Setting again
 * moves it. */
void mock_deadline_set(struct mock_deadlines *t, struct mock_deadline *d,
                       uint64_t at);
/* Nothing happens when it is not set. */
void mock_deadline_clear(struct mock_deadlines *t, struct mock_deadline *d);

#endif
