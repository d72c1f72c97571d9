#include "base/dist.h"

#include <math.h>

#include "base/units.h"

static const struct {
  const char *name;
  enum dist_kind kind;
  unsigned args;
} kinds[] = {
    {"constant", DIST_CONSTANT, 1}, {"uniform", DIST_UNIFORM, 2},
    {"normal", DIST_NORMAL, 2},     {"lognormal", DIST_LOGNORMAL, 2},
    {"exp", DIST_EXP, 1},           {"gamma", DIST_GAMMA, 2},
    {"zipf", DIST_ZIPF, 2},
};

/* A number, or a duration in seconds. */
static int parse_number(struct str s, double *out)
{
  uint64_t ns;
  s = str_trim(s);
  if (units_number(s, out) == 0)
    return isfinite(*out) ? 0 : -1;
  if (units_duration(s, &ns) < 0)
    return -1;
  *out = (double)ns / 1e9;
  return 0;
}

/* Exactly `n` numbers between commas. */
static int parse_numbers(struct str s, double *out, unsigned n)
{
  for (unsigned i = 0; i < n; i++) {
    if (!s.p || parse_number(str_split(&s, ','), &out[i]) < 0)
      return -1;
  }
  return s.p ? -1 : 0;
}

/* What makes no sense for the kind, or NULL. */
static const char *objection(const struct dist *d)
{
  switch (d->kind) {
  case DIST_UNIFORM: return d->a <= d->b ? NULL : "lo must not be above hi";
  case DIST_NORMAL: return d->b >= 0 ? NULL : "sd must not be negative";
  case DIST_LOGNORMAL:
    return d->a > 0 && d->b >= 0
               ? NULL
               : "the median must be above 0, sigma not below";
  case DIST_EXP: return d->a >= 0 ? NULL : "the mean must not be negative";
  case DIST_GAMMA:
    return d->a > 0 && d->b >= 0 ? NULL
                                 : "the shape must be above 0, scale not below";
  case DIST_ZIPF:
    return d->a >= 1 && d->a <= 1e15 && d->b >= 0
               ? NULL
               : "n must be at least 1, s not below 0";
  case DIST_CONSTANT: break;
  }
  return NULL;
}

int dist_parse(struct str s, struct dist *out, const char *where, struct err *e)
{
  struct str rest = str_trim(s), name;
  double x[2] = {0};
  const char *why;
  if (parse_number(rest, &x[0]) == 0) {
    *out = (struct dist){DIST_CONSTANT, x[0], 0};
    return 0;
  }
  name = str_trim(str_split(&rest, '('));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct dist d = {.kind = kinds[i].kind};
    if (!str_eq(name, str_of(kinds[i].name)))
      continue;
    if (!str_ends(rest, STR(")")))
      break;
    rest.len--;
    if (parse_numbers(rest, x, kinds[i].args) < 0)
      return err_add(e, "%s: %s takes %u number%s, as in %s", where,
                     kinds[i].name, kinds[i].args,
                     kinds[i].args == 1 ? "" : "s",
                     kinds[i].args == 1 ? "exp(0.4s)" : "lognormal(0.4s, 0.3)");
    d.a = x[0];
    d.b = x[1];
    why = objection(&d);
    if (why)
      return err_add(e, "%s: %.*s: %s", where, STR_ARG(s), why);
    *out = d;
    return 0;
  }
  return err_add(e,
                 "%s: '%.*s' is not a distribution; say a number, "
                 "constant(x), uniform(lo, hi), normal(mean, sd), "
                 "lognormal(median, sigma), exp(mean), gamma(shape, scale) "
                 "or zipf(n, s)",
                 where, STR_ARG(s));
}

double dist_sample(const struct dist *d, struct rng *r)
{
  switch (d->kind) {
  case DIST_CONSTANT: break;
  case DIST_UNIFORM: return rng_uniform(r, d->a, d->b);
  case DIST_NORMAL: return fmax(0, rng_normal(r, d->a, d->b));
  case DIST_LOGNORMAL: return rng_lognormal(r, log(d->a), d->b);
  case DIST_EXP: return rng_exp(r, d->a);
  case DIST_GAMMA: return rng_gamma(r, d->a, d->b);
  case DIST_ZIPF: return (double)rng_zipf(r, (uint64_t)d->a, d->b);
  }
  return d->a;
}
