#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "make_record.h"
#include "stats/metrics.h"
#include "stats/samples.h"

/* What a script for wrk computes with these, it computes as in wrk. */

static struct samples of(uint64_t *list, size_t n)
{
  return (struct samples){list, n};
}

static void none(void **state)
{
  struct samples s = {0};
  uint64_t count;
  (void)state;
  assert_true(samples_mean(&s) == 0 && samples_stdev(&s) == 0);
  assert_int_equal(samples_percentile(&s, 50), 0);
  assert_int_equal(samples_distinct(&s, 0, &count), 0);
  assert_int_equal(count, 0);
  assert_int_equal(samples_distinct_count(&s), 0);
}

static void mean_and_deviation(void **state)
{
  uint64_t list[] = {2, 4, 4, 4, 5, 5, 7, 9};
  struct samples s = of(list, 8), one = of(list, 1);
  (void)state;
  assert_true(samples_mean(&s) == 5);
  /* Of a sample: 32 / 7, not 32 / 8. */
  assert_float_equal(samples_stdev(&s), 2.1380899353, 1e-9);
  assert_true(samples_mean(&one) == 2 && samples_stdev(&one) == 0);
}

/* Rank round(p / 100 * n + 0.5), as wrk has it. */
static void percentiles(void **state)
{
  static const struct {
    double p;
    uint64_t value;
  } rows[] = {{0, 10},   {1, 10},    {24.9, 10}, {25, 20},
              {50, 30},  {74.9, 30}, {75, 40},   {99, 40},
              {100, 40}, {1e9, 40},  {-1, 0},    {0.0 / 0.0, 0}};
  uint64_t list[] = {10, 20, 30, 40};
  struct samples s = of(list, 4);
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (samples_percentile(&s, rows[i].p) != rows[i].value)
      fail_msg("p%g is %llu", rows[i].p,
               (unsigned long long)samples_percentile(&s, rows[i].p));
}

static void distinct_values_and_how_often(void **state)
{
  uint64_t list[] = {1, 1, 1, 5, 7, 7}, count;
  struct samples s = of(list, 6);
  (void)state;
  assert_int_equal(samples_distinct_count(&s), 3);
  assert_int_equal(samples_distinct(&s, 0, &count), 1);
  assert_int_equal(count, 3);
  assert_int_equal(samples_distinct(&s, 1, &count), 5);
  assert_int_equal(count, 1);
  assert_int_equal(samples_distinct(&s, 2, &count), 7);
  assert_int_equal(count, 2);
  assert_int_equal(samples_distinct(&s, 3, &count), 0);
  assert_int_equal(count, 0);
}

static struct metrics *measured(void)
{
  struct metrics *m = metrics_new(&(struct metrics_config){.epoch_ns = T0});
  const struct record records[] = {
      make_plain(T0, 40 * MS, 1),
      make_failed(T0 + 10 * MS, 5 * MS, OUTCOME_HTTP_5XX, 500, "busy"),
      make_failed(T0 + 20 * MS, 90 * MS, OUTCOME_RESET, 0, "reset"),
      make_plain(T0 + 100 * MS, 30 * MS, 1),
      make_plain(T0 + 290 * MS, 20 * MS, 1),
  };
  for (size_t i = 0; i < sizeof records / sizeof *records; i++)
    metrics_add(m, &records[i]);
  metrics_window(m, T0, T0 + 400 * MS);
  return m;
}

/* An answer of any status counts, a broken connection does not. */
static void latencies_of_what_was_answered(void **state)
{
  struct metrics *m = measured();
  struct samples s = samples_latency(m);
  (void)state;
  assert_int_equal(s.n, 4);
  assert_int_equal(s.list[0], 5000);
  assert_int_equal(s.list[1], 20000);
  assert_int_equal(s.list[2], 30000);
  assert_int_equal(s.list[3], 40000);
  samples_free(&s);
  metrics_free(m);
}

/* Whole tenths of a second: 2, 1 and 0 answers; the last ended in a fourth. */
static void rates_of_a_thread(void **state)
{
  struct metrics *m = measured();
  (void)state;
  for (unsigned threads = 0; threads <= 2; threads++) {
    uint64_t by = threads ? threads : 1;
    struct samples s = samples_rate(m, threads);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.list[0], 0);
    assert_int_equal(s.list[1], 10 / by);
    assert_int_equal(s.list[2], 20 / by);
    samples_free(&s);
  }
  metrics_free(m);
}

static void nothing_was_measured(void **state)
{
  struct metrics *m = metrics_new(&(struct metrics_config){.epoch_ns = T0});
  struct samples latency = samples_latency(m), rate = samples_rate(m, 1);
  (void)state;
  assert_int_equal(latency.n, 0);
  assert_int_equal(rate.n, 0);
  samples_free(&latency);
  samples_free(&rate);
  metrics_free(m);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(none),
      cmocka_unit_test(mean_and_deviation),
      cmocka_unit_test(percentiles),
      cmocka_unit_test(distinct_values_and_how_often),
      cmocka_unit_test(latencies_of_what_was_answered),
      cmocka_unit_test(rates_of_a_thread),
      cmocka_unit_test(nothing_was_measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
