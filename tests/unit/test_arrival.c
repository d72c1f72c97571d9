#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/arrival.h"

static struct stage steady(double rate, enum arrival_kind kind, uint64_t n)
{
  return (struct stage){.rate = {.from = rate, .to = rate},
                        .arrival = kind,
                        .burstiness = 1,
                        .num_requests = n};
}

static uint64_t next(struct arrival *a)
{
  uint64_t t = 0;
  assert_true(arrival_next(a, &t));
  return t;
}

static void constant_has_no_drift(void **state)
{
  struct stage s = steady(3, ARRIVAL_CONSTANT, 0);
  struct arrival a;
  (void)state;
  arrival_init(&a, &s, 1, 0);
  for (uint64_t i = 0; i < 300000; i++)
    assert_int_equal(next(&a), (uint64_t)((double)i / 3 * 1e9));
}

static void infinite_rate_is_all_at_once(void **state)
{
  struct stage s = steady(INFINITY, ARRIVAL_POISSON, 10);
  struct arrival a;
  uint64_t t;
  (void)state;
  arrival_init(&a, &s, 1, 0);
  for (int i = 0; i < 10; i++)
    assert_int_equal(next(&a), 0);
  assert_false(arrival_next(&a, &t));
}

static void b074_known_count_ends_on_time(void **state)
{
  struct stage s = steady(200, ARRIVAL_POISSON, 2000);
  uint64_t last = 0;
  (void)state;
  for (uint64_t seed = 0; seed < 20; seed++) {
    struct arrival a;
    arrival_init(&a, &s, seed, 0);
    for (int i = 0; i < 2000; i++) {
      uint64_t t = next(&a);
      assert_true(i == 0 || t >= last);
      last = t;
    }
    assert_in_range(last, 10 * NS_PER_SEC - 10, 10 * NS_PER_SEC + 10);
    assert_false(arrival_next(&a, &last));
  }
}

/* Mean and coefficient of variation of 200,000 gaps. */
static void gap_statistics(const struct stage *s, double *mean, double *cv)
{
  struct arrival a;
  double sum = 0, squares = 0;
  uint64_t last = 0;
  const int n = 200000;
  arrival_init(&a, s, 7, 0);
  for (int i = 0; i < n; i++) {
    uint64_t t = next(&a);
    double gap = (double)(t - last) / 1e9;
    sum += gap;
    squares += gap * gap;
    last = t;
  }
  *mean = sum / n;
  *cv = sqrt(squares / n - *mean * *mean) / *mean;
}

static void b087_poisson_gaps(void **state)
{
  struct stage s = steady(5, ARRIVAL_POISSON, 0);
  double mean, cv;
  (void)state;
  gap_statistics(&s, &mean, &cv);
  assert_true(fabs(mean - 0.2) < 0.2 * 0.01);
  assert_true(fabs(cv - 1) < 0.02);
}

static void gamma_shape_sets_burstiness(void **state)
{
  static const double shapes[] = {0.25, 0.5, 2, 10};
  (void)state;
  for (int i = 0; i < 4; i++) {
    struct stage s = steady(50, ARRIVAL_GAMMA, 0);
    double mean, cv;
    s.burstiness = shapes[i];
    gap_statistics(&s, &mean, &cv);
    assert_true(fabs(mean - 0.02) < 0.02 * 0.02);
    assert_true(fabs(cv - 1 / sqrt(shapes[i])) < 0.03 / sqrt(shapes[i]));
  }
}

static void b085_bins_are_poisson(void **state)
{
  struct stage s = steady(100, ARRIVAL_POISSON, 0);
  struct arrival a;
  double sum = 0, squares = 0;
  unsigned bins[2000] = {0};
  uint64_t t;
  (void)state;
  arrival_init(&a, &s, 3, 0);
  while ((t = next(&a)) < 200 * NS_PER_SEC)
    bins[t / (100 * NS_PER_MS)]++;
  for (int i = 0; i < 2000; i++) {
    sum += bins[i];
    squares += (double)bins[i] * bins[i];
  }
  sum /= 2000;
  assert_in_range((squares / 2000 - sum * sum) / sum * 1000, 800, 1200);
}

static void b076_fractional_rates(void **state)
{
  struct stage s = steady(0.01, ARRIVAL_CONSTANT, 0);
  struct arrival a;
  (void)state;
  arrival_init(&a, &s, 1, 0);
  next(&a);
  assert_int_equal(next(&a), 100 * NS_PER_SEC);
}

/* Arrivals in each tenth of a ramp, over 400 seeds, against the integral of
 * the rate over that tenth. */
static void check_ramp(const struct stage *s)
{
  double seconds = ns_to_sec(s->duration_ns), got[10] = {0};
  for (uint64_t seed = 0; seed < 400; seed++) {
    struct arrival a;
    uint64_t t;
    arrival_init(&a, s, seed, 1);
    while (arrival_next(&a, &t)) {
      assert_true(t < s->duration_ns);
      got[(int)(ns_to_sec(t) / seconds * 10)]++;
    }
  }
  for (int i = 0; i < 10; i++) {
    double want = 0, sd;
    for (int k = 0; k < 1000; k++)
      want += ramp_at(&s->rate, (i + (k + 0.5) / 1000) / 10 * seconds, seconds);
    want *= seconds / 10 / 1000;
    sd = sqrt(want / 400);
    assert_true(fabs(got[i] / 400 - want) < 5 * sd);
  }
}

static void ramps_follow_their_integral(void **state)
{
  static const struct ramp ramps[] = {
      {1, 40, RAMP_LINEAR, 0},      {40, 0, RAMP_LINEAR, 0},
      {0, 30, RAMP_LINEAR, 0},      {1, 50, RAMP_EXPONENTIAL, 0},
      {50, 2, RAMP_EXPONENTIAL, 0}, {5, 50, RAMP_STEP, 10},
      {5, 50, RAMP_STEP, 5}};
  (void)state;
  for (size_t i = 0; i < sizeof ramps / sizeof *ramps; i++) {
    struct stage s = steady(0, ARRIVAL_POISSON, 0);
    s.rate = ramps[i];
    s.duration_ns = 10 * NS_PER_SEC;
    check_ramp(&s);
  }
}

static void a_constant_ramp_has_one_arrival_a_unit(void **state)
{
  struct stage s = steady(0, ARRIVAL_CONSTANT, 0);
  struct arrival a;
  uint64_t t, n = 0;
  (void)state;
  s.rate = (struct ramp){.from = 0, .to = 20};
  s.duration_ns = 10 * NS_PER_SEC;
  arrival_init(&a, &s, 1, 0);
  while (arrival_next(&a, &t)) {
    /* t^2 = n at a rate of 2t. */
    assert_true(fabs(ns_to_sec(t) - sqrt((double)n)) < 1e-6);
    n++;
  }
  assert_int_equal(n, 100);
}

static void explicit_offsets_are_taken_as_they_are(void **state)
{
  uint64_t offsets[] = {5, 5, 70, 1000};
  struct stage s = {.offsets = offsets, .n_offsets = 4, .duration_ns = 1000};
  struct arrival a;
  uint64_t t;
  (void)state;
  arrival_init(&a, &s, 1, 0);
  assert_int_equal(next(&a), 5);
  assert_int_equal(next(&a), 5);
  assert_int_equal(next(&a), 70);
  assert_false(arrival_next(&a, &t));
}

static void the_seed_fixes_everything(void **state)
{
  struct stage s = steady(10, ARRIVAL_POISSON, 100);
  struct arrival a, b, c, d;
  int same = 0, same_stage = 0;
  (void)state;
  arrival_init(&a, &s, 42, 0);
  arrival_init(&b, &s, 42, 0);
  arrival_init(&c, &s, 43, 0);
  arrival_init(&d, &s, 42, 1);
  for (int i = 0; i < 100; i++) {
    uint64_t t = next(&a);
    assert_int_equal(t, next(&b));
    same += t == next(&c);
    same_stage += t == next(&d);
  }
  assert_true(same < 3);
  assert_true(same_stage < 3);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constant_has_no_drift),
      cmocka_unit_test(infinite_rate_is_all_at_once),
      cmocka_unit_test(b074_known_count_ends_on_time),
      cmocka_unit_test(b087_poisson_gaps),
      cmocka_unit_test(gamma_shape_sets_burstiness),
      cmocka_unit_test(b085_bins_are_poisson),
      cmocka_unit_test(b076_fractional_rates),
      cmocka_unit_test(ramps_follow_their_integral),
      cmocka_unit_test(a_constant_ramp_has_one_arrival_a_unit),
      cmocka_unit_test(explicit_offsets_are_taken_as_they_are),
      cmocka_unit_test(the_seed_fixes_everything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
