/* sum.h -- a sum of doubles that does not depend on their order.
 * Twice the digits of a double (Knuth's two-sum): adding the same numbers in
 * any order, on any number of threads, rounds to the same result in all but
 * absurd cases, and whole numbers below 2^53 add up exactly. */
#ifndef STOKE_STATS_SUM_H
#define STOKE_STATS_SUM_H

/* A zeroed one is 0. */
struct sum {
  double high, low;
};

static inline void sum_add(struct sum *s, double x)
{
  double high = s->high + x;
  double part = high - s->high;
  s->low += (s->high - (high - part)) + (x - part);
  s->high = high;
}

static inline void sum_merge(struct sum *into, const struct sum *from)
{
  sum_add(into, from->high);
  into->low += from->low;
}

static inline double sum_value(const struct sum *s)
{
  return s->high + s->low;
}

#endif
