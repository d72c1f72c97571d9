#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static void never_runs_backwards(void **state)
{
  uint64_t last = clock_ns();
  (void)state;
  assert_true(last > 0);
  for (int i = 0; i < 100000; i++) {
    uint64_t now = clock_ns();
    assert_true(now >= last);
    last = now;
  }
}

static void wall_time_is_now(void **state)
{
  uint64_t before = (uint64_t)time(NULL);
  uint64_t now = clock_wall_ns() / NS_PER_SEC;
  (void)state;
  assert_true(before <= now);
  assert_true(now <= (uint64_t)time(NULL) + 1); /* it may lag by a tick */
}

static void thread_time_counts_work(void **state)
{
  uint64_t start = clock_thread_cpu_ns();
  volatile unsigned x = 0;
  (void)state;
  for (unsigned i = 0; i < 1000000; i++)
    x += i;
  assert_true(x > 0);
  assert_true(clock_thread_cpu_ns() > start);
}

static void check_stamp(uint64_t ns, const char *want)
{
  char text[32];
  clock_rfc3339(ns, text);
  assert_string_equal(text, want);
}

static void stamps(void **state)
{
  (void)state;
  check_stamp(0, "1970-01-01T00:00:00.000Z");
  check_stamp(UINT64_C(1796050131123000000), "2026-11-30T14:48:51.123Z");
  check_stamp(UINT64_C(1796050131999999999), "2026-11-30T14:48:51.999Z");
  check_stamp(UINT64_C(1709164800000000000), "2024-02-29T00:00:00.000Z");
}

static void compact_stamps_are_local(void **state)
{
  char text[16];
  (void)state;
  setenv("TZ", "XYZ-2", 1);
  tzset();
  clock_compact(UINT64_C(1796050131123000000), text);
  assert_string_equal(text, "20261130-164851");
}

static void conversions(void **state)
{
  (void)state;
  assert_true(ns_to_ms(1500000) == 1.5);
  assert_true(ns_to_sec(1500000000) == 1.5);
  assert_int_equal(ns_since(3, 10), 7);
  assert_int_equal(ns_since(10, 3), 0);
  assert_int_equal(ns_since(10, 10), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(never_runs_backwards),
      cmocka_unit_test(wall_time_is_now),
      cmocka_unit_test(thread_time_counts_work),
      cmocka_unit_test(stamps),
      cmocka_unit_test(compact_stamps_are_local),
      cmocka_unit_test(conversions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
