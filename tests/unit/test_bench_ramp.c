/* --ramp-up-strategy: how many leave, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/mem.h"
#include "cli/bench_ramp.h"

static void done(struct bench_timetable *t)
{
  mem_free(t->offsets);
  mem_free(t->changes);
}

static double at(const struct bench_timetable *t, uint64_t i)
{
  return (double)t->offsets[i] / 1e9;
}

static void check_order(const struct bench_timetable *t, uint64_t n)
{
  for (uint64_t i = 1; i < n; i++)
    assert_true(t->offsets[i] >= t->offsets[i - 1]);
}

/* From 1 to 9 a second, 5 on average: 1,000 in 200 s, the last at its end. */
static void linear_grows_in_time(void **state)
{
  const struct bench_ramp r = {
      .from = 1, .to = 9, .n = 1000, .burstiness = INFINITY};
  struct bench_timetable t = bench_ramp_make(&r);
  uint64_t early = 0;
  (void)state;
  check_order(&t, r.n);
  assert_true(fabs(at(&t, r.n - 1) - 200) < 1e-3);
  while (at(&t, early) < 100)
    early++;
  /* 3 a second in the first half. */
  assert_in_range(early, 299, 301);
  done(&t);
}

static void exponential_grows_by_factors(void **state)
{
  const struct bench_ramp r = {.exponential = true,
                               .from = 1,
                               .to = 16,
                               .n = 1500,
                               .burstiness = INFINITY};
  struct bench_timetable t = bench_ramp_make(&r);
  double end = 1500 / (15 / log(16));
  uint64_t early = 0;
  (void)state;
  assert_true(fabs(at(&t, r.n - 1) - end) < 1e-3);
  while (at(&t, early) < end / 2)
    early++;
  /* From 1 to 4 in the first half, from 4 to 16 in the second: 3 to 12. */
  assert_in_range(early, 299, 301);
  done(&t);
}

/* The i-th gap is drawn at the i-th rate, whatever the time. */
static void vllm_grows_by_number(void **state)
{
  const struct bench_ramp r = {
      .by_number = true, .from = 2, .to = 4, .n = 3, .burstiness = INFINITY};
  struct bench_timetable t = bench_ramp_make(&r);
  (void)state;
  assert_true(fabs(at(&t, 0) - 1.0 / 2) < 1e-8);
  assert_true(fabs(at(&t, 1) - (1.0 / 2 + 1.0 / 3)) < 1e-8);
  assert_true(fabs(at(&t, 2) - (1.0 / 2 + 1.0 / 3 + 1.0 / 4)) < 1e-8);
  done(&t);
}

static void poisson_has_gaps_of_all_lengths(void **state)
{
  struct bench_ramp r = {
      .from = 5, .to = 5, .n = 2000, .burstiness = 1, .seed = 7};
  struct bench_timetable t = bench_ramp_make(&r), again = bench_ramp_make(&r);
  double mean = at(&t, r.n - 1) / (double)r.n, squares = 0;
  (void)state;
  check_order(&t, r.n);
  assert_memory_equal(t.offsets, again.offsets, r.n * sizeof *t.offsets);
  assert_true(fabs(mean - 0.2) < 1e-6);
  for (uint64_t i = 1; i < r.n; i++)
    squares += pow(at(&t, i) - at(&t, i - 1) - mean, 2);
  /* As large as the mean, for an exponential. */
  assert_true(fabs(sqrt(squares / (double)r.n) / mean - 1) < 0.1);
  done(&t);
  done(&again);
}

static void check_changes(const struct bench_ramp *r)
{
  struct bench_timetable t = bench_ramp_make(r);
  assert_int_equal(t.n_changes, 5);
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(t.changes[i].rps, 2 + i);
    assert_true(i == 0 || t.changes[i].at_ns >= t.changes[i - 1].at_ns);
  }
  assert_int_equal(t.changes[0].at_ns, 0);
  assert_int_equal(t.changes[4].at_ns, t.offsets[r->n - 1]);
  done(&t);
}

static void every_whole_rate_is_told_once(void **state)
{
  struct bench_ramp r = {.from = 2, .to = 6, .n = 12, .burstiness = 1};
  (void)state;
  check_changes(&r);
  r.by_number = true;
  check_changes(&r);
}

static void one_request_is_a_ramp_too(void **state)
{
  const struct bench_ramp r = {.from = 0, .to = 2, .n = 1, .burstiness = 1};
  struct bench_timetable t = bench_ramp_make(&r);
  (void)state;
  assert_true(fabs(at(&t, 0) - 1) < 1e-6);
  done(&t);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear_grows_in_time),
      cmocka_unit_test(exponential_grows_by_factors),
      cmocka_unit_test(vllm_grows_by_number),
      cmocka_unit_test(poisson_has_gaps_of_all_lengths),
      cmocka_unit_test(every_whole_rate_is_told_once),
      cmocka_unit_test(one_request_is_a_ramp_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
