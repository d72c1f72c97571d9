#include "stats/trend.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

#define BITS  10
#define SUBS  (1u << BITS)
#define SHIFT (52 - BITS)
/* Octaves of the negative numbers stand below this one's number, the others
 * from there on: their order is the numbers' order. */
#define ZERO 2048u

struct trend_octave {
  unsigned number; /* of the sign and the exponent, ascending */
  uint64_t n[SUBS];
};

struct place {
  unsigned octave, sub;
};

/* A double's bits are its sign, exponent and mantissa: the bucket can be read
 * off. Below zero everything runs the other way. */
static struct place place_of(double x)
{
  uint64_t bits;
  unsigned exponent, sub;
  x += 0.0; /* there is but one zero */
  memcpy(&bits, &x, sizeof bits);
  exponent = (unsigned)(bits >> 52 & 2047);
  sub = (unsigned)(bits >> SHIFT & (SUBS - 1));
  if (x < 0)
    return (struct place){ZERO - 1 - exponent, SUBS - 1 - sub};
  return (struct place){ZERO + exponent, sub};
}

static double middle_of(unsigned octave, unsigned sub)
{
  bool negative = octave < ZERO;
  uint64_t exponent = negative ? ZERO - 1 - octave : octave - ZERO;
  uint64_t bits = exponent << 52;
  double x;
  /* Subnormal numbers: nothing that anybody measured. */
  if (exponent == 0)
    return 0;
  bits |= (uint64_t)(negative ? SUBS - 1 - sub : sub) << SHIFT;
  bits |= UINT64_C(1) << (SHIFT - 1);
  memcpy(&x, &bits, sizeof x);
  return negative ? -x : x;
}

void trend_deinit(struct trend *t)
{
  for (size_t i = 0; i < t->n; i++)
    mem_free(t->list[i]);
  mem_free(t->list);
  *t = (struct trend){0};
}

/* The place of an octave in the list, made when it is not there. */
static struct trend_octave *octave_of(struct trend *t, unsigned number)
{
  size_t i = 0;
  if (t->n && t->list[t->last]->number == number)
    return t->list[t->last];
  while (i < t->n && t->list[i]->number < number)
    i++;
  t->last = i;
  if (i < t->n && t->list[i]->number == number)
    return t->list[i];
  t->list = mem_resize(t->list, t->n + 1, sizeof *t->list);
  memmove(t->list + i + 1, t->list + i, (t->n - i) * sizeof *t->list);
  t->n++;
  t->list[i] = mem_new(struct trend_octave);
  t->list[i]->number = number;
  return t->list[i];
}

static void widen(struct trend *t, double min, double max)
{
  if (t->count == 0 || min < t->min)
    t->min = min;
  if (t->count == 0 || max > t->max)
    t->max = max;
}

void trend_add(struct trend *t, double x)
{
  struct place p = place_of(x);
  assert(isfinite(x));
  octave_of(t, p.octave)->n[p.sub]++;
  widen(t, x, x);
  t->count++;
  t->fractions = t->fractions || x != rint(x);
  sum_add(&t->sum, x);
  /* What rounding takes off the square is added too. */
  sum_add(&t->squares, x * x);
  sum_add(&t->squares, fma(x, x, -(x * x)));
}

void trend_merge(struct trend *into, const struct trend *from)
{
  if (from->count == 0)
    return;
  for (size_t i = 0; i < from->n; i++) {
    struct trend_octave *o = octave_of(into, from->list[i]->number);
    for (unsigned k = 0; k < SUBS; k++)
      o->n[k] += from->list[i]->n[k];
  }
  widen(into, from->min, from->max);
  into->count += from->count;
  into->fractions = into->fractions || from->fractions;
  sum_merge(&into->sum, &from->sum);
  sum_merge(&into->squares, &from->squares);
}

/* A bucket's value, within what was seen: five is five. */
static double shown(const struct trend *t, double middle)
{
  if (!t->fractions)
    middle = rint(middle);
  return fmin(fmax(middle, t->min), t->max);
}

/* The sample of this rank, 0 the smallest. */
static double at_rank(const struct trend *t, uint64_t rank)
{
  uint64_t seen = 0;
  if (rank == 0)
    return t->min;
  for (size_t i = 0; rank < t->count - 1 && i < t->n; i++)
    for (unsigned k = 0; k < SUBS; k++)
      if ((seen += t->list[i]->n[k]) > rank)
        return shown(t, middle_of(t->list[i]->number, k));
  return t->max;
}

double trend_percentile(const struct trend *t, double p)
{
  double rank, low, high;
  if (t->count == 0)
    return NAN;
  rank = p / 100 * (double)(t->count - 1);
  low = at_rank(t, (uint64_t)floor(rank));
  high = at_rank(t, (uint64_t)ceil(rank));
  return low + (high - low) * (rank - floor(rank));
}

double trend_mean(const struct trend *t)
{
  return t->count ? sum_value(&t->sum) / (double)t->count : NAN;
}

static void add_product(struct sum *s, double a, double b)
{
  sum_add(s, a * b);
  sum_add(s, fma(a, b, -(a * b)));
}

/* The squares around the mean, out of those around zero: n times the variance.
 * What cancels out is far larger than what is left, so every product keeps
 * its rounding error. */
double trend_std(const struct trend *t)
{
  double n = (double)t->count, mean = trend_mean(t);
  struct sum squares = t->squares;
  if (t->count == 0)
    return NAN;
  add_product(&squares, -2 * mean, t->sum.high);
  add_product(&squares, -2 * mean, t->sum.low);
  add_product(&squares, n, mean * mean);
  sum_add(&squares, n * fma(mean, mean, -(mean * mean)));
  if (isnan(sum_value(&squares)))
    return NAN;
  return sqrt(fmax(0, sum_value(&squares)) / n);
}
