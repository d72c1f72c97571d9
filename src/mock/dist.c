#include "mock/dist.h"

#include <math.h>

#include "base/units.h"

typedef int number_fn(struct str s, double *out);

static int number_time(struct str s, double *out)
{
  uint64_t ns;
  if (units_duration(s, &ns) < 0)
    return -1;
  *out = (double)ns;
  return 0;
}

static int number_count(struct str s, double *out)
{
  return units_number(s, out) < 0 || !(*out >= 0) || isinf(*out) ? -1 : 0;
}

static int parse(struct str s, struct mock_dist *out, number_fn *number)
{
  struct mock_dist d = {.kind = MOCK_DIST_CONSTANT};
  struct str rest = s, name = str_split(&rest, ':'), mean;
  if (!rest.p) {
    if (number(s, &d.mean) < 0)
      return -1;
    *out = d;
    return 0;
  }
  if (str_eq(name, STR("normal")))
    d.kind = MOCK_DIST_NORMAL;
  else if (str_eq(name, STR("lognormal")))
    d.kind = MOCK_DIST_LOGNORMAL;
  else if (!str_eq(name, STR("constant")))
    return -1;
  mean = str_split(&rest, ':');
  if (number(mean, &d.mean) < 0)
    return -1;
  if ((d.kind == MOCK_DIST_CONSTANT) != !rest.p)
    return -1;
  if (rest.p && number(rest, &d.sd) < 0)
    return -1;
  *out = d;
  return 0;
}

int mock_dist_parse_time(struct str s, struct mock_dist *out)
{
  return parse(s, out, number_time);
}

int mock_dist_parse_count(struct str s, struct mock_dist *out)
{
  return parse(s, out, number_count);
}

double mock_dist_draw(const struct mock_dist *d, struct rng *r)
{
  double x = d->mean;
  if (d->kind == MOCK_DIST_NORMAL) {
    x = rng_normal(r, d->mean, d->sd);
  } else if (d->kind == MOCK_DIST_LOGNORMAL && d->mean > 0) {
    double variance = log1p(d->sd * d->sd / (d->mean * d->mean));
    x = rng_lognormal(r, log(d->mean) - variance / 2, sqrt(variance));
  }
  return x > 0 ? x : 0;
}
