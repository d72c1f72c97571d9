#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/arrival.h"

static struct load open_loop(double rate, enum arrival_kind kind, uint64_t n)
{
  return (struct load){.request_rate = rate,
                       .arrival = kind,
                       .burstiness = 1,
                       .num_requests = n};
}

static void constant_has_no_drift(void **state)
{
  struct load l = open_loop(3, ARRIVAL_CONSTANT, 0);
  struct arrival a;
  (void)state;
  arrival_init(&a, &l, 1);
  for (uint64_t i = 0; i < 300000; i++)
    assert_int_equal(arrival_next(&a), (uint64_t)((double)i / 3 * 1e9));
}

static void infinite_rate_is_all_at_once(void **state)
{
  struct load l = open_loop(INFINITY, ARRIVAL_POISSON, 10);
  struct arrival a;
  (void)state;
  arrival_init(&a, &l, 1);
  for (int i = 0; i < 10; i++)
    assert_int_equal(arrival_next(&a), 0);
}

static void b074_known_count_ends_on_time(void **state)
{
  struct load l = open_loop(200, ARRIVAL_POISSON, 2000);
  uint64_t last = 0;
  (void)state;
  for (uint64_t seed = 0; seed < 20; seed++) {
    struct arrival a;
    arrival_init(&a, &l, seed);
    for (int i = 0; i < 2000; i++) {
      uint64_t t = arrival_next(&a);
      assert_true(i == 0 || t >= last);
      last = t;
    }
    assert_in_range(last, 10 * NS_PER_SEC - 10, 10 * NS_PER_SEC + 10);
  }
}

/* Mean and coefficient of variation of 200,000 gaps. */
static void gap_statistics(const struct load *l, double *mean, double *cv)
{
  struct arrival a;
  double sum = 0, squares = 0;
  uint64_t last = 0;
  const int n = 200000;
  arrival_init(&a, l, 7);
  for (int i = 0; i < n; i++) {
    uint64_t t = arrival_next(&a);
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
  struct load l = open_loop(5, ARRIVAL_POISSON, 0);
  double mean, cv;
  (void)state;
  gap_statistics(&l, &mean, &cv);
  assert_true(fabs(mean - 0.2) < 0.2 * 0.01);
  assert_true(fabs(cv - 1) < 0.02);
}

static void gamma_shape_sets_burstiness(void **state)
{
  static const double shapes[] = {0.25, 0.5, 2, 10};
  (void)state;
  for (int i = 0; i < 4; i++) {
    struct load l = open_loop(50, ARRIVAL_GAMMA, 0);
    double mean, cv;
    l.burstiness = shapes[i];
    gap_statistics(&l, &mean, &cv);
    assert_true(fabs(mean - 0.02) < 0.02 * 0.02);
    assert_true(fabs(cv - 1 / sqrt(shapes[i])) < 0.03 / sqrt(shapes[i]));
  }
}

static void b085_bins_are_poisson(void **state)
{
  struct load l = open_loop(100, ARRIVAL_POISSON, 0);
  struct arrival a;
  double sum = 0, squares = 0;
  unsigned bins[2000] = {0};
  uint64_t t;
  (void)state;
  arrival_init(&a, &l, 3);
  while ((t = arrival_next(&a)) < 200 * NS_PER_SEC)
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
  struct load l = open_loop(0.01, ARRIVAL_CONSTANT, 0);
  struct arrival a;
  (void)state;
  arrival_init(&a, &l, 1);
  arrival_next(&a);
  assert_int_equal(arrival_next(&a), 100 * NS_PER_SEC);
}

static void the_seed_fixes_everything(void **state)
{
  struct load l = open_loop(10, ARRIVAL_POISSON, 100);
  struct arrival a, b, c;
  int same = 0;
  (void)state;
  arrival_init(&a, &l, 42);
  arrival_init(&b, &l, 42);
  arrival_init(&c, &l, 43);
  for (int i = 0; i < 100; i++) {
    uint64_t t = arrival_next(&a);
    assert_int_equal(t, arrival_next(&b));
    same += t == arrival_next(&c);
  }
  assert_true(same < 3);
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
      cmocka_unit_test(the_seed_fixes_everything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
