#include <math.h>

#include "core/config.h"

size_t load_stages(const struct load *l)
{
  return l->n_stages ? l->n_stages : 1;
}

static struct ramp level(double x)
{
  return (struct ramp){.from = x, .to = x};
}

static struct stage whole(const struct load *l)
{
  return (struct stage){
      .duration_ns = l->duration_ns,
      .rate = level(l->request_rate),
      .arrival = l->arrival,
      .burstiness = l->burstiness,
      .concurrency = level((double)l->max_concurrency),
      .max_prefill = l->max_prefill,
      .num_requests = l->num_requests,
      .pacing_ns = l->pacing_ns,
      .drop = l->drop,
  };
}

struct stage load_stage(const struct load *l, size_t i)
{
  return l->n_stages ? l->stages[i] : whole(l);
}

struct stage load_warmup(const struct load *l, unsigned workers)
{
  struct stage s = load_stage(l, 0);
  s.label = NULL;
  s.duration_ns = l->warmup_ns;
  s.num_requests = l->warmup_requests;
  /* A warm-up doesn't ramp: it runs where the first stage begins. */
  s.rate.to = s.rate.from = l->warmup_at_once ? INFINITY : s.rate.from;
  /* A timetable's own times have no rate: one after the other, then. */
  if (s.n_offsets && !(s.rate.from > 0) && !(s.concurrency.from > 0))
    s.concurrency.from = 1;
  if (s.concurrency.from > 0)
    s.concurrency.from = fmax(s.concurrency.from, workers);
  s.concurrency.to = s.concurrency.from;
  s.offsets = NULL;
  s.n_offsets = 0;
  return s;
}

uint64_t load_duration(const struct load *l)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < load_stages(l); i++) {
    struct stage s = load_stage(l, i);
    if (!s.duration_ns)
      return l->duration_ns;
    sum += s.duration_ns;
  }
  return l->duration_ns && l->duration_ns < sum ? l->duration_ns : sum;
}

uint64_t load_max_concurrency(const struct load *l)
{
  double most = 0;
  for (size_t i = 0; i < load_stages(l); i++) {
    struct stage s = load_stage(l, i);
    double c = fmax(s.concurrency.from, s.concurrency.to);
    bool silent = s.rate.from == 0 && s.rate.to == 0 && !s.n_offsets;
    if (c < 1 && !silent)
      return 0;
    most = fmax(most, c);
  }
  return (uint64_t)most;
}

uint64_t stage_cap(const struct stage *s)
{
  const struct ramp *c = &s->concurrency;
  uint64_t cap = c->from == c->to ? (uint64_t)c->from : 0;
  if (s->max_prefill && (!cap || s->max_prefill < cap))
    cap = s->max_prefill;
  return cap;
}

static void at_most(uint64_t *n, uint64_t bound)
{
  if (bound && bound < *n)
    *n = bound;
}

unsigned load_workers(const struct load *l, unsigned threads)
{
  uint64_t n = threads ? threads : 1;
  at_most(&n, load_max_concurrency(l));
  at_most(&n, l->num_requests);
  for (size_t i = 0; i < load_stages(l); i++) {
    struct stage s = load_stage(l, i);
    at_most(&n, stage_cap(&s));
  }
  return (unsigned)n;
}
