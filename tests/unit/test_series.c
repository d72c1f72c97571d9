#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "stats/series.h"

#define T0 (77 * NS_PER_SEC)

static uint64_t total(const struct series *s, enum series_kind k)
{
  uint64_t n = 0;
  for (size_t i = 0; i < s->len; i++)
    n += s->buckets[i].n[k];
  return n;
}

static void counts_where_it_happened(void **state)
{
  struct series s;
  (void)state;
  series_init(&s, T0);
  series_add(&s, SERIES_SENT, T0, 1);
  series_add(&s, SERIES_SENT, T0 + SERIES_WIDTH_NS - 1, 1);
  series_add(&s, SERIES_SENT, T0 + SERIES_WIDTH_NS, 1);
  series_add(&s, SERIES_TOKENS, T0 + 3 * SERIES_WIDTH_NS, 9);
  series_add(&s, SERIES_SENT, T0 - 5, 1); /* before the epoch */
  assert_int_equal(s.len, 4);
  assert_int_equal(s.buckets[0].n[SERIES_SENT], 3);
  assert_int_equal(s.buckets[1].n[SERIES_SENT], 1);
  assert_int_equal(s.buckets[3].n[SERIES_TOKENS], 9);
  series_deinit(&s);
}

static void long_runs_get_coarser_and_lose_nothing(void **state)
{
  struct series s;
  (void)state;
  series_init(&s, T0);
  for (uint64_t i = 0; i < 100; i++)
    series_add(&s, SERIES_DONE, T0 + i * 1000 * NS_PER_SEC, 1);
  assert_true(s.len <= SERIES_MAX);
  assert_true(s.width_ns > SERIES_WIDTH_NS);
  assert_int_equal((NS_PER_SEC * 2) % s.width_ns, 0);
  assert_int_equal(total(&s, SERIES_DONE), 100);
  for (uint64_t i = 0; i < 100; i++)
    assert_int_equal(
        s.buckets[i * 1000 * NS_PER_SEC / s.width_ns].n[SERIES_DONE], 1);
  series_deinit(&s);
}

static void merging_in_any_order_is_the_same(void **state)
{
  struct series all, part[3], a, b;
  struct rng r;
  (void)state;
  rng_init(&r, 5, RNG_MOCK, 1);
  series_init(&all, T0);
  series_init(&a, T0);
  series_init(&b, T0);
  for (int i = 0; i < 3; i++)
    series_init(&part[i], T0);
  for (int i = 0; i < 2000; i++) {
    /* The parts differ in length so much that widths differ too. */
    uint64_t which = rng_below(&r, 3);
    uint64_t at = T0 + rng_below(&r, (which ? 1 : 40000) * NS_PER_SEC);
    enum series_kind k = (enum series_kind)rng_below(&r, SERIES_KINDS);
    series_add(&all, k, at, which + 1);
    series_add(&part[which], k, at, which + 1);
  }
  for (int i = 0; i < 3; i++) {
    series_merge(&a, &part[i]);
    series_merge(&b, &part[2 - i]);
  }
  assert_int_equal(a.width_ns, all.width_ns);
  assert_int_equal(b.width_ns, all.width_ns);
  assert_int_equal(a.len, all.len);
  assert_int_equal(b.len, all.len);
  assert_memory_equal(a.buckets, all.buckets, all.len * sizeof *all.buckets);
  assert_memory_equal(b.buckets, all.buckets, all.len * sizeof *all.buckets);
  for (int i = 0; i < 3; i++)
    series_deinit(&part[i]);
  series_deinit(&all);
  series_deinit(&a);
  series_deinit(&b);
}

/* Tries every stretch of buckets. */
static double slow_peak(const struct series *s, uint64_t window_ns)
{
  double best = 0;
  for (size_t i = 0; i < s->len; i++) {
    uint64_t n = 0;
    for (size_t j = i; j < s->len; j++) {
      uint64_t ns = (j - i + 1) * s->width_ns;
      n += s->buckets[j].n[SERIES_TOKENS];
      if (ns >= window_ns)
        best = fmax(best, (double)n / ns_to_sec(ns));
    }
  }
  return best;
}

static void b035_peak_is_the_best_of_all_windows(void **state)
{
  struct rng r;
  (void)state;
  rng_init(&r, 11, RNG_MOCK, 1);
  for (int round = 0; round < 50; round++) {
    struct series s;
    double peak;
    series_init(&s, T0);
    for (int i = 0; i < 60; i++)
      series_add(&s, SERIES_TOKENS, T0 + rng_below(&r, 6 * NS_PER_SEC),
                 rng_below(&r, 20));
    peak = series_peak(&s, SERIES_TOKENS, NS_PER_SEC);
    assert_true(fabs(peak - slow_peak(&s, NS_PER_SEC)) < 1e-9);
    assert_true(peak >= (double)total(&s, SERIES_TOKENS) /
                            ns_to_sec(s.len * s.width_ns));
    series_deinit(&s);
  }
}

static void a_short_series_has_no_peak(void **state)
{
  struct series s;
  (void)state;
  series_init(&s, T0);
  assert_true(series_peak(&s, SERIES_TOKENS, NS_PER_SEC) == 0);
  series_add(&s, SERIES_TOKENS, T0, 100);
  assert_true(series_peak(&s, SERIES_TOKENS, NS_PER_SEC) == 0);
  series_deinit(&s);
}

static void between_shares_the_edges(void **state)
{
  struct series s;
  uint64_t w = SERIES_WIDTH_NS;
  (void)state;
  series_init(&s, T0);
  for (uint64_t i = 0; i < 4; i++)
    series_add(&s, SERIES_TOKENS, T0 + i * w, 10);
  assert_true(series_between(&s, SERIES_TOKENS, T0, T0 + 4 * w) == 40);
  assert_true(series_between(&s, SERIES_TOKENS, T0 + w / 2, T0 + 2 * w) == 15);
  assert_true(series_between(&s, SERIES_TOKENS, T0 + w, T0 + w) == 0);
  assert_true(series_between(&s, SERIES_TOKENS, 0, T0 + 99 * w) == 40);
  series_deinit(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_where_it_happened),
      cmocka_unit_test(long_runs_get_coarser_and_lose_nothing),
      cmocka_unit_test(merging_in_any_order_is_the_same),
      cmocka_unit_test(b035_peak_is_the_best_of_all_windows),
      cmocka_unit_test(a_short_series_has_no_peak),
      cmocka_unit_test(between_shares_the_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
