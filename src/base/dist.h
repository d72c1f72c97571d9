/* dist.h -- distributions as people type them: "lognormal(0.4s, 0.3)".
 * A number alone is a constant. Units: a plain number, or a duration, which
 * counts in seconds; counts and times use the same parser.
 *
 *   0.4s   constant(x)     always x
 *   uniform(lo, hi)        between lo and hi
 *   normal(mean, sd)       never below 0: negative draws are 0
 *   lognormal(median, sigma)  sigma is that of the logarithm
 *   exp(mean)
 *   gamma(shape, scale)    mean shape * scale
 *   zipf(n, s)             1..n */
#ifndef STOKE_BASE_DIST_H
#define STOKE_BASE_DIST_H

#include "base/err.h"
#include "base/rng.h"
#include "base/str.h"

enum dist_kind {
  DIST_CONSTANT,
  DIST_UNIFORM,
  DIST_NORMAL,
  DIST_LOGNORMAL,
  DIST_EXP,
  DIST_GAMMA,
  DIST_ZIPF,
};

/* Zeroed: the constant 0. */
struct dist {
  enum dist_kind kind;
  double a, b;
};

/* 0, or -1 and a message that begins with `where` ("--itl", "params.wait"). */
int dist_parse(struct str s, struct dist *out, const char *where,
               struct err *e);
double dist_sample(const struct dist *d, struct rng *r);

#endif
