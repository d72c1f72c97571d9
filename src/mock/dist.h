/* dist.h -- a random size: constant, normal or lognormal.
 * Times are in nanoseconds, counts in ones; both are drawn as doubles and
 * never negative. mean and sd are those of the drawn value itself (not of its
 * logarithm), so that what a run should see can be computed by hand. */
#ifndef STOKE_MOCK_DIST_H
#define STOKE_MOCK_DIST_H

#include "base/rng.h"
#include "base/str.h"

struct mock_dist {
  enum { MOCK_DIST_CONSTANT, MOCK_DIST_NORMAL, MOCK_DIST_LOGNORMAL } kind;
  double mean, sd;
};

/* "20ms", "normal:20ms:5ms", "lognormal:20ms:5ms" (mean, then standard
 * deviation). Returns 0, or -1 and leaves *out. */
int mock_dist_parse_time(struct str s, struct mock_dist *out);
/* The same with plain numbers: "64", "normal:64:10". */
int mock_dist_parse_count(struct str s, struct mock_dist *out);

/* A draw, >= 0: what a normal draws below 0 becomes 0 (its mean is then a
 * little above `mean`). Constants take nothing from the rng. */
double mock_dist_draw(const struct mock_dist *d, struct rng *r);

#endif
