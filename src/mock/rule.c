#include "mock/rule.h"

#include "base/units.h"

static int positive(struct str s, uint64_t *out)
{
  int64_t x;
  if (units_integer(s, &x) < 0 || x < 1)
    return -1;
  *out = (uint64_t)x;
  return 0;
}

static int parse_when(struct str when, struct mock_rule *r)
{
  struct str first;
  double percent;
  if (str_ends(when, STR("%"))) {
    when.len--;
    if (units_number(when, &percent) < 0 || !(percent >= 0 && percent <= 100))
      return -1;
    r->share = percent / 100;
    return 0;
  }
  if (str_starts(when, STR("/")))
    return positive((struct str){when.p + 1, when.len - 1}, &r->every);
  if (str_ends(when, STR("+"))) {
    when.len--;
    return positive(when, &r->first);
  }
  first = str_split(&when, '-');
  if (positive(first, &r->first) < 0)
    return -1;
  if (!when.p) {
    r->last = r->first;
    return 0;
  }
  return positive(when, &r->last) < 0 || r->last < r->first ? -1 : 0;
}

int mock_rule_parse(struct str text, struct mock_rule *out, struct err *e)
{
  struct mock_rule r = {.first = 1, .last = UINT64_MAX, .share = 1};
  struct mock_plan trial;
  const char *at = text.len ? memrchr(text.p, '@', text.len) : NULL;
  unsigned before = e->count;
  r.specs = text;
  if (at) {
    struct str when = {at + 1, (size_t)(text.p + text.len - at - 1)};
    r.specs.len = (size_t)(at - text.p);
    if (parse_when(str_trim(when), &r) < 0)
      err_add(e,
              "--fault %.*s: \"%.*s\" says not which requests; say @3, @2-5, "
              "@3+, @/4 or @5%%",
              STR_ARG(text), STR_ARG(when));
  }
  mock_plan_defaults(&trial);
  if (!str_trim(r.specs).len)
    err_add(e, "--fault %.*s: no kind; say for example error:3@5%%",
            STR_ARG(text));
  mock_plan_apply(&trial, r.specs, "--fault", e);
  if (e->count != before)
    return -1;
  *out = r;
  return 0;
}

bool mock_rule_matches(const struct mock_rule *r, uint64_t number,
                       uint64_t seed)
{
  struct rng rng;
  if (number < r->first || number > r->last)
    return false;
  if (r->every && number % r->every)
    return false;
  if (r->share >= 1)
    return true;
  /* A stream of its own beside the timing draws of the same request. */
  rng_init(&rng, seed ^ UINT64_C(0x6661756c74), RNG_MOCK, number);
  return rng_double(&rng) < r->share;
}
