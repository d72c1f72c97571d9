#include "base/rng.h"

#include <math.h>

static uint64_t splitmix64(uint64_t *x)
{
  uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed, enum rng_domain domain, uint64_t id)
{
  /* Each part goes through the mixer before the next is added, so that
   * (1, 2) and (2, 1) have nothing in common. */
  uint64_t x = seed;
  x = splitmix64(&x) + (uint64_t)domain;
  x = splitmix64(&x) + id;
  for (int i = 0; i < 4; i++)
    r->s[i] = splitmix64(&x);
}

static uint64_t rotl(uint64_t x, int k)
{
  return (x << k) | (x >> (64 - k));
}

uint64_t rng_u64(struct rng *r)
{
  uint64_t *s = r->s;
  uint64_t result = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotl(s[3], 45);
  return result;
}

double rng_double(struct rng *r)
{
  return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

/* (0, 1]: safe to take the logarithm of. */
static double open_double(struct rng *r)
{
  return 1.0 - rng_double(r);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
  /* Draw again from the incomplete last round of n. */
  uint64_t limit = -n % n, x;
  do
    x = rng_u64(r);
  while (x < limit);
  return x % n;
}

int64_t rng_int(struct rng *r, int64_t lo, int64_t hi)
{
  uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
  uint64_t x = span ? rng_below(r, span) : rng_u64(r);
  return (int64_t)((uint64_t)lo + x);
}

double rng_uniform(struct rng *r, double lo, double hi)
{
  return lo + (hi - lo) * rng_double(r);
}

double rng_normal(struct rng *r, double mean, double sd)
{
  /* Polar method; the second value is dropped, so that a stream's state
   * depends on nothing but the number of calls. */
  double u, v, s;
  do {
    u = 2 * rng_double(r) - 1;
    v = 2 * rng_double(r) - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  return mean + sd * u * sqrt(-2 * log(s) / s);
}

double rng_lognormal(struct rng *r, double mu, double sigma)
{
  return exp(rng_normal(r, mu, sigma));
}

double rng_exp(struct rng *r, double mean)
{
  return -mean * log(open_double(r));
}

double rng_gamma(struct rng *r, double shape, double scale)
{
  double boost = 1, d, c;
  if (shape < 1) {
    boost = pow(open_double(r), 1 / shape);
    shape += 1;
  }
  d = shape - 1.0 / 3;
  c = 1 / sqrt(9 * d);
  for (;;) {
    double x = rng_normal(r, 0, 1), v = 1 + c * x, u;
    if (v <= 0)
      continue;
    v = v * v * v;
    u = open_double(r);
    if (log(u) < 0.5 * x * x + d - d * v + d * log(v))
      return boost * d * v * scale;
  }
}

static double zipf_h(double x, double s)
{
  /* The integral of x^-s; its limit where s is 1. */
  double lx = log(x), t = (1 - s) * lx;
  return fabs(t) > 1e-8 ? expm1(t) / t * lx : lx * (1 + t / 2);
}

static double zipf_h_inverse(double x, double s)
{
  double t = x * (1 - s);
  if (t < -1)
    t = -1;
  return exp(fabs(t) > 1e-8 ? log1p(t) / t * x : x * (1 - t / 2));
}

uint64_t rng_zipf(struct rng *r, uint64_t n, double s)
{
  double hx1 = zipf_h(1.5, s) - 1, hn = zipf_h((double)n + 0.5, s);
  double near = 2 - zipf_h_inverse(zipf_h(2.5, s) - pow(2, -s), s);
  for (;;) {
    double u = hn + rng_double(r) * (hx1 - hn);
    double x = zipf_h_inverse(u, s), k = floor(x + 0.5);
    if (k < 1)
      k = 1;
    if (k > (double)n)
      k = (double)n;
    if (k - x <= near || u >= zipf_h(k + 0.5, s) - pow(k, -s))
      return (uint64_t)k;
  }
}

bool rng_bool(struct rng *r, double p)
{
  return rng_double(r) < p;
}
