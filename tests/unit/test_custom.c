#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/custom.h"

/* ---- trends ---- */

static int ascending(const void *pa, const void *pb)
{
  double a = *(const double *)pa, b = *(const double *)pb;
  return a < b ? -1 : a > b;
}

/* As numpy.percentile, on the sorted values. */
static double exact(const double *x, size_t n, double p)
{
  double rank = p / 100 * (double)(n - 1);
  size_t i = (size_t)rank;
  double next = i + 1 < n ? x[i + 1] : x[i];
  return x[i] + (next - x[i]) * (rank - (double)i);
}

static bool close_to(double a, double b, double scale)
{
  return fabs(a - b) <= 1e-3 * scale + 1e-300;
}

/* Values of any size and sign, not only ns: within 0.1 %. */
static void trends_are_within_a_thousandth(void **state)
{
  enum { N = 4000 };
  static double x[N];
  struct rng rng;
  (void)state;
  rng_init(&rng, 1, RNG_SETUP, 0);
  for (int round = 0; round < 5; round++) {
    struct trend t = {0};
    for (size_t i = 0; i < N; i++) {
      double u = rng_double(&rng);
      x[i] = round == 0   ? u
             : round == 1 ? (u - 0.5) * 1e6
             : round == 2 ? exp(100 * (u - 0.5))
             : round == 3 ? -exp(20 * u)
                          : 1e9 + u;
      trend_add(&t, x[i]);
    }
    qsort(x, N, sizeof *x, ascending);
    for (double p = 0; p <= 100; p += 0.5) {
      double want = exact(x, N, p);
      /* Between neighbours of both signs the scale is theirs. */
      size_t i = (size_t)(p / 100 * (N - 1));
      double scale = fmax(fabs(x[i]), fabs(x[i + 1 < N ? i + 1 : i]));
      assert_true(close_to(trend_percentile(&t, p), want, scale));
    }
    assert_true(t.min == x[0] && t.max == x[N - 1]);
    trend_deinit(&t);
  }
}

static void trends_of_special_values(void **state)
{
  static const double x[] = {0, -0.0, 5e-324,   -5e-324, DBL_MIN, DBL_MAX,
                             1, -1,   -DBL_MAX, 0.1,     1e-9};
  struct trend t = {0};
  (void)state;
  assert_true(isnan(trend_percentile(&t, 50)) && isnan(trend_mean(&t)) &&
              isnan(trend_std(&t)));
  for (size_t i = 0; i < sizeof x / sizeof *x; i++)
    trend_add(&t, x[i]);
  assert_true(trend_percentile(&t, 0) == -DBL_MAX);
  assert_true(trend_percentile(&t, 100) == DBL_MAX);
  assert_true(trend_percentile(&t, 50) == 0);
  trend_deinit(&t);
  for (int i = 0; i < 9; i++)
    trend_add(&t, 0.25);
  assert_true(trend_percentile(&t, 99) == 0.25 && trend_std(&t) == 0);
  trend_deinit(&t);
}

static void whole_numbers_stay_whole(void **state)
{
  struct trend t = {0};
  (void)state;
  for (int i = 1; i <= 1001; i++)
    trend_add(&t, i - 501);
  assert_true(trend_percentile(&t, 50) == 0);
  assert_true(trend_percentile(&t, 90) == 400);
  assert_true(trend_percentile(&t, 10) == -400);
  assert_true(trend_mean(&t) == 0);
  trend_deinit(&t);
}

static void a_small_spread_on_a_large_mean(void **state)
{
  struct trend t = {0};
  (void)state;
  for (int i = 0; i < 1000; i++)
    trend_add(&t, 1e9 + (i % 2 ? 1 : -1));
  assert_true(fabs(trend_std(&t) - 1) < 1e-3);
  trend_deinit(&t);
}

/* ---- metrics ---- */

static void declare(struct custom *c)
{
  struct err e = {0};
  json_value *v =
      json_parse(STR("{\"tool_wait\":\"trend\",\"calls\":\"counter\","
                     "\"depth\":\"gauge\",\"finished\":\"rate\"}"),
                 NULL);
  *c = (struct custom){0};
  assert_int_equal(custom_declare(c, v, "my.lua", &e), 0);
  json_free(v);
  err_free(&e);
}

static struct custom_metric *find(struct custom *c, const char *name)
{
  return custom_find(c, str_of(name));
}

static void names_of_figures_are_refused(void **state)
{
  struct custom c = {0};
  struct err e = {0};
  json_value *v = json_parse(
      STR("{\"ttft\":\"trend\",\"error_rate\":\"rate\",\"mine\":\"rate\"}"),
      NULL);
  (void)state;
  assert_int_equal(custom_declare(&c, v, "my.lua", &e), -1);
  assert_int_equal(e.count, 2);
  assert_non_null(strstr(err_text(&e), "my.lua: metrics.ttft"));
  json_free(v);
  err_free(&e);
  custom_deinit(&c);
}

/* Four workers count their responses; the sum is the number of responses. */
static void b145_counters_add_up_over_workers(void **state)
{
  struct custom all, workers[4];
  double fractions = 0;
  (void)state;
  declare(&all);
  for (int w = 0; w < 4; w++)
    custom_like(&workers[w], &all);
  for (int i = 0; i < 1000; i++)
    custom_record(find(&workers[i % 4], "calls"), 1, 0);
  for (int w = 0; w < 4; w++)
    custom_merge(&all, &workers[w]);
  assert_true(sum_value(&find(&all, "calls")->sum) == 1000);
  assert_int_equal(find(&all, "calls")->count, 1000);
  /* Tenths, which no double holds, in another order every time. */
  for (int order = 0; order < 3; order++) {
    struct custom one;
    custom_like(&one, &all);
    for (int i = 0; i < 1000; i++)
      custom_record(find(&one, "calls"), (i * 7 + order) % 10 / 10.0, 0);
    fractions = order ? fractions : sum_value(&find(&one, "calls")->sum);
    assert_true(sum_value(&find(&one, "calls")->sum) == fractions);
    custom_deinit(&one);
  }
  assert_true(fractions == 450);
  for (int w = 0; w < 4; w++)
    custom_deinit(&workers[w]);
  custom_deinit(&all);
}

/* Each record in the parts that it belongs to, whatever worker it was on. */
static void parts_merge(void **state)
{
  const struct filter ramp = {{{"stage", "ramp"}}, 1};
  const struct filter late = {{{"stage", "ramp"}, {"class", "a"}}, 2};
  struct custom all, w[2];
  (void)state;
  declare(&all);
  for (size_t i = 0; i < all.n_metrics; i++)
    if (strcmp(all.metrics[i].name, "calls") == 0) {
      custom_add_part(&all, i, &ramp);
      custom_add_part(&all, i, &late);
      custom_add_part(&all, i, &ramp); /* there it is already */
      assert_ptr_equal(custom_part(&all, i, &ramp), &all.parts[0].metric);
      assert_ptr_equal(custom_part(&all, i, &(struct filter){0}),
                       &all.metrics[i]);
      assert_null(custom_part(&all, i + 1, &ramp));
    }
  assert_int_equal(all.n_parts, 2);
  assert_string_equal(all.parts[1].metric.name, "calls{stage=ramp,class=a}");
  assert_true(find(&all, "calls")->parted && !find(&all, "depth")->parted);
  for (int i = 0; i < 2; i++) {
    struct custom_metric *m;
    custom_like(&w[i], &all);
    m = find(&w[i], "calls");
    custom_record_parts(&w[i], m, 1, 0, "ramp", "class=a,x=y");
    custom_record_parts(&w[i], m, 10, 0, "ramp", "class=b");
    custom_record_parts(&w[i], m, 100, 0, NULL, "class=a");
    custom_record_parts(&w[i], m, 1000, 0, "flat", "");
  }
  custom_merge(&all, &w[0]);
  custom_merge(&all, &w[1]);
  assert_true(sum_value(&all.parts[0].metric.sum) == 22);
  assert_true(sum_value(&all.parts[1].metric.sum) == 2);
  for (int i = 0; i < 2; i++)
    custom_deinit(&w[i]);
  custom_deinit(&all);
}

static void gauges_rates_and_trends_merge(void **state)
{
  struct custom a, b;
  struct custom_metric *m;
  (void)state;
  declare(&a);
  custom_like(&b, &a);
  custom_record(find(&a, "depth"), 7, 300);
  custom_record(find(&b, "depth"), -2, 100);
  custom_record(find(&b, "depth"), 9, 200);
  custom_record(find(&a, "finished"), 1, 0);
  custom_record(find(&b, "finished"), 0, 0);
  custom_record(find(&b, "tool_wait"), 0.5, 0);
  custom_record(find(&a, "tool_wait"), 1.5, 0);
  custom_merge(&a, &b);
  m = find(&a, "depth");
  assert_true(m->value == 7 && m->min == -2 && m->max == 9);
  m = find(&a, "finished");
  assert_int_equal(m->passed, 1);
  assert_int_equal(m->count, 2);
  m = find(&a, "tool_wait");
  assert_true(trend_mean(&m->trend) == 1);
  assert_null(find(&a, "tool_waits"));
  custom_deinit(&a);
  custom_deinit(&b);
}

/* ---- checks ---- */

static void checks_are_counted_by_name(void **state)
{
  struct custom a = {0}, b = {0};
  (void)state;
  for (int i = 0; i < 10; i++)
    custom_check(i % 2 ? &a : &b, STR("status is 200"), i != 3);
  custom_check(&b, STR("has text"), true);
  custom_merge(&a, &b);
  custom_sort(&a);
  assert_int_equal(a.n_checks, 2);
  assert_string_equal(a.checks[0].name, "has text");
  assert_int_equal(a.checks[1].passed, 9);
  assert_int_equal(a.checks[1].failed, 1);
  custom_deinit(&a);
  custom_deinit(&b);
}

/* Names made of ids must not eat the memory, nor be lost. */
static void checks_are_bounded(void **state)
{
  struct custom a = {0}, b = {0};
  uint64_t sum = 0;
  (void)state;
  for (int i = 0; i < 2000; i++) {
    char name[300];
    snprintf(name, sizeof name, "%0250d", i % 1000);
    snprintf(name, 20, "check %d", i);
    custom_check(i % 2 ? &a : &b, str_of(name), true);
  }
  custom_merge(&a, &b);
  assert_int_equal(a.n_checks, CHECKS_MAX);
  for (size_t i = 0; i < a.n_checks; i++)
    sum += a.checks[i].passed;
  assert_int_equal(sum, 2000);
  assert_string_equal(a.checks[CHECKS_MAX - 1].name, "(other)");
  custom_deinit(&a);
  custom_deinit(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trends_are_within_a_thousandth),
      cmocka_unit_test(trends_of_special_values),
      cmocka_unit_test(whole_numbers_stay_whole),
      cmocka_unit_test(a_small_spread_on_a_large_mean),
      cmocka_unit_test(names_of_figures_are_refused),
      cmocka_unit_test(b145_counters_add_up_over_workers),
      cmocka_unit_test(parts_merge),
      cmocka_unit_test(gauges_rates_and_trends_merge),
      cmocka_unit_test(checks_are_counted_by_name),
      cmocka_unit_test(checks_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
