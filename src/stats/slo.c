#include "stats/slo.h"

#include <math.h>

#include "base/units.h"

static uint64_t *limit(struct slo *s, struct str key)
{
  if (str_eq(key, STR("ttft")))
    return &s->ttft_ns;
  if (str_eq(key, STR("tpot")))
    return &s->tpot_ns;
  if (str_eq(key, STR("e2el")))
    return &s->e2el_ns;
  return NULL;
}

int slo_parse(struct slo *s, struct str text, struct err *e)
{
  struct str value = text, key = str_trim(str_split(&value, ':'));
  uint64_t *to = limit(s, key);
  double ms;
  if (!value.p)
    return err_add(e, "goodput %.*s: write KEY:MS, for example ttft:500",
                   STR_ARG(text));
  if (!to)
    return err_add(e, "goodput %.*s: no such figure; choose ttft, tpot or e2el",
                   STR_ARG(text));
  if (units_number(value, &ms) < 0 || !(ms >= 0) || ms > 1e12)
    return err_add(e, "goodput %.*s: the limit must be milliseconds >= 0",
                   STR_ARG(text));
  /* 0 means "none" in a slo; the strictest limit there is, is 1 ns. */
  *to = ms > 0 ? (uint64_t)llround(ms * 1e6) : 1;
  return 0;
}

bool slo_set(const struct slo *s)
{
  return s->ttft_ns || s->tpot_ns || s->e2el_ns;
}

struct slo slo_of(const struct slo *run, const struct record *r)
{
  return (struct slo){
      .ttft_ns = r->slo_ttft_ns ? r->slo_ttft_ns : run->ttft_ns,
      .tpot_ns = r->slo_tpot_ns ? r->slo_tpot_ns : run->tpot_ns,
      .e2el_ns = r->slo_e2el_ns ? r->slo_e2el_ns : run->e2el_ns,
  };
}

bool slo_good(const struct slo *s, const struct record *r)
{
  uint64_t ttft, e2el;
  double tpot;
  if (r->outcome != OUTCOME_OK)
    return false;
  if (!record_e2el(r, &e2el))
    e2el = 0;
  if (!record_ttft(r, &ttft))
    ttft = e2el;
  if (!record_tpot(r, &tpot))
    tpot = 0;
  return (!s->ttft_ns || ttft <= s->ttft_ns) &&
         (!s->tpot_ns || tpot <= (double)s->tpot_ns) &&
         (!s->e2el_ns || e2el <= s->e2el_ns);
}
