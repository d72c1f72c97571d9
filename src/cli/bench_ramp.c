#include "cli/bench_ramp.h"

#include <math.h>

#include "base/mem.h"
#include "core/arrival.h"

static double seconds(const struct bench_ramp *r)
{
  double mean = r->exponential && r->from != r->to
                    ? (r->to - r->from) / log(r->to / r->from)
                    : (r->from + r->to) / 2;
  return (double)r->n / mean;
}

static struct ramp ramp_of(const struct bench_ramp *r)
{
  return (struct ramp){.from = r->from,
                       .to = r->to,
                       .shape =
                           r->exponential ? RAMP_EXPONENTIAL : RAMP_LINEAR};
}

/* The rate that vLLM gives the i-th request. */
static double rate_of(const struct bench_ramp *r, uint64_t i)
{
  struct ramp ramp = ramp_of(r);
  return ramp_at(&ramp, (double)i, r->n > 1 ? (double)(r->n - 1) : 1);
}

static void by_number(const struct bench_ramp *r, struct arrival *gaps,
                      uint64_t *offsets)
{
  double at = 0;
  for (uint64_t i = 0; i < r->n; i++) {
    double rate = rate_of(r, i), gap = arrival_gap(gaps);
    at += rate > 0 ? gap / rate : 0;
    offsets[i] = (uint64_t)(at * 1e9);
  }
}

/* Gaps of mean 1, stretched so that the last is at n, and carried back
 * through the integral of the rate; see core/arrival.h. */
static void by_time(const struct bench_ramp *r, struct arrival *gaps,
                    uint64_t *offsets)
{
  struct ramp ramp = ramp_of(r);
  double end = seconds(r), sum = 0, at = 0;
  double *list = mem_alloc(r->n * sizeof *list);
  for (uint64_t i = 0; i < r->n; i++)
    sum += list[i] = arrival_gap(gaps);
  for (uint64_t i = 0; i < r->n; i++) {
    at += list[i] * (double)r->n / sum;
    offsets[i] = (uint64_t)(fmin(end, ramp_inverse(&ramp, end, at)) * 1e9);
  }
  mem_free(list);
}

static void find_changes(const struct bench_ramp *r, struct bench_timetable *t)
{
  struct ramp ramp = ramp_of(r);
  double end = seconds(r);
  uint64_t last = (uint64_t)r->from, most = (uint64_t)r->to - last + 1;
  t->changes = mem_alloc(most * sizeof *t->changes);
  t->changes[t->n_changes++] = (struct bench_rate_change){.rps = last};
  for (uint64_t i = 0; i < r->n; i++) {
    double rate = r->by_number
                      ? rate_of(r, i)
                      : ramp_at(&ramp, (double)t->offsets[i] / 1e9, end);
    /* The last arrival is at the ramp's end but for rounding. */
    while ((double)(last + 1) <= rate * (1 + 1e-9) && t->n_changes < most)
      t->changes[t->n_changes++] =
          (struct bench_rate_change){++last, t->offsets[i]};
  }
}

struct bench_timetable bench_ramp_make(const struct bench_ramp *r)
{
  struct bench_timetable t = {.offsets = mem_alloc(r->n * sizeof *t.offsets)};
  const struct stage rule = {.arrival = ARRIVAL_GAMMA,
                             .burstiness = r->burstiness};
  struct arrival gaps;
  arrival_init(&gaps, &rule, r->seed, 0);
  if (r->by_number)
    by_number(r, &gaps, t.offsets);
  else
    by_time(r, &gaps, t.offsets);
  find_changes(r, &t);
  return t;
}
