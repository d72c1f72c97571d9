/* Lateness quantiles against exact ones; the texts of /metrics and /stats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/rng.h"
#include "mock/stats.h"

static int ascending(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void quantiles_are_a_little_above(void **state)
{
  enum { N = 10000 };
  static uint64_t values[N];
  static struct mock_late l;
  static const double qs[] = {0.01, 0.5, 0.9, 0.99, 1};
  struct rng r;
  (void)state;
  rng_init(&r, 1, RNG_MOCK, 4);
  for (int i = 0; i < N; i++) {
    values[i] = (uint64_t)rng_lognormal(&r, 12, 3);
    mock_late_add(&l, values[i]);
  }
  qsort(values, N, sizeof *values, ascending);
  assert_int_equal(l.max_ns, values[N - 1]);
  for (size_t i = 0; i < sizeof qs / sizeof *qs; i++) {
    uint64_t exact = values[(size_t)(qs[i] * N + 0.5) - 1];
    uint64_t said = mock_late_quantile(&l, qs[i]);
    assert_true(said >= exact);
    assert_true((double)said <= (double)exact * 1.13 + 1000);
  }
}

static void without_events(void **state)
{
  struct mock_late l = {0};
  (void)state;
  assert_int_equal(mock_late_quantile(&l, 0.99), 0);
  mock_late_add(&l, 0);
  assert_int_equal(mock_late_quantile(&l, 0.99), 0);
  mock_late_add(&l, UINT64_MAX / 16);
  assert_int_equal(l.max_ns, UINT64_MAX / 16);
}

static void texts(void **state)
{
  struct mock_stats s = {.generations = 3, .generation_tokens = 12};
  struct buf out = {0};
  json_value *v;
  (void)state;
  mock_stats_metrics(&s, "m", 2, 1, &out);
  assert_non_null(strstr(
      buf_cstr(&out),
      "\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 2.0\n"));
  assert_non_null(strstr(
      buf_cstr(&out),
      "\nvllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 12.0\n"));
  buf_reset(&out);
  mock_stats_json(&s, 2, 1, 5, &out);
  v = json_parse(buf_str(&out), NULL);
  assert_true(json_double(json_get(v, "generations"), 0) == 3);
  assert_true(json_double(json_get(json_get(v, "late_ns"), "p99"), 9) == 0);
  json_free(v);
  buf_free(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_are_a_little_above),
      cmocka_unit_test(without_events),
      cmocka_unit_test(texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
