/* Figures of what is done beside the load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "stats/calls.h"

static void add(struct calls *c, const char *name, enum outcome o, uint64_t ms)
{
  const struct record r = {.http = name,
                           .phase = PHASE_MEASURE,
                           .outcome = o,
                           .sent_ns = NS_PER_SEC,
                           .done_ns = NS_PER_SEC + ms * NS_PER_MS};
  calls_add(c, &r);
}

static void by_name(void **state)
{
  struct calls c = {0};
  struct record warm = {.http = "a", .phase = PHASE_WARMUP};
  (void)state;
  add(&c, "a", OUTCOME_OK, 10);
  add(&c, "b", OUTCOME_HTTP_5XX, 10);
  add(&c, "a", OUTCOME_OK, 30);
  add(&c, "a", OUTCOME_CONNECT, 500);
  calls_add(&c, &warm);
  assert_int_equal(c.n, 2);
  assert_string_equal(c.list[0].name, "a");
  assert_int_equal(c.list[0].count, 3);
  assert_int_equal(c.list[0].failed, 1);
  assert_int_equal(c.list[0].latency.count, 2);
  assert_float_equal(hist_mean(&c.list[0].latency), 20e6, 1);
  assert_int_equal(c.list[1].failed, 1);
  assert_int_equal(c.list[1].latency.count, 0);
  calls_deinit(&c);
}

static void merging_is_adding(void **state)
{
  struct calls a = {0}, b = {0};
  (void)state;
  add(&a, "x", OUTCOME_OK, 1);
  add(&b, "y", OUTCOME_OK, 2);
  add(&b, "x", OUTCOME_HTTP_4XX, 3);
  calls_merge(&a, &b);
  calls_deinit(&b);
  assert_int_equal(a.n, 2);
  assert_int_equal(a.list[0].count, 2);
  assert_int_equal(a.list[0].failed, 1);
  assert_int_equal(a.list[1].latency.max, 2 * NS_PER_MS);
  calls_deinit(&a);
}

static void names_are_bounded(void **state)
{
  struct calls c = {0};
  char name[300];
  (void)state;
  for (int i = 0; i < 500; i++) {
    snprintf(name, sizeof name, "%d %0200d", i, 0);
    add(&c, name, OUTCOME_OK, 1);
  }
  assert_int_equal(c.n, CALL_NAMES);
  assert_string_equal(c.list[CALL_NAMES - 1].name, "(other)");
  assert_int_equal(c.list[CALL_NAMES - 1].count, 500 - CALL_NAMES + 1);
  calls_deinit(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(by_name),
      cmocka_unit_test(merging_is_adding),
      cmocka_unit_test(names_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
