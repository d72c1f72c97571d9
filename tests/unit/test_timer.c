#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "net/timer.h"

struct seen {
  unsigned fired;
  uint64_t at_ns, again_ns;
};

static void fire(struct timer *t, void *ud)
{
  struct seen *s = ud;
  s->fired++;
  s->at_ns = clock_ns();
  if (s->again_ns)
    timer_at(t, s->again_ns);
  s->again_ns = 0;
}

struct fixture {
  struct ev_loop *loop;
  struct timer timer;
  struct seen seen;
};

static int setup(void **state)
{
  static struct fixture f;
  struct err e = {0};
  f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO)};
  assert_int_equal(timer_init(&f.timer, f.loop, fire, &f.seen, &e), 0);
  *state = &f;
  return 0;
}

static int teardown(void **state)
{
  struct fixture *f = *state;
  timer_deinit(&f->timer);
  timer_deinit(&f->timer); /* twice is fine */
  ev_loop_destroy(f->loop);
  return 0;
}

static void stop_loop(EV_P_ ev_timer *w, int revents)
{
  (void)w;
  (void)revents;
  ev_break(EV_A_ EVBREAK_ALL);
}

static void run_for(struct fixture *f, double seconds)
{
  ev_timer end;
  ev_timer_init(&end, stop_loop, seconds, 0);
  ev_now_update(f->loop);
  ev_timer_start(f->loop, &end);
  ev_run(f->loop, 0);
}

/* Until it fired so often, which may take a stalled machine its time. */
static void run_until(struct fixture *f, unsigned fired)
{
  for (int i = 0; i < 600 && f->seen.fired < fired; i++)
    run_for(f, 0.05);
}

static void fires_once_and_never_early(void **state)
{
  struct fixture *f = *state;
  uint64_t due = clock_ns() + 1500 * NS_PER_US;
  timer_at(&f->timer, due);
  run_until(f, 1);
  run_for(f, 0.02); /* and not again */
  assert_int_equal(f->seen.fired, 1);
  assert_true(f->seen.at_ns >= due);
}

static void an_instant_in_the_past_fires_at_once(void **state)
{
  struct fixture *f = *state;
  timer_at(&f->timer, 0);
  run_until(f, 1);
  assert_int_equal(f->seen.fired, 1);
}

static void can_be_set_from_its_callback(void **state)
{
  struct fixture *f = *state;
  uint64_t now = clock_ns();
  f->seen.again_ns = now + 2 * NS_PER_MS;
  timer_at(&f->timer, now + NS_PER_MS);
  run_until(f, 2);
  assert_int_equal(f->seen.fired, 2);
  assert_true(f->seen.at_ns >= now + 2 * NS_PER_MS);
}

static void a_later_set_replaces_an_earlier_one(void **state)
{
  struct fixture *f = *state;
  uint64_t due = clock_ns() + 20 * NS_PER_MS;
  timer_at(&f->timer, due - 19 * NS_PER_MS);
  timer_at(&f->timer, due);
  run_until(f, 1);
  assert_int_equal(f->seen.fired, 1);
  assert_true(f->seen.at_ns >= due);
}

static void a_stopped_one_is_silent(void **state)
{
  struct fixture *f = *state;
  timer_at(&f->timer, clock_ns() + NS_PER_MS);
  timer_stop(&f->timer);
  run_for(f, 0.02);
  assert_int_equal(f->seen.fired, 0);
}

static void says_when_files_run_out(void **state)
{
  struct rlimit was, none;
  struct timer t;
  struct err e = {0};
  int result;
  (void)state;
  getrlimit(RLIMIT_NOFILE, &was);
  none = (struct rlimit){0, was.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  result = timer_init(&t, NULL, fire, NULL, &e);
  setrlimit(RLIMIT_NOFILE, &was);
  assert_int_equal(result, -1);
  assert_non_null(strstr(err_text(&e), "ulimit -n"));
  timer_deinit(&t);
  err_free(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(fires_once_and_never_early, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(an_instant_in_the_past_fires_at_once,
                                      setup, teardown),
      cmocka_unit_test_setup_teardown(can_be_set_from_its_callback, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_later_set_replaces_an_earlier_one,
                                      setup, teardown),
      cmocka_unit_test_setup_teardown(a_stopped_one_is_silent, setup, teardown),
      cmocka_unit_test(says_when_files_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
