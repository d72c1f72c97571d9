#include "stats/summary.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stats/sample.h"
#include "stats/summary_builder.h"

const double latency_percentiles[LATENCY_PERCENTILES] = {1,  5,  10, 25, 50,
                                                         75, 90, 95, 99, 99.9};
const char *const latency_names[LATENCY_PERCENTILES] = {
    "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999"};

const char *figure_name(enum figure f)
{
  static const char *const names[] = {
#define X(ENUM, name) name,
      FIGURE_LIST(X)
#undef X
  };
  assert(f < FIGURE_COUNT);
  return names[f];
}

/* ---- latencies ---- */

static const struct latency no_latency = {
    .mean = NAN,
    .std = NAN,
    .min = NAN,
    .max = NAN,
    .p = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
};

struct latency latency_of(const struct summary *s, const double *ns, size_t n)
{
  struct latency l = no_latency;
  l.count = n;
  for (size_t i = 0; i < s->n_percentiles; i++)
    l.user[i] = sample_percentile(ns, n, s->percentiles[i]) / 1e6;
  if (n == 0)
    return l;
  l.mean = sample_mean(ns, n) / 1e6;
  l.std = sample_std(ns, n) / 1e6;
  l.min = ns[0] / 1e6;
  l.max = ns[n - 1] / 1e6;
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    l.p[i] = sample_percentile(ns, n, latency_percentiles[i]) / 1e6;
  return l;
}

struct latency latency_of_hist(const struct summary *s, const struct hist *h)
{
  struct latency l = no_latency;
  l.count = h->count;
  for (size_t i = 0; i < s->n_percentiles; i++)
    l.user[i] = hist_percentile(h, s->percentiles[i]) / 1e6;
  if (h->count == 0)
    return l;
  l.mean = hist_mean(h) / 1e6;
  l.std = hist_std(h) / 1e6;
  l.min = ns_to_ms(h->min);
  l.max = ns_to_ms(h->max);
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    l.p[i] = hist_percentile(h, latency_percentiles[i]) / 1e6;
  return l;
}

double row_figure(const struct metrics_row *row, enum figure f)
{
  switch (f) {
  case FIGURE_TTFT: return row->ttft;
  case FIGURE_TTFAT: return row->ttfat;
  case FIGURE_TTFB: return row->ttfb;
  case FIGURE_TPOT: return row->tpot;
  case FIGURE_E2EL: return row->e2el;
  case FIGURE_QUEUE: return row->outcome == OUTCOME_OK ? queue_of(row) : NAN;
  case FIGURE_TTFT_DUE: return row->ttft + queue_of(row);
  case FIGURE_E2EL_DUE: return row->e2el + queue_of(row);
  default: return NAN;
  }
}

static void build_figure(struct builder *b, enum figure f)
{
  size_t n = 0;
  EACH_ROW(b->m, row)
  {
    double x = row_figure(row, f);
    if (!isnan(x))
      b->values[n++] = x;
  }
  sample_sort(b->values, n);
  b->s->latency[f] = latency_of(b->s, b->values, n);
  for (size_t i = 0; i < n; i++)
    hist_add(&b->s->hist[f], (uint64_t)llround(b->values[i]));
}

double *metrics_gaps(const struct metrics *m, size_t *n)
{
  double *gaps;
  *n = 0;
  if (m->gaps.len != m->itl_count)
    return NULL;
  gaps = mem_alloc(m->gaps.len * sizeof *gaps);
  for (const struct column_block *k = m->gaps.first; k; k = k->next)
    for (size_t i = 0; i < k->len; i++)
      gaps[(*n)++] = (double)((const uint64_t *)(const void *)k->items)[i];
  sample_sort(gaps, *n);
  return gaps;
}

static void build_itl(struct builder *b)
{
  const struct metrics *m = b->m;
  struct summary *s = b->s;
  struct hist *all = &s->hist[FIGURE_ITL];
  size_t n;
  double *gaps = metrics_gaps(m, &n);
  for (size_t i = 0; i < m->cells.n; i++)
    hist_merge(all, &m->cells.list[i].itl);
  s->itl_exact = gaps != NULL;
  s->latency[FIGURE_ITL] =
      gaps ? latency_of(s, gaps, n) : latency_of_hist(s, all);
  mem_free(gaps);
}

static void build_latencies(struct builder *b)
{
  for (int f = 0; f < FIGURE_COUNT; f++)
    if (f != FIGURE_ITL)
      build_figure(b, (enum figure)f);
  build_itl(b);
  b->s->connect = latency_of_hist(b->s, &b->m->connect);
}

/* ---- counts ---- */

static void build_requests(struct builder *b)
{
  const struct metrics_counts *c = &b->m->counts;
  struct summary *s = b->s;
  for (int o = 0; o < OUTCOME_COUNT; o++) {
    s->outcomes[o] = c->outcomes[o];
    s->sent += c->outcomes[o];
  }
  s->completed = c->outcomes[OUTCOME_OK];
  s->cancelled = c->outcomes[OUTCOME_CANCELLED];
  s->failed = s->sent - s->completed - s->cancelled;
  s->unsent = c->unsent;
  s->warmup_sent = c->warmup_sent;
  s->warmup_failed = c->warmup_failed;
  s->retries = c->retries;
  s->inconsistent = c->inconsistent;
  s->bytes_in = c->bytes_in;
  s->bytes_out = c->bytes_out;
  errors_merge(&s->errors, &b->m->errors);
  errors_sort(&s->errors);
}

static void build_tokens(struct builder *b)
{
  const struct metrics *m = b->m;
  const struct metrics_counts *c = &m->counts;
  struct summary *s = b->s;
  s->input_tokens = c->input_tokens;
  s->output_tokens = c->output_tokens;
  s->cached_tokens = c->cached_tokens;
  s->reasoning_tokens = c->reasoning_tokens;
  s->audio_s = ns_to_sec(c->audio_ns);
  memcpy(s->output_sources, c->output_sources, sizeof s->output_sources);
  memcpy(s->prompt_sources, c->prompt_sources, sizeof s->prompt_sources);
  s->chunks = c->chunks;
  s->tokens_per_chunk = ratio((double)c->chunk_tokens, (double)c->chunks);
  s->prefill_tokens_per_s =
      ratio((double)c->prefill_tokens, ns_to_sec(c->prefill_ns));
  s->planned_requests = c->planned_requests;
  s->planned_tokens = c->planned_tokens;
  s->planned_actual_tokens = c->planned_actual_tokens;
  s->planned_min = m->planned_min;
  s->planned_max = m->planned_max;
  s->actual_min = m->actual_min;
  s->actual_max = m->actual_max;
}

static int by_reason(const void *pa, const void *pb)
{
  const struct finish_count *a = pa, *b = pb;
  return strcmp(a->reason, b->reason);
}

static void build_shape(struct builder *b)
{
  const struct metrics *m = b->m;
  const struct metrics_counts *c = &m->counts;
  struct summary *s = b->s;
  s->streamed = c->streamed;
  s->not_streamed = c->not_streamed;
  memcpy(s->content_type, m->content_type, sizeof s->content_type);
  s->no_token = c->no_token;
  s->refusals = c->refusals;
  s->empty_length = c->empty_length;
  s->bunched = c->bunched;
  s->many_events = c->many_events;
  memcpy(s->finish, m->finish, sizeof s->finish);
  s->n_finish = m->n_finish;
  qsort(s->finish, s->n_finish, sizeof *s->finish, by_reason);
}

/* ---- the client ---- */

static double rate_over(uint64_t n, uint64_t first, uint64_t last)
{
  return n >= 2 ? ratio((double)(n - 1), ns_to_sec(ns_since(first, last)))
                : NAN;
}

static void build_send_lag(struct builder *b)
{
  size_t n = 0;
  EACH_ROW(b->m, row)
  if (!row->capped)
    b->values[n++] = queue_of(row);
  sample_sort(b->values, n);
  b->s->send_lag = latency_of(b->s, b->values, n);
}

/* Only arrivals on a timetable can be late: with an infinite rate, and in a
 * closed loop's first wave, everything is due at once. */
static void build_client(struct builder *b, const struct client *c)
{
  static const struct client nobody;
  struct summary *s = b->s;
  bool timetable =
      b->config->request_rate > 0 && isfinite(b->config->request_rate);
  struct client_timing t = {.sends = s->sent,
                            .capped = b->m->counts.capped,
                            .itl_p50_ms =
                                s->latency[FIGURE_ITL].p[LATENCY_P50]};
  c = c ? c : &nobody;
  build_send_lag(b);
  s->loop_lag = latency_of_hist(s, &c->loop_lag);
  s->capped = t.capped;
  s->achieved_rps = rate_over(s->sent, b->first_sent, b->last_sent);
  s->planned_rps = timetable ? rate_over(s->sent + s->unsent, b->first_due,
                                         b->last_due > b->m->unsent_due_ns
                                             ? b->last_due
                                             : b->m->unsent_due_ns)
                             : NAN;
  t.achieved_rps = s->achieved_rps;
  t.planned_rps = s->planned_rps;
  t.send_lag_p99_ms = timetable ? s->send_lag.p[LATENCY_P99] : NAN;
  t.slip_ms = ns_to_ms(
      ns_since(b->last_due - b->first_due, b->last_sent - b->first_sent));
  s->verdict = client_judge(c, &t);
  s->client = *c;
  s->client.loop_lag = (struct hist){0};
}

/* ---- all of it ---- */

void summary_build(struct summary *s, const struct metrics *m,
                   const struct client *c, const struct summary_config *cfg)
{
  struct builder b = {.s = s, .m = m, .config = cfg};
  *s = (struct summary){.n_percentiles = cfg->n_percentiles};
  memcpy(s->percentiles, cfg->percentiles, sizeof s->percentiles);
  b.values = mem_alloc(m->rows.len * sizeof *b.values);
  build_instants(&b);
  build_requests(&b);
  build_tokens(&b);
  build_shape(&b);
  build_latencies(&b);
  build_time(&b);
  build_client(&b, c);
  mem_free(b.values);
}

void summary_deinit(struct summary *s)
{
  errors_deinit(&s->errors);
  for (int f = 0; f < FIGURE_COUNT; f++)
    hist_deinit(&s->hist[f]);
  mem_free(s->series);
  mem_free(s->series_in_flight);
  mem_free(s->latencies_s);
  mem_free(s->queue_times_s);
  *s = (struct summary){0};
}

double summary_success_rate(const struct summary *s)
{
  return ratio((double)s->completed, (double)(s->completed + s->failed));
}

void summary_over_window(struct summary *s)
{
  double scale = s->duration_s / s->window_s;
  if (!(s->window_s > 0) || !(s->duration_s > 0))
    return;
  s->request_throughput *= scale;
  s->output_throughput *= scale;
  s->total_token_throughput *= scale;
  s->request_goodput *= scale;
  s->token_goodput *= scale;
  s->duration_s = s->window_s;
}
