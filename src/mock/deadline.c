#include "mock/deadline.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/* ---- a 4-ary heap: half the depth of a binary one, and its four children
 * share a cache line ---- */

static void place(struct mock_deadlines *t, size_t pos,
                  struct mock_heap_entry e)
{
  t->heap[pos] = e;
  e.d->pos = pos;
}

static size_t parent_of(size_t pos)
{
  return (pos - 2) / 4 + 1;
}

static void sift_up(struct mock_deadlines *t, size_t pos,
                    struct mock_heap_entry e)
{
  while (pos > 1 && t->heap[parent_of(pos)].at > e.at) {
    place(t, pos, t->heap[parent_of(pos)]);
    pos = parent_of(pos);
  }
  place(t, pos, e);
}

static void sift_down(struct mock_deadlines *t, size_t pos,
                      struct mock_heap_entry e)
{
  for (;;) {
    size_t first = (pos - 1) * 4 + 2, last = first + 3, best = first;
    if (first > t->count)
      break;
    for (size_t i = first + 1; i <= last && i <= t->count; i++)
      if (t->heap[i].at < t->heap[best].at)
        best = i;
    if (t->heap[best].at >= e.at)
      break;
    place(t, pos, t->heap[best]);
    pos = best;
  }
  place(t, pos, e);
}

static void sift(struct mock_deadlines *t, size_t pos, struct mock_heap_entry e)
{
  if (pos > 1 && t->heap[parent_of(pos)].at > e.at)
    sift_up(t, pos, e);
  else
    sift_down(t, pos, e);
}

void mock_deadline_set(struct mock_deadlines *t, struct mock_deadline *d,
                       uint64_t at)
{
  struct mock_heap_entry e = {at, d};
  d->at = at;
  if (d->pos) {
    sift(t, d->pos, e);
    return;
  }
  if (t->count + 1 >= t->cap) {
    t->cap = t->cap ? t->cap * 2 : 64;
    t->heap = mem_resize(t->heap, t->cap, sizeof *t->heap);
  }
  sift_up(t, ++t->count, e);
}

void mock_deadline_clear(struct mock_deadlines *t, struct mock_deadline *d)
{
  size_t pos = d->pos;
  struct mock_heap_entry last;
  if (!pos)
    return;
  d->pos = 0;
  last = t->heap[t->count--];
  if (last.d != d)
    sift(t, pos, last);
}

/* ---- the loop's side ---- */

static void fire_due(struct mock_deadlines *t)
{
  /* One reading of the clock bounds the turn: what becomes due while these
   * fire waits for the sockets' turn. */
  uint64_t now = clock_ns();
  while (t->count && t->heap[1].at <= now) {
    struct mock_deadline *d = t->heap[1].d;
    mock_deadline_clear(t, d);
    d->fire(d);
  }
}

static void arm(struct mock_deadlines *t)
{
  uint64_t at = t->count ? t->heap[1].at : 0;
  struct itimerspec spec = {0};
  if (at == t->armed)
    return;
  spec.it_value.tv_sec = (time_t)(at / NS_PER_SEC);
  spec.it_value.tv_nsec = (long)(at % NS_PER_SEC);
  timerfd_settime(t->fd, TFD_TIMER_ABSTIME, &spec, NULL);
  t->armed = at;
}

static void on_prepare(EV_P_ ev_prepare *w, int revents)
{
  struct mock_deadlines *t = w->data;
  (void)loop;
  (void)revents;
  fire_due(t);
  arm(t);
}

static void on_expired(EV_P_ ev_io *w, int revents)
{
  (void)loop;
  (void)revents;
  /* The timerfd is not read: arming it anew clears it, and while it stays
   * as it is there is still something due. */
  fire_due(w->data);
}

int mock_deadlines_init(struct mock_deadlines *t, struct ev_loop *loop)
{
  *t = (struct mock_deadlines){.loop = loop};
  t->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (t->fd < 0)
    return -1;
  ev_io_init(&t->io, on_expired, t->fd, EV_READ);
  ev_set_priority(&t->io, EV_MAXPRI); /* before the sockets of a turn */
  t->io.data = t;
  ev_io_start(loop, &t->io);
  ev_prepare_init(&t->prepare, on_prepare);
  t->prepare.data = t;
  ev_prepare_start(loop, &t->prepare);
  return 0;
}

void mock_deadlines_deinit(struct mock_deadlines *t)
{
  if (!t->loop)
    return;
  if (t->fd >= 0) {
    ev_io_stop(t->loop, &t->io);
    ev_prepare_stop(t->loop, &t->prepare);
    close(t->fd);
  }
  mem_free(t->heap);
  *t = (struct mock_deadlines){.fd = -1};
}
