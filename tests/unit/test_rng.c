/* Every distribution against its own formulas. The seeds are fixed, so that
 * nothing here fails by chance; the limits are about five standard errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"

enum { N = 200000 };

static struct rng fresh(uint64_t id)
{
  struct rng r;
  rng_init(&r, 42, RNG_REQUEST, id);
  return r;
}

struct moments {
  double mean, variance, skew;
};

typedef double draw_fn(struct rng *r, double a, double b);

static struct moments moments_of(draw_fn *draw, double a, double b)
{
  struct rng r = fresh(1);
  double sum = 0, m2 = 0, m3 = 0;
  struct moments m;
  static double x[N];
  for (int i = 0; i < N; i++)
    sum += x[i] = draw(&r, a, b);
  m.mean = sum / N;
  for (int i = 0; i < N; i++) {
    double d = x[i] - m.mean;
    m2 += d * d;
    m3 += d * d * d;
  }
  m.variance = m2 / N;
  m.skew = m3 / N / pow(m.variance, 1.5);
  return m;
}

static void near(double got, double want, double tolerance)
{
  if (!(fabs(got - want) <= tolerance))
    fail_msg("%g is not %g within %g", got, want, tolerance);
}

/* Mean and variance; the variance's error grows with the fourth moment, which
 * `kurtosis` bounds. */
static void check(draw_fn *draw, double a, double b, double mean,
                  double variance, double kurtosis)
{
  struct moments m = moments_of(draw, a, b);
  near(m.mean, mean, 5 * sqrt(variance / N));
  near(m.variance, variance, 5 * variance * sqrt((kurtosis - 1) / N));
}

/* ---- the generator ---- */

static void xoshiro_is_the_published_one(void **state)
{
  static const uint64_t want[] = {41943041,
                                  58720359,
                                  3588806011781223,
                                  3591011842654386,
                                  UINT64_C(9228616714210784205),
                                  UINT64_C(9973669472204895162),
                                  UINT64_C(14011001112246962877),
                                  UINT64_C(12406186145184390807),
                                  UINT64_C(15849039046786891736),
                                  UINT64_C(10450023813501588000)};
  struct rng r = {{1, 2, 3, 4}};
  (void)state;
  for (size_t i = 0; i < sizeof want / sizeof *want; i++)
    assert_true(rng_u64(&r) == want[i]);
}

static void a_stream_is_its_seed_domain_and_id(void **state)
{
  struct rng a, b;
  (void)state;
  rng_init(&a, 1, RNG_REQUEST, 2);
  rng_init(&b, 1, RNG_REQUEST, 2);
  assert_memory_equal(&a, &b, sizeof a);
  rng_init(&b, 2, RNG_REQUEST, 1);
  assert_memory_not_equal(&a, &b, sizeof a);
  rng_init(&b, 1, RNG_WARMUP, 2);
  assert_memory_not_equal(&a, &b, sizeof a);
  rng_init(&b, 1, RNG_REQUEST, 3);
  assert_memory_not_equal(&a, &b, sizeof a);
}

/* B085: the n-th numbers of neighbouring streams have nothing in common. */
static void b085_streams_are_independent(void **state)
{
  double sum = 0;
  (void)state;
  for (uint64_t id = 0; id < N; id++) {
    struct rng a = fresh(id), b = fresh(id + 1);
    sum += (rng_double(&a) - 0.5) * (rng_double(&b) - 0.5);
  }
  near(sum / N * 12, 0, 5 / sqrt(N));
}

/* ---- flat ---- */

static double draw_double(struct rng *r, double a, double b)
{
  double x = rng_double(r);
  (void)a, (void)b;
  assert_true(x >= 0 && x < 1);
  return x;
}

static double draw_uniform(struct rng *r, double a, double b)
{
  double x = rng_uniform(r, a, b);
  assert_true(x >= a && x <= b);
  return x;
}

static void flat(void **state)
{
  (void)state;
  check(draw_double, 0, 0, 0.5, 1.0 / 12, 1.8);
  check(draw_uniform, -3, 5, 1, 64.0 / 12, 1.8);
}

/* Chi squared of `n` equally likely cells. */
static void check_flat(const unsigned *count, unsigned n)
{
  double expected = (double)N / n, chi = 0;
  for (unsigned i = 0; i < n; i++)
    chi += (count[i] - expected) * (count[i] - expected) / expected;
  near(chi, n - 1, 5 * sqrt(2.0 * (n - 1)));
}

static void below(void **state)
{
  unsigned count[37] = {0};
  struct rng r = fresh(2);
  (void)state;
  for (int i = 0; i < N; i++)
    count[rng_below(&r, 37)]++;
  check_flat(count, 37);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(rng_below(&r, 1), 0);
    assert_true(rng_below(&r, UINT64_MAX) < UINT64_MAX);
  }
}

static void integers_with_both_ends(void **state)
{
  unsigned count[7] = {0};
  struct rng r = fresh(3);
  (void)state;
  for (int i = 0; i < N; i++)
    count[rng_int(&r, -3, 3) + 3]++;
  check_flat(count, 7);
  assert_int_equal(rng_int(&r, 5, 5), 5);
  for (int i = 0; i < 100; i++) {
    int64_t x = rng_int(&r, INT64_MAX - 1, INT64_MAX);
    assert_true(x >= INT64_MAX - 1);
    rng_int(&r, INT64_MIN, INT64_MAX);
  }
}

static void booleans(void **state)
{
  struct rng r = fresh(4);
  int yes = 0;
  (void)state;
  for (int i = 0; i < N; i++) {
    yes += rng_bool(&r, 0.3);
    assert_false(rng_bool(&r, 0));
    assert_true(rng_bool(&r, 1));
  }
  near((double)yes / N, 0.3, 5 * sqrt(0.21 / N));
}

/* ---- bells and tails ---- */

static void normal(void **state)
{
  struct rng r = fresh(5);
  int within = 0;
  (void)state;
  check(rng_normal, 10, 3, 10, 9, 3);
  near(moments_of(rng_normal, 0, 1).skew, 0, 5 * sqrt(6.0 / N));
  for (int i = 0; i < N; i++)
    within += fabs(rng_normal(&r, 0, 1)) < 1;
  near((double)within / N, 0.682689, 5 * sqrt(0.2167 / N));
  assert_true(rng_normal(&r, 7, 0) == 7);
}

static void lognormal(void **state)
{
  double s2 = 0.25;
  struct rng r = fresh(6);
  int under = 0;
  (void)state;
  check(rng_lognormal, 1, 0.5, exp(1 + s2 / 2), (exp(s2) - 1) * exp(2 + s2), 9);
  for (int i = 0; i < N; i++)
    under += rng_lognormal(&r, 1, 0.5) < exp(1);
  near((double)under / N, 0.5, 5 * sqrt(0.25 / N));
}

static double draw_exp(struct rng *r, double mean, double b)
{
  double x = rng_exp(r, mean);
  (void)b;
  assert_true(x >= 0 && isfinite(x));
  return x;
}

/* B087: the mean gap is 1/rate, and its deviation the same. */
static void b087_exponential(void **state)
{
  struct rng r = fresh(7);
  int over = 0;
  (void)state;
  check(draw_exp, 0.2, 0, 0.2, 0.04, 9);
  for (int i = 0; i < N; i++)
    over += rng_exp(&r, 1) > 1;
  near((double)over / N, exp(-1), 5 * sqrt(0.2325 / N));
}

static double draw_gamma(struct rng *r, double shape, double scale)
{
  double x = rng_gamma(r, shape, scale);
  assert_true(x >= 0 && isfinite(x));
  return x;
}

static void gamma_shapes(void **state)
{
  static const double shapes[] = {0.1, 0.5, 1, 1.5, 2, 10, 200};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    double k = shapes[i];
    check(draw_gamma, k, 3, 3 * k, 9 * k, 3 + 6 / k);
  }
  near(moments_of(draw_gamma, 4, 1).skew, 1, 0.05);
}

/* ---- counts ---- */

static void check_zipf(uint64_t n, double s)
{
  static unsigned count[1001];
  struct rng r = fresh(9);
  double norm = 0, chi = 0;
  unsigned cells = 0;
  memset(count, 0, sizeof count);
  for (uint64_t k = 1; k <= n; k++)
    norm += pow((double)k, -s);
  for (int i = 0; i < N; i++) {
    uint64_t k = rng_zipf(&r, n, s);
    assert_true(k >= 1 && k <= n);
    count[k]++;
  }
  for (uint64_t k = 1; k <= n; k++) {
    double expected = N * pow((double)k, -s) / norm;
    if (expected < 5)
      continue;
    chi += (count[k] - expected) * (count[k] - expected) / expected;
    cells++;
  }
  near(chi, cells, 5 * sqrt(2.0 * cells) + 1);
}

static void zipf(void **state)
{
  struct rng r = fresh(10);
  (void)state;
  check_zipf(10, 0);
  check_zipf(10, 0.5);
  check_zipf(1000, 0.99);
  check_zipf(1000, 1);
  check_zipf(1000, 1.01);
  check_zipf(100, 2);
  check_zipf(100, 5);
  check_zipf(2, 1);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(rng_zipf(&r, 1, 1), 1);
    assert_in_range(rng_zipf(&r, 1000000000000, 1.1), 1, 1000000000000);
    assert_in_range(rng_zipf(&r, 1000, 30), 1, 2);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(xoshiro_is_the_published_one),
      cmocka_unit_test(a_stream_is_its_seed_domain_and_id),
      cmocka_unit_test(b085_streams_are_independent),
      cmocka_unit_test(flat),
      cmocka_unit_test(below),
      cmocka_unit_test(integers_with_both_ends),
      cmocka_unit_test(booleans),
      cmocka_unit_test(normal),
      cmocka_unit_test(lognormal),
      cmocka_unit_test(b087_exponential),
      cmocka_unit_test(gamma_shapes),
      cmocka_unit_test(zipf),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
