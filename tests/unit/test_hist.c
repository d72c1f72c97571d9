#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/hist.h"
#include "stats/sample.h"

static void empty_has_no_numbers(void **state)
{
  struct hist h = {0};
  (void)state;
  assert_true(isnan(hist_percentile(&h, 50)));
  assert_true(isnan(hist_mean(&h)));
  assert_true(isnan(hist_std(&h)));
  hist_deinit(&h);
}

static void every_value_within_a_thousandth(void **state)
{
  struct rng r;
  (void)state;
  rng_init(&r, 1, RNG_MOCK, 1);
  for (int i = 0; i < 20000; i++) {
    struct hist h = {0};
    uint64_t x = rng_u64(&r) >> (18 + rng_below(&r, 46));
    /* Two equal values between other ones: the median is their bucket. */
    hist_add(&h, 0);
    hist_add(&h, x);
    hist_add(&h, HIST_LIMIT_NS - 1);
    if (x < HIST_LIMIT_NS) {
      double got = hist_percentile(&h, 50);
      assert_true(fabs(got - (double)x) <= (double)x * 0.0005);
    }
    hist_deinit(&h);
  }
}

static void edges_of_buckets(void **state)
{
  (void)state;
  for (unsigned bits = 0; bits < 46; bits++) {
    for (int d = -1; d <= 1; d++) {
      struct hist h = {0};
      uint64_t x = (UINT64_C(1) << bits) + (uint64_t)(int64_t)d;
      hist_add(&h, 0);
      hist_add(&h, x);
      hist_add(&h, UINT64_C(1) << 60);
      assert_true(fabs(hist_percentile(&h, 50) - (double)x) <=
                  (double)x * 0.0005);
      assert_int_equal(h.overflow, 1);
      hist_deinit(&h);
    }
  }
}

static void percentiles_follow_the_exact_ones(void **state)
{
  static const double p[] = {0, 1, 5, 25, 50, 75, 90, 99, 99.9, 99.99, 100};
  enum { N = 50000 };
  static double x[N];
  struct hist h = {0};
  struct rng r;
  (void)state;
  rng_init(&r, 7, RNG_MOCK, 1);
  for (int i = 0; i < N; i++) {
    x[i] = floor(rng_lognormal(&r, log(20e6), 0.8));
    hist_add(&h, (uint64_t)x[i]);
  }
  sample_sort(x, N);
  for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
    double want = sample_percentile(x, N, p[i]);
    assert_true(fabs(hist_percentile(&h, p[i]) - want) <= want * 0.001);
  }
  assert_true(fabs(hist_mean(&h) - sample_mean(x, N)) < 1e-3);
  assert_true(fabs(hist_std(&h) - sample_std(x, N)) < 1);
  assert_true(hist_percentile(&h, 0) == x[0]);
  assert_true(hist_percentile(&h, 100) == x[N - 1]);
  hist_deinit(&h);
}

static void overflow_is_counted_not_clamped(void **state)
{
  struct hist h = {0};
  (void)state;
  hist_add(&h, 5);
  for (int i = 0; i < 3; i++)
    hist_add(&h, HIST_LIMIT_NS + 17);
  assert_int_equal(h.count, 4);
  assert_int_equal(h.overflow, 3);
  assert_int_equal(h.max, HIST_LIMIT_NS + 17);
  assert_true(hist_percentile(&h, 99) == (double)(HIST_LIMIT_NS + 17));
  hist_deinit(&h);
}

static void assert_same(const struct hist *a, const struct hist *b)
{
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->overflow, b->overflow);
  assert_int_equal(a->min, b->min);
  assert_int_equal(a->max, b->max);
  assert_true(a->sum == b->sum && a->sum2 == b->sum2);
  for (double p = 0; p <= 100; p += 0.5)
    assert_true(hist_percentile(a, p) == hist_percentile(b, p));
}

static void merging_is_adding(void **state)
{
  struct hist all = {0}, part[3], merged = {0};
  struct rng r;
  (void)state;
  memset(part, 0, sizeof part);
  rng_init(&r, 3, RNG_MOCK, 1);
  for (int i = 0; i < 5000; i++) {
    uint64_t x = rng_u64(&r) >> rng_below(&r, 60);
    hist_add(&all, x);
    hist_add(&part[rng_below(&r, 3)], x);
  }
  for (int i = 2; i >= 0; i--)
    hist_merge(&merged, &part[i]);
  assert_same(&all, &merged);
  for (int i = 0; i < 3; i++)
    hist_deinit(&part[i]);
  hist_deinit(&all);
  hist_deinit(&merged);
}

static void json_holds_every_value_in_its_bucket(void **state)
{
  struct hist h = {0};
  struct buf out = {0};
  struct json_writer w = {.out = &out};
  json_value *v;
  uint64_t x[] = {0, 1, 1023, 1024, 50000000, 50000000, 123456789012};
  uint64_t found = 0;
  (void)state;
  for (size_t i = 0; i < sizeof x / sizeof *x; i++)
    hist_add(&h, x[i]);
  hist_add(&h, UINT64_C(1) << 50);
  hist_write(&h, &w);
  v = json_parse(buf_str(&out), NULL);
  assert_non_null(v);
  assert_string_equal(json_text(json_get(v, "unit")), "ns");
  assert_true(json_double(json_get(v, "count"), 0) == 8);
  assert_true(json_double(json_get(v, "overflow"), 0) == 1);
  assert_true(json_double(json_get(v, "min"), -1) == 0);
  for (const json_value *b = json_first(json_get(v, "buckets")); b;
       b = json_next(b)) {
    double lower = json_double(json_first(b), -1);
    double width = json_double(json_next(json_first(b)), -1);
    double count = json_double(json_next(json_next(json_first(b))), -1);
    double inside = 0;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
      inside += (double)x[i] >= lower && (double)x[i] < lower + width;
    assert_true(inside == count);
    assert_true(lower == 0 || width <= lower * 0.001 || width == 1);
    found += (uint64_t)count;
  }
  assert_int_equal(found, 7);
  json_free(v);
  buf_free(&out);
  hist_deinit(&h);
}

static int by_value(const void *pa, const void *pb)
{
  const double *a = pa, *b = pb;
  return *a < *b ? -1 : *a > *b;
}

static void sort_and_percentiles_are_numpys(void **state)
{
  static const size_t sizes[] = {1, 2, 3, 63, 64, 65, 1000};
  struct rng r;
  (void)state;
  rng_init(&r, 9, RNG_MOCK, 1);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    size_t n = sizes[k];
    double a[1000], b[1000];
    for (size_t i = 0; i < n; i++)
      a[i] = b[i] = floor(rng_exp(&r, 1e6)) / (1 + (double)rng_below(&r, 9));
    sample_sort(a, n);
    qsort(b, n, sizeof *b, by_value);
    assert_memory_equal(a, b, n * sizeof *a);
  }
  {
    double x[] = {1, 2, 4, 8};
    assert_true(sample_percentile(x, 4, 50) == 3);
    assert_true(sample_percentile(x, 4, 0) == 1);
    assert_true(sample_percentile(x, 4, 100) == 8);
    assert_true(fabs(sample_percentile(x, 4, 90) - 6.8) < 1e-12);
    assert_true(fabs(sample_std(x, 4) - sqrt(7.1875)) < 1e-12);
    assert_true(isnan(sample_percentile(x, 0, 50)));
    assert_true(isnan(sample_mean(x, 0)) && isnan(sample_std(x, 0)));
  }
}

static void what_exceeds_a_limit_adds_up(void **state)
{
  struct hist h = {0};
  (void)state;
  assert_true(hist_excess(&h, 5, 0) == 0);
  hist_add(&h, 4);
  hist_add(&h, 7);
  hist_add(&h, 105);
  hist_add(&h, 105);
  hist_add(&h, 1005);
  assert_true(hist_excess(&h, 5, 0) == 2 + 100 + 100 + 1000);
  assert_true(hist_excess(&h, 5, 1) == 2 + 100 + 100);
  assert_true(hist_excess(&h, 5, 2) == 2 + 100);
  assert_true(hist_excess(&h, 5, 9) == 0);
  assert_true(hist_excess(&h, 2000, 0) == 0);
  hist_deinit(&h);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_has_no_numbers),
      cmocka_unit_test(what_exceeds_a_limit_adds_up),
      cmocka_unit_test(every_value_within_a_thousandth),
      cmocka_unit_test(edges_of_buckets),
      cmocka_unit_test(percentiles_follow_the_exact_ones),
      cmocka_unit_test(overflow_is_counted_not_clamped),
      cmocka_unit_test(merging_is_adding),
      cmocka_unit_test(json_holds_every_value_in_its_bucket),
      cmocka_unit_test(sort_and_percentiles_are_numpys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
