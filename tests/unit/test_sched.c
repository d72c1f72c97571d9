#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/sched.h"

#define T0 UINT64_C(1000000000000)

static void closed_loop_fills_and_refills_its_slots(void **state)
{
  struct load l = {.max_concurrency = 3, .num_requests = 5};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, &l, 1, 0, 1, T0);
  assert_int_equal(sched_next(&s, T0 - 5, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, T0);
  for (uint64_t id = 1; id <= 3; id++) {
    assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
    assert_int_equal(item.id, id);
    assert_int_equal(item.due_ns, T0);
    assert_false(item.capped);
  }
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, 0);
  sched_ended(&s, T0 + 100);
  /* Looked at later than it was freed: due says since when it could go. */
  assert_int_equal(sched_next(&s, T0 + 130, &item, &wake), SCHED_START);
  assert_int_equal(item.due_ns, T0 + 100);
  sched_ended(&s, T0 + 140);
  assert_int_equal(sched_next(&s, T0 + 140, &item, &wake), SCHED_START);
  assert_int_equal(item.id, 5);
  assert_int_equal(sched_next(&s, T0 + 150, &item, &wake), SCHED_OVER);
  sched_deinit(&s);
}

static void closed_loop_ends_with_its_time(void **state)
{
  struct load l = {.max_concurrency = 1, .duration_ns = 500};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, &l, 1, 0, 1, T0);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, T0 + 500);
  sched_ended(&s, T0 + 499);
  assert_int_equal(sched_next(&s, T0 + 499, &item, &wake), SCHED_START);
  sched_ended(&s, T0 + 500);
  assert_int_equal(sched_next(&s, T0 + 500, &item, &wake), SCHED_OVER);
  sched_deinit(&s);
}

static void b053_a_cap_delays_but_keeps_due(void **state)
{
  struct load l = {.request_rate = 100,
                   .arrival = ARRIVAL_CONSTANT,
                   .max_concurrency = 1,
                   .num_requests = 3};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, &l, 1, 0, 1, T0);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
  assert_int_equal(sched_next(&s, T0 + NS_PER_MS, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, T0 + 10 * NS_PER_MS);
  assert_int_equal(sched_next(&s, T0 + 10 * NS_PER_MS, &item, &wake),
                   SCHED_WAIT);
  assert_int_equal(wake, 0);
  sched_ended(&s, T0 + 100 * NS_PER_MS);
  assert_int_equal(sched_next(&s, T0 + 100 * NS_PER_MS, &item, &wake),
                   SCHED_START);
  assert_int_equal(item.due_ns, T0 + 10 * NS_PER_MS);
  assert_true(item.capped);
  sched_deinit(&s);
}

static void late_items_all_start_at_once(void **state)
{
  struct load l = {
      .request_rate = 1000, .arrival = ARRIVAL_CONSTANT, .num_requests = 50};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, &l, 1, 0, 1, T0);
  for (uint64_t i = 0; i < 50; i++) {
    assert_int_equal(sched_next(&s, T0 + NS_PER_SEC, &item, &wake),
                     SCHED_START);
    assert_int_equal(item.due_ns, T0 + i * NS_PER_MS);
  }
  assert_int_equal(sched_next(&s, T0 + NS_PER_SEC, &item, &wake), SCHED_OVER);
  sched_deinit(&s);
}

/* The union of n workers' items, by id: exactly the one-thread run. */
static void threads_share_one_timetable(void **state)
{
  struct load l = {
      .request_rate = 500, .arrival = ARRIVAL_POISSON, .num_requests = 1000};
  static uint64_t one[1001], many[1001];
  (void)state;
  for (unsigned workers = 1; workers <= 7; workers++) {
    uint64_t *due = workers == 1 ? one : many, seen = 0;
    for (unsigned w = 0; w < workers; w++) {
      struct sched s;
      struct sched_item item;
      uint64_t wake;
      sched_init(&s, &l, 9, w, workers, T0);
      while (sched_next(&s, UINT64_MAX, &item, &wake) == SCHED_START) {
        due[item.id] = item.due_ns;
        seen++;
      }
      sched_deinit(&s);
    }
    assert_int_equal(seen, 1000);
    if (workers > 1)
      assert_memory_equal(one, many, sizeof one);
  }
}

static void shares_add_up(void **state)
{
  (void)state;
  for (uint64_t total = 0; total < 40; total++)
    for (unsigned n = 1; n < 9; n++) {
      uint64_t sum = 0;
      for (unsigned w = 0; w < n; w++)
        sum += sched_share(total, w, n);
      assert_int_equal(sum, total);
    }
}

static void stop_means_over(void **state)
{
  struct load l = {.max_concurrency = 2, .num_requests = 5};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, &l, 1, 0, 1, T0);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
  sched_stop(&s);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_OVER);
  assert_int_equal(s.in_flight, 1);
  sched_deinit(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_loop_fills_and_refills_its_slots),
      cmocka_unit_test(closed_loop_ends_with_its_time),
      cmocka_unit_test(b053_a_cap_delays_but_keeps_due),
      cmocka_unit_test(late_items_all_start_at_once),
      cmocka_unit_test(threads_share_one_timetable),
      cmocka_unit_test(shares_add_up),
      cmocka_unit_test(stop_means_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
