#include "report/vllm_figures.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stats/sample.h"

/* Seconds that are counted one by one: a week. */
#define MOST_SECONDS (7u * 24 * 3600)

/* ---- whole seconds from the first start ---- */

struct seconds {
  uint64_t origin_ns;
  uint64_t *tokens, *requests;
  size_t n;
};

static size_t second_of(const struct seconds *b, uint64_t at_ns)
{
  uint64_t i = ns_since(b->origin_ns, at_ns) / NS_PER_SEC;
  return i < b->n ? (size_t)i : b->n - 1;
}

static void count(struct seconds *b, const struct detail *d)
{
  uint64_t at = d->sent_ns + d->ttft_ns;
  size_t last = second_of(b, d->end_ns);
  for (size_t i = second_of(b, d->sent_ns); i <= last; i++)
    b->requests[i]++;
  if (!d->ttft_ns)
    return;
  b->tokens[second_of(b, at)]++;
  for (size_t i = 0; i < d->n_gaps; i++) {
    at += d->gaps[i];
    b->tokens[second_of(b, at)]++;
  }
}

static uint64_t most(const uint64_t *list, size_t n)
{
  uint64_t max = 0;
  for (size_t i = 0; i < n; i++)
    max = list[i] > max ? list[i] : max;
  return max;
}

static void find_peaks(struct summary *s, const struct details *d)
{
  struct seconds b = {.origin_ns = UINT64_MAX};
  uint64_t end = 0, span;
  for (size_t i = 0; i < d->n; i++) {
    if (!d->list[i].ok)
      continue;
    if (d->list[i].sent_ns < b.origin_ns)
      b.origin_ns = d->list[i].sent_ns;
    if (d->list[i].end_ns > end)
      end = d->list[i].end_ns;
  }
  span = ns_since(b.origin_ns, end) / NS_PER_SEC;
  b.n = span < MOST_SECONDS ? (size_t)span + 1 : MOST_SECONDS;
  b.tokens = mem_zalloc(b.n, sizeof *b.tokens);
  b.requests = mem_zalloc(b.n, sizeof *b.requests);
  for (size_t i = 0; i < d->n; i++)
    if (d->list[i].ok)
      count(&b, &d->list[i]);
  s->max_output_tokens_per_s = (double)most(b.tokens, b.n);
  s->max_concurrent_requests = most(b.requests, b.n);
  mem_free(b.tokens);
  mem_free(b.requests);
}

/* ---- goodput ---- */

static bool is_good(const struct detail *d, const struct slo *slo)
{
  double tpot = d->output > 1 ? (double)ns_since(d->ttft_ns, d->e2el_ns) /
                                    (double)(d->output - 1)
                              : 0;
  if (!d->ok)
    return false;
  return (!slo->ttft_ns || d->ttft_ns <= slo->ttft_ns) &&
         (!slo->tpot_ns || tpot <= (double)slo->tpot_ns) &&
         (!slo->e2el_ns || d->e2el_ns <= slo->e2el_ns);
}

static double good(const struct details *d, const struct slo *slo)
{
  size_t n = 0;
  for (size_t i = 0; i < d->n; i++)
    n += is_good(&d->list[i], slo);
  return (double)n;
}

/* ---- latencies ---- */

/* One of a request, ns; NaN where it has none. */
static double figure_of(const struct detail *d, enum figure f)
{
  switch (f) {
  case FIGURE_TTFT: return d->streamed ? (double)d->ttft_ns : NAN;
  case FIGURE_E2EL: return (double)d->e2el_ns;
  case FIGURE_E2EL_DUE: return (double)(d->e2el_ns + d->queue_ns);
  case FIGURE_TPOT:
    return d->streamed && d->output > 1
               ? (double)ns_since(d->ttft_ns, d->e2el_ns) /
                     (double)(d->output - 1)
               : NAN;
  default: return NAN;
  }
}

static void replace(struct summary *s, const struct details *d, enum figure f)
{
  double *values = mem_alloc((d->n + 1) * sizeof *values);
  size_t n = 0;
  for (size_t i = 0; i < d->n; i++) {
    double x = d->list[i].ok ? figure_of(&d->list[i], f) : NAN;
    if (!isnan(x))
      values[n++] = x;
  }
  sample_sort(values, n);
  s->latency[f] = latency_of(s, values, n);
  mem_free(values);
}

static void replace_gaps(struct summary *s, const struct details *d)
{
  double *values;
  size_t n = 0, at = 0;
  for (size_t i = 0; i < d->n; i++)
    n += d->list[i].ok ? d->list[i].n_gaps : 0;
  values = mem_alloc((n + 1) * sizeof *values);
  for (size_t i = 0; i < d->n; i++)
    for (size_t k = 0; d->list[i].ok && k < d->list[i].n_gaps; k++)
      values[at++] = (double)d->list[i].gaps[k];
  sample_sort(values, n);
  s->latency[FIGURE_ITL] = latency_of(s, values, n);
  mem_free(values);
}

static void replace_latencies(struct summary *s, const struct details *d)
{
  replace(s, d, FIGURE_TTFT);
  replace(s, d, FIGURE_TPOT);
  replace(s, d, FIGURE_E2EL);
  replace(s, d, FIGURE_E2EL_DUE);
  replace_gaps(s, d);
  for (size_t i = 0; s->latencies_s && i < s->n_requests && i < d->n; i++)
    s->latencies_s[i] = ns_to_sec(d->list[i].e2el_ns);
}

/* ---- empty sets ---- */

static void zero(double *x)
{
  if (isnan(*x))
    *x = 0;
}

static void fill_empty(struct latency *l)
{
  zero(&l->mean);
  zero(&l->std);
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    zero(&l->p[i]);
  for (size_t i = 0; i < USER_PERCENTILES_MAX; i++)
    zero(&l->user[i]);
}

static double per_second(double x, double s)
{
  return s > 0 ? x / s : 0;
}

void vllm_figures_apply(struct summary *s, const struct details *d,
                        const struct slo *slo)
{
  if (!isnan(s->duration_s) && !isnan(s->start_s))
    s->duration_s += s->start_s;
  zero(&s->duration_s);
  s->request_throughput = per_second((double)s->completed, s->duration_s);
  s->output_throughput = per_second((double)s->output_tokens, s->duration_s);
  s->total_token_throughput = per_second(
      (double)s->output_tokens + (double)s->input_tokens, s->duration_s);
  find_peaks(s, d);
  replace_latencies(s, d);
  if (slo_set(slo)) {
    s->slo = true;
    s->request_goodput = per_second(good(d, slo), s->duration_s);
  }
  for (int f = 0; f < FIGURE_COUNT; f++)
    fill_empty(&s->latency[f]);
}
