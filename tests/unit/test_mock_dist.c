/* Sizes drawn at random: what is parsed, and that means are what was said. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mock/dist.h"

static void parses(void **state)
{
  static const struct {
    const char *text;
    int kind;
    double mean, sd;
  } rows[] = {
      {"20ms", MOCK_DIST_CONSTANT, 20e6, 0},
      {"0", MOCK_DIST_CONSTANT, 0, 0},
      {"constant:1.5s", MOCK_DIST_CONSTANT, 1.5e9, 0},
      {"normal:20ms:5ms", MOCK_DIST_NORMAL, 20e6, 5e6},
      {"lognormal:1s:200us", MOCK_DIST_LOGNORMAL, 1e9, 2e5},
  };
  struct mock_dist d;
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(mock_dist_parse_time(str_of(rows[i].text), &d), 0);
    assert_int_equal(d.kind, rows[i].kind);
    assert_true(d.mean == rows[i].mean && d.sd == rows[i].sd);
  }
  assert_int_equal(mock_dist_parse_count(STR("normal:64:10"), &d), 0);
  assert_true(d.mean == 64 && d.sd == 10);
}

static void refuses(void **state)
{
  static const char *const rows[] = {"",
                                     "x",
                                     "20ms:",
                                     "normal",
                                     "normal:",
                                     "normal:20ms",
                                     "normal:20ms:x",
                                     "normal:20ms:5ms:1ms",
                                     "gamma:1ms:1ms",
                                     "constant:1ms:1ms",
                                     "-5ms"};
  struct mock_dist d = {.mean = 7};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(mock_dist_parse_time(str_of(rows[i]), &d), -1);
  assert_int_equal(mock_dist_parse_count(STR("inf"), &d), -1);
  assert_int_equal(mock_dist_parse_count(STR("-1"), &d), -1);
  assert_true(d.mean == 7);
}

static void moments(const char *text, double mean, double sd)
{
  enum { N = 100000 };
  struct mock_dist d;
  struct rng r;
  double sum = 0, squares = 0;
  assert_int_equal(mock_dist_parse_count(str_of(text), &d), 0);
  rng_init(&r, 1, RNG_MOCK, 1);
  for (int i = 0; i < N; i++) {
    double x = mock_dist_draw(&d, &r);
    assert_true(x >= 0);
    sum += x;
    squares += x * x;
  }
  assert_true(fabs(sum / N - mean) < 0.02 * mean);
  assert_true(fabs(sqrt(squares / N - sum / N * (sum / N)) - sd) < 0.05 * mean);
}

static void draws_what_was_said(void **state)
{
  (void)state;
  moments("50", 50, 0);
  moments("normal:50:5", 50, 5);
  moments("lognormal:50:25", 50, 25);
}

static void never_negative(void **state)
{
  struct mock_dist d = {.kind = MOCK_DIST_NORMAL, .mean = 1, .sd = 100};
  struct rng r;
  (void)state;
  rng_init(&r, 1, RNG_MOCK, 2);
  for (int i = 0; i < 1000; i++)
    assert_true(mock_dist_draw(&d, &r) >= 0);
  d = (struct mock_dist){.kind = MOCK_DIST_LOGNORMAL};
  assert_true(mock_dist_draw(&d, &r) == 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parses),
      cmocka_unit_test(refuses),
      cmocka_unit_test(draws_what_was_said),
      cmocka_unit_test(never_negative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
