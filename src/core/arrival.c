#include "core/arrival.h"

#include <math.h>

/* ---- ramps ---- */

static unsigned steps_of(const struct ramp *r)
{
  return r->steps ? r->steps : 10;
}

static double step_value(const struct ramp *r, unsigned i)
{
  unsigned n = steps_of(r);
  return n > 1 ? r->from + (r->to - r->from) * i / (n - 1) : r->to;
}

double ramp_at(const struct ramp *r, double t, double duration)
{
  double share = isfinite(duration) && duration > 0 ? t / duration : 0;
  if (r->from == r->to || share <= 0)
    return r->from;
  if (share >= 1)
    return r->to;
  switch (r->shape) {
  case RAMP_LINEAR: break;
  case RAMP_EXPONENTIAL: return r->from * pow(r->to / r->from, share);
  case RAMP_STEP: return step_value(r, (unsigned)(share * steps_of(r)));
  }
  return r->from + (r->to - r->from) * share;
}

static double linear_inverse(const struct ramp *r, double d, double units)
{
  /* from t + k/2 t^2 = units; in the form that does not cancel. */
  double k = (r->to - r->from) / d;
  double root = r->from * r->from + 2 * k * units;
  return root < 0 ? INFINITY : 2 * units / (r->from + sqrt(root));
}

static double exponential_inverse(const struct ramp *r, double d, double units)
{
  double c = log(r->to / r->from) / d, x = c * units / r->from;
  return x <= -1 ? INFINITY : log1p(x) / c;
}

static double step_inverse(const struct ramp *r, double d, double units)
{
  unsigned n = steps_of(r);
  double width = d / n;
  for (unsigned i = 0; i < n; i++) {
    double rate = step_value(r, i), inside = rate * width;
    if (units <= inside)
      return i * width + (rate > 0 ? units / rate : 0);
    units -= inside;
  }
  return INFINITY;
}

double ramp_inverse(const struct ramp *r, double duration, double units)
{
  if (units == 0)
    return 0;
  if (r->from == r->to)
    return r->from > 0 ? units / r->from : INFINITY;
  switch (r->shape) {
  case RAMP_LINEAR: break;
  case RAMP_EXPONENTIAL: return exponential_inverse(r, duration, units);
  case RAMP_STEP: return step_inverse(r, duration, units);
  }
  return linear_inverse(r, duration, units);
}

/* Without an end there is no ramp. */
static double inverse(const struct arrival *a, double units)
{
  struct ramp r = a->stage->rate;
  if (!isfinite(a->duration_s))
    r.to = r.from;
  return ramp_inverse(&r, a->duration_s, units);
}

/* ---- arrivals ---- */

double arrival_gap(struct arrival *a)
{
  if (a->kind == ARRIVAL_CONSTANT)
    return 1;
  if (a->kind == ARRIVAL_POISSON || a->shape == 1)
    return rng_exp(&a->rng, 1);
  return rng_gamma(&a->rng, a->shape, 1 / a->shape);
}

/* The factor that puts the n-th arrival at n units: the sequence is walked
 * once on a copy of the stream. */
static double scale_to_count(struct arrival a, uint64_t n)
{
  double sum = 0;
  for (uint64_t i = 0; i < n; i++)
    sum += arrival_gap(&a);
  return sum > 0 ? (double)n / sum : 1;
}

void arrival_init(struct arrival *a, const struct stage *s, uint64_t seed,
                  uint64_t number)
{
  *a = (struct arrival){
      .stage = s,
      .kind = s->arrival,
      .duration_s = s->duration_ns ? (double)s->duration_ns / 1e9 : INFINITY,
      .shape = s->burstiness > 0 ? s->burstiness : 1,
      .scale = 1,
  };
  if (a->kind == ARRIVAL_GAMMA && isinf(a->shape))
    a->kind = ARRIVAL_CONSTANT;
  rng_init(&a->rng, seed, RNG_ARRIVAL, number);
  if (s->num_requests && !s->duration_ns && isfinite(s->rate.from) &&
      s->rate.from == s->rate.to && a->kind != ARRIVAL_CONSTANT)
    a->scale = scale_to_count(*a, s->num_requests);
}

bool arrival_next(struct arrival *a, uint64_t *offset_ns)
{
  const struct stage *s = a->stage;
  uint64_t i = a->index++;
  double t;
  if (s->num_requests && i >= s->num_requests)
    return false;
  if (s->n_offsets) {
    *offset_ns = i < s->n_offsets ? s->offsets[i] : 0;
    return i < s->n_offsets && (!s->duration_ns || *offset_ns < s->duration_ns);
  }
  if (isinf(s->rate.from)) {
    *offset_ns = 0;
    return s->num_requests > 0;
  }
  if (a->kind == ARRIVAL_CONSTANT)
    a->units = (double)i;
  else
    a->units += arrival_gap(a);
  t = inverse(a, a->units * a->scale);
  if (!(t < a->duration_s))
    return false;
  *offset_ns = (uint64_t)(t * 1e9);
  return true;
}
