#include "core/arrival.h"

#include <math.h>

#include "base/clock.h"

static double gap(struct arrival *a)
{
  if (a->kind == ARRIVAL_POISSON || a->shape == 1)
    return rng_exp(&a->rng, 1 / a->rate);
  return rng_gamma(&a->rng, a->shape, 1 / (a->rate * a->shape));
}

/* The factor that puts the n-th arrival at n / rate: the sequence is walked
 * once on a copy of the stream. */
static double scale_to_count(struct arrival a, uint64_t n)
{
  double sum = 0;
  for (uint64_t i = 0; i < n; i++)
    sum += gap(&a);
  return sum > 0 ? (double)n / a.rate / sum : 1;
}

void arrival_init(struct arrival *a, const struct load *load, uint64_t seed)
{
  *a = (struct arrival){.kind = load->arrival,
                        .rate = load->request_rate,
                        .shape = load->burstiness > 0 ? load->burstiness : 1,
                        .scale = 1};
  if (a->kind == ARRIVAL_GAMMA && isinf(a->shape))
    a->kind = ARRIVAL_CONSTANT;
  rng_init(&a->rng, seed, RNG_ARRIVAL, 0);
  if (load->num_requests && !load->duration_ns && isfinite(a->rate) &&
      a->kind != ARRIVAL_CONSTANT)
    a->scale = scale_to_count(*a, load->num_requests);
}

uint64_t arrival_next(struct arrival *a)
{
  uint64_t i = a->index++;
  if (isinf(a->rate))
    return 0;
  if (a->kind == ARRIVAL_CONSTANT)
    return (uint64_t)((double)i / a->rate * 1e9);
  a->at_s += gap(a);
  return (uint64_t)(a->at_s * a->scale * 1e9);
}
