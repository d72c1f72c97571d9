#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/dist.h"

static double mean_of(const char *text)
{
  struct dist d;
  struct err e = {0};
  struct rng r;
  double sum = 0;
  rng_init(&r, 1, RNG_REQUEST, 1);
  if (dist_parse(str_of(text), &d, "x", &e) < 0)
    fail_msg("%s", err_text(&e));
  for (int i = 0; i < 20000; i++)
    sum += dist_sample(&d, &r);
  return sum / 20000;
}

static void every_kind_has_its_mean(void **state)
{
  static const struct {
    const char *text;
    double mean;
  } rows[] = {
      {"12", 12},
      {" 250ms ", 0.25},
      {"constant(1.5m)", 90},
      {"uniform(1, 3)", 2},
      {"uniform(100ms,300ms)", 0.2},
      {"normal(5, 1)", 5},
      {"lognormal(0.4s, 0.3)", 0.4 * 1.046},
      {"lognormal( 2 , 0 )", 2},
      {"exp(0.5)", 0.5},
      {"gamma(2, 3)", 6},
      {"zipf(1, 1)", 1},
      {"zipf(2, 0)", 1.5},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double mean = mean_of(rows[i].text);
    if (fabs(mean / rows[i].mean - 1) > 0.05)
      fail_msg("%s: %g, not %g", rows[i].text, mean, rows[i].mean);
  }
}

static void a_normal_is_never_below_zero(void **state)
{
  struct dist d = {DIST_NORMAL, 0, 1};
  struct rng r;
  (void)state;
  rng_init(&r, 1, RNG_REQUEST, 1);
  for (int i = 0; i < 1000; i++)
    assert_true(dist_sample(&d, &r) >= 0);
}

static void what_is_no_distribution(void **state)
{
  static const struct {
    const char *text, *words;
  } rows[] = {
      {"", "'' is not a distribution"},
      {"soon", "'soon' is not a distribution"},
      {"inf", "is not a distribution"},
      {"normal", "'normal' is not a distribution"},
      {"normal(1, 2", "is not a distribution"},
      {"normal(1)", "normal takes 2 numbers"},
      {"normal(1, 2, 3)", "normal takes 2 numbers"},
      {"normal(a, b)", "normal takes 2 numbers"},
      {"exp(1, 2)", "exp takes 1 number,"},
      {"exp()", "exp takes 1 number,"},
      {"exp(-1)", "must not be negative"},
      {"normal(1, -1)", "sd must not be negative"},
      {"uniform(3, 1)", "lo must not be above hi"},
      {"lognormal(0, 1)", "the median must be above 0"},
      {"gamma(0, 1)", "the shape must be above 0"},
      {"zipf(0, 1)", "n must be at least 1"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct dist d = {DIST_CONSTANT, 7, 0};
    struct err e = {0};
    assert_int_equal(dist_parse(str_of(rows[i].text), &d, "-P x", &e), -1);
    if (!strstr(err_text(&e), rows[i].words))
      fail_msg("%s: %s", rows[i].text, err_text(&e));
    assert_non_null(strstr(err_text(&e), "-P x: "));
    assert_true(d.a == 7);
    err_free(&e);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_has_its_mean),
      cmocka_unit_test(a_normal_is_never_below_zero),
      cmocka_unit_test(what_is_no_distribution),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
