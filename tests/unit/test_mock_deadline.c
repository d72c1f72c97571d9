/* The heap against a sorted list, and the timerfd behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/rng.h"
#include "mock/deadline.h"

struct item {
  struct mock_deadline d;
  struct log *log;
  uint64_t fired_at;
};

struct log {
  uint64_t order[4096];
  size_t n, stop_at;
  struct ev_loop *loop;
};

static void on_fire(struct mock_deadline *d)
{
  struct item *i = LIST_ENTRY(d, struct item, d);
  i->fired_at = clock_ns();
  i->log->order[i->log->n++] = d->at;
  if (i->log->n == i->log->stop_at)
    ev_break(i->log->loop, EVBREAK_ALL);
}

static void many_fire_in_order(void **state)
{
  enum { N = 2000 };
  static struct item items[N];
  static struct log log;
  struct mock_deadlines t;
  struct rng r;
  uint64_t start = clock_ns();
  size_t cleared = 0;
  (void)state;
  log = (struct log){.loop = ev_loop_new(0)};
  assert_int_equal(mock_deadlines_init(&t, log.loop), 0);
  rng_init(&r, 1, RNG_MOCK, 3);
  for (int i = 0; i < N; i++) {
    items[i] = (struct item){.d.fire = on_fire, .log = &log};
    mock_deadline_set(&t, &items[i].d, start + rng_below(&r, 20000000));
  }
  for (int i = 0; i < N; i += 3) /* move some, to earlier and later */
    mock_deadline_set(&t, &items[i].d, start + rng_below(&r, 20000000));
  for (int i = 0; i < N; i += 7, cleared++)
    mock_deadline_clear(&t, &items[i].d);
  mock_deadline_clear(&t, &items[0].d); /* twice is fine */
  log.stop_at = N - cleared;
  ev_run(log.loop, 0);
  assert_int_equal(log.n, N - cleared);
  for (size_t i = 1; i < log.n; i++)
    assert_true(log.order[i - 1] <= log.order[i]);
  for (int i = 0; i < N; i++) {
    assert_int_equal(items[i].fired_at == 0, i % 7 == 0);
    if (items[i].fired_at)
      assert_true(items[i].fired_at >= items[i].d.at);
  }
  mock_deadlines_deinit(&t);
  ev_loop_destroy(log.loop);
}

static void a_past_one_fires_at_once_and_again(void **state)
{
  struct log log = {.loop = ev_loop_new(0)};
  struct item a = {.d.fire = on_fire, .log = &log};
  struct mock_deadlines t;
  (void)state;
  assert_int_equal(mock_deadlines_init(&t, log.loop), 0);
  for (int i = 1; i <= 3; i++) {
    mock_deadline_set(&t, &a.d, 5); /* always the same instant */
    log.stop_at = (size_t)i;
    ev_run(log.loop, 0);
    assert_int_equal(log.n, i);
    assert_int_equal(a.d.pos, 0);
  }
  mock_deadlines_deinit(&t);
  ev_loop_destroy(log.loop);
}

/* More exact than a millisecond, which is what epoll's timeouts give. */
static void exact(void **state)
{
  enum { MOST = 2000 };
  struct log log = {.loop = ev_loop_new(0)};
  struct mock_deadlines t;
  struct item a = {.d.fire = on_fire, .log = &log};
  unsigned good = 0;
  (void)state;
  assert_int_equal(mock_deadlines_init(&t, log.loop), 0);
  /* A busy machine may spoil many, but not nearly all. */
  for (int i = 1; i <= MOST && good < 5; i++) {
    mock_deadline_set(&t, &a.d, clock_ns() + 1300000);
    log.stop_at = (size_t)i;
    ev_run(log.loop, 0);
    good += a.fired_at - a.d.at < 500000;
  }
  assert_int_equal(good, 5);
  mock_deadlines_deinit(&t);
  ev_loop_destroy(log.loop);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_fire_in_order),
      cmocka_unit_test(a_past_one_fires_at_once_and_again),
      cmocka_unit_test(exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
