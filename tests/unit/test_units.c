#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/units.h"

enum { UNTOUCHED = 77 };

static uint64_t duration(const char *s)
{
  uint64_t ns = UNTOUCHED;
  int rc = units_duration(str_of(s), &ns);
  assert_true(rc == 0 || ns == UNTOUCHED);
  return rc == 0 ? ns : UINT64_MAX;
}

static void durations(void **state)
{
  (void)state;
  assert_int_equal(duration("30"), 30000000000);
  assert_int_equal(duration("30s"), 30000000000);
  assert_int_equal(duration(" 1.5 m "), 90000000000);
  assert_int_equal(duration("5min"), 300000000000);
  assert_int_equal(duration("250ms"), 250000000);
  assert_int_equal(duration("100us"), 100000);
  assert_int_equal(duration("7ns"), 7);
  assert_int_equal(duration("2h"), 7200000000000);
  assert_int_equal(duration("1d"), 86400000000000);
  assert_int_equal(duration(".5"), 500000000);
  assert_int_equal(duration("1e3ms"), 1000000000);
  assert_int_equal(duration("0"), 0);
}

static void no_durations(void **state)
{
  static const char *const bad[] = {
      "",
      " ",
      "s",
      "-1",
      "-0.1s",
      "1 5s",
      "5x",
      "5S",
      "5 m s",
      "1e",
      "1,5",
      "0x10",
      "inf",
      "nan",
      "1e300",
      "1e10d",
      "5m30s",
      "--5",
      "+-5",
      ".",
      "1..5",
      "999999999999999999999999999999999999999999999999999999999999999999999s"};
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(duration(bad[i]), UINT64_MAX);
  assert_int_equal(units_duration((struct str){"5\0s", 3}, &(uint64_t){0}), -1);
  assert_int_equal(units_duration((struct str){NULL, 0}, &(uint64_t){0}), -1);
}

static uint64_t size(const char *s)
{
  uint64_t bytes = UNTOUCHED;
  int rc = units_size(str_of(s), &bytes);
  assert_true(rc == 0 || bytes == UNTOUCHED);
  return rc == 0 ? bytes : UINT64_MAX;
}

static void sizes(void **state)
{
  (void)state;
  assert_int_equal(size("0"), 0);
  assert_int_equal(size("512"), 512);
  assert_int_equal(size("512B"), 512);
  assert_int_equal(size("4k"), 4096);
  assert_int_equal(size("4KB"), 4096);
  assert_int_equal(size("1.5KiB"), 1536);
  assert_int_equal(size("16 M"), 16777216);
  assert_int_equal(size("1GiB"), 1073741824);
  assert_int_equal(size("-1"), UINT64_MAX);
  assert_int_equal(size("4kb"), UINT64_MAX);
  assert_int_equal(size("1e16"), UINT64_MAX);
  assert_int_equal(size(""), UINT64_MAX);
}

static double number(const char *s)
{
  double x = UNTOUCHED;
  int rc = units_number(str_of(s), &x);
  assert_true(rc == 0 || x == UNTOUCHED);
  return rc == 0 ? x : NAN;
}

static void numbers(void **state)
{
  (void)state;
  assert_true(number("4") == 4);
  assert_true(number(" -0.05 ") == -0.05);
  assert_true(number("+1e-3") == 0.001);
  assert_true(isinf(number("inf")) && isinf(number("Infinity")));
  assert_true(isnan(number("-inf")));
  assert_true(isnan(number("nan")));
  assert_true(isnan(number("4s")));
  assert_true(isnan(number("0x4")));
  assert_true(isnan(number("")));
  assert_true(isnan(number("1e999")));
}

static int64_t integer(const char *s)
{
  int64_t i = UNTOUCHED;
  int rc = units_integer(str_of(s), &i);
  assert_true(rc == 0 || i == UNTOUCHED);
  return rc == 0 ? i : INT64_MIN;
}

static void integers(void **state)
{
  (void)state;
  assert_int_equal(integer("0"), 0);
  assert_int_equal(integer("-12"), -12);
  assert_int_equal(integer("1.5k"), 1500);
  assert_int_equal(integer("2M"), 2000000);
  assert_int_equal(integer("1G"), 1000000000);
  assert_int_equal(integer("9007199254740992"), INT64_C(1) << 53);
  assert_int_equal(integer("1.5"), INT64_MIN);
  assert_int_equal(integer("1e17"), INT64_MIN);
  assert_int_equal(integer("12x"), INT64_MIN);
}

static void booleans(void **state)
{
  bool b = false;
  (void)state;
  assert_int_equal(units_boolean(STR("Yes"), &b), 0);
  assert_true(b);
  assert_int_equal(units_boolean(STR("0"), &b), 0);
  assert_false(b);
  assert_int_equal(units_boolean(STR("ON"), &b), 0);
  assert_true(b);
  assert_int_equal(units_boolean(STR("maybe"), &b), -1);
  assert_int_equal(units_boolean(STR(""), &b), -1);
  assert_true(b);
}

static void check_duration(uint64_t ns, const char *want)
{
  char text[32];
  assert_string_equal(units_show_duration(ns, text), want);
}

static void durations_for_people(void **state)
{
  (void)state;
  check_duration(0, "0 us");
  check_duration(1499, "1 us");
  check_duration(999499, "999 us");
  check_duration(999500, "1 ms");
  check_duration(250000000, "250 ms");
  check_duration(999499999, "999 ms");
  check_duration(999500000, "0.9995 s");
  check_duration(1500000000, "1.5 s");
  check_duration(59994000000, "59.99 s");
  check_duration(59995000000, "1m 00s");
  check_duration(130000000000, "2m 10s");
  check_duration(3599600000000, "1h 00m");
  check_duration(3600000000000, "1h 00m");
  check_duration(90061000000000, "25h 01m");
  check_duration(UINT64_MAX / 2, "2562047h 47m");
}

static void check_count(double n, const char *want)
{
  char text[32];
  assert_string_equal(units_show_count(n, text), want);
}

static void counts_for_people(void **state)
{
  (void)state;
  check_count(0, "0");
  check_count(980, "980");
  check_count(999.96, "1.0k");
  check_count(34500, "34.5k");
  check_count(999949, "999.9k");
  check_count(999950, "1.00M");
  check_count(1234567, "1.23M");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(durations),
      cmocka_unit_test(no_durations),
      cmocka_unit_test(sizes),
      cmocka_unit_test(numbers),
      cmocka_unit_test(integers),
      cmocka_unit_test(booleans),
      cmocka_unit_test(durations_for_people),
      cmocka_unit_test(counts_for_people),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
