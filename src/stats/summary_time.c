#include <stdlib.h>

#include "base/mem.h"
#include "stats/concurrency.h"
#include "stats/sample.h"
#include "stats/summary_builder.h"

#define SERIES_POINTS   3600
#define REQUESTS_LISTED 100000

void build_instants(struct builder *b)
{
  bool first = true;
  EACH_ROW(b->m, row)
  {
    if (first || row->sent_ns < b->first_sent)
      b->first_sent = row->sent_ns;
    if (first || row->due_ns < b->first_due)
      b->first_due = row->due_ns;
    if (row->sent_ns > b->last_sent)
      b->last_sent = row->sent_ns;
    if (row->due_ns > b->last_due)
      b->last_due = row->due_ns;
    if (row->done_ns > b->last_done)
      b->last_done = row->done_ns;
    first = false;
  }
}

static void build_window(struct builder *b)
{
  const struct metrics *m = b->m;
  struct summary *s = b->s;
  uint64_t start = m->window_start_ns ? m->window_start_ns : b->first_sent;
  uint64_t end = m->window_end_ns ? m->window_end_ns : b->last_done;
  s->start_s = s->duration_s = s->window_s = NAN;
  if (s->sent) {
    s->start_s = ns_to_sec(ns_since(m->config.epoch_ns, b->first_sent));
    s->duration_s = ns_to_sec(ns_since(b->first_sent, b->last_done));
    s->window_s = ns_to_sec(ns_since(start, end));
  }
  s->window_output_throughput =
      ratio((double)m->counts.window_tokens, s->window_s);
}

static void build_throughput(struct builder *b)
{
  const struct metrics_counts *c = &b->m->counts;
  struct summary *s = b->s;
  double d = s->duration_s;
  s->request_throughput = ratio((double)s->completed, d);
  s->output_throughput = ratio((double)s->output_tokens, d);
  s->total_token_throughput =
      ratio((double)(s->input_tokens + s->output_tokens), d);
  s->slo = c->slo_requests > 0;
  s->good = c->good;
  s->good_tokens = c->good_tokens;
  s->request_goodput = s->slo ? ratio((double)c->good, d) : NAN;
  s->token_goodput = s->slo ? ratio((double)c->good_tokens, d) : NAN;
  s->good_share = s->slo ? ratio((double)c->good, (double)s->sent) : NAN;
}

/* The run and its window are stretches like any other, when they are long
 * enough: so the peak is below no mean. */
static void build_peak(struct builder *b)
{
  const struct series *series = &b->m->series;
  struct summary *s = b->s;
  uint64_t window =
      series->width_ns > NS_PER_SEC ? series->width_ns : NS_PER_SEC;
  double whole = ratio((double)b->m->counts.tokens_arrived, s->duration_s);
  double peak = series_peak(series, SERIES_TOKENS, window);
  s->peak_window_s = ns_to_sec(window);
  if (!(s->duration_s >= s->peak_window_s)) {
    s->peak_window_s = s->duration_s;
    peak = 0;
  }
  if (s->window_s >= s->peak_window_s)
    peak = fmax(peak, s->window_output_throughput);
  s->max_output_tokens_per_s = isnan(whole) ? NAN : fmax(peak, whole);
}

static void build_capacity(struct builder *b)
{
  uint64_t first = UINT64_MAX, last = 0;
  EACH_ROW(b->m, row)
  {
    if (row->outcome != OUTCOME_OK)
      continue;
    first = row->done_ns < first ? row->done_ns : first;
    last = row->done_ns > last ? row->done_ns : last;
  }
  b->s->capacity_rps = NAN;
  if (b->s->completed >= 3)
    b->s->capacity_rps =
        ratio((double)(b->s->completed - 1), ns_to_sec(ns_since(first, last)));
}

static void fill_steady(struct builder *b, const struct concurrency *c)
{
  struct steady *t = &b->s->steady;
  uint64_t from = b->first_sent + (uint64_t)c->from;
  uint64_t to = b->first_sent + (uint64_t)c->to;
  *t = (struct steady){.found = c->steady && to > from};
  if (!t->found)
    return;
  EACH_ROW(b->m, row)
  {
    t->completed +=
        row->outcome == OUTCOME_OK && row->done_ns > from && row->done_ns <= to;
  }
  t->start_s = ns_to_sec(ns_since(b->m->config.epoch_ns, from));
  t->duration_s = ns_to_sec(to - from);
  t->in_flight = (double)c->plateau;
  t->request_throughput = (double)t->completed / t->duration_s;
  t->output_throughput =
      series_between(&b->m->series, SERIES_TOKENS, from, to) / t->duration_s;
}

static void build_concurrency(struct builder *b)
{
  size_t n = 0;
  double *starts = b->values, *ends = mem_alloc(b->m->rows.len * sizeof *ends);
  struct concurrency c;
  EACH_ROW(b->m, row)
  {
    starts[n] = (double)(row->sent_ns - b->first_sent);
    ends[n++] = (double)ns_since(b->first_sent, row->done_ns);
  }
  sample_sort(starts, n);
  sample_sort(ends, n);
  c = concurrency_sweep(starts, ends, n);
  mem_free(ends);
  b->s->max_concurrent_requests = c.max;
  fill_steady(b, &c);
}

/* ---- series ---- */

static size_t first_used(const struct series *s)
{
  for (size_t i = 0; i < s->len; i++)
    for (int k = 0; k < SERIES_KINDS; k++)
      if (s->buckets[i].n[k])
        return i;
  return 0;
}

/* Points of `width`, a multiple of the buckets', that cover what is used. */
static size_t points(const struct series *s, uint64_t width, size_t *first)
{
  size_t per = (size_t)(width / s->width_ns);
  *first = first_used(s) / per;
  return s->len ? (s->len - 1) / per - *first + 1 : 0;
}

static void fill_in_flight(struct summary *s)
{
  uint64_t flying = 0;
  s->series_in_flight = mem_alloc(s->series_len * sizeof *s->series_in_flight);
  for (size_t i = 0; i < s->series_len; i++) {
    const uint64_t *n = s->series[i].n;
    flying += n[SERIES_SENT] - n[SERIES_DONE] - n[SERIES_FAILED];
    s->series_in_flight[i] = flying;
  }
}

static void build_series(struct builder *b)
{
  const struct series *from = &b->m->series;
  struct summary *s = b->s;
  uint64_t asked = b->config->series_interval_ns, width = from->width_ns;
  size_t first, per;
  while (width < (asked ? asked : NS_PER_SEC) ||
         points(from, width, &first) > SERIES_POINTS)
    width *= 2;
  s->series_len = points(from, width, &first);
  s->series_interval_s = ns_to_sec(width);
  s->series_start_s = ns_to_sec(first * width);
  s->series = mem_zalloc(s->series_len, sizeof *s->series);
  per = (size_t)(width / from->width_ns);
  for (size_t i = first * per; i < from->len; i++)
    for (int k = 0; k < SERIES_KINDS; k++)
      s->series[i / per - first].n[k] += from->buckets[i].n[k];
  fill_in_flight(s);
}

/* ---- per request ---- */

static int by_id(const void *pa, const void *pb)
{
  const struct metrics_row *const *a = pa, *const *b = pb;
  if ((*a)->id != (*b)->id)
    return (*a)->id < (*b)->id ? -1 : 1;
  return (*a)->sent_ns < (*b)->sent_ns ? -1 : (*a)->sent_ns > (*b)->sent_ns;
}

static void build_requests_listed(struct builder *b)
{
  struct summary *s = b->s;
  size_t n = b->m->rows.len, i = 0;
  const struct metrics_row **rows;
  s->n_requests = n;
  if (n > REQUESTS_LISTED)
    return;
  rows = mem_alloc(n * sizeof *rows);
  EACH_ROW(b->m, row)
  rows[i++] = row;
  qsort(rows, n, sizeof *rows, by_id);
  s->latencies_s = mem_alloc(n * sizeof *s->latencies_s);
  s->queue_times_s = mem_alloc(n * sizeof *s->queue_times_s);
  for (i = 0; i < n; i++) {
    s->latencies_s[i] = isnan(rows[i]->e2el) ? 0 : rows[i]->e2el / 1e9;
    s->queue_times_s[i] = queue_of(rows[i]) / 1e9;
  }
  mem_free(rows);
}

void build_time(struct builder *b)
{
  build_window(b);
  build_throughput(b);
  build_peak(b);
  build_capacity(b);
  build_concurrency(b);
  build_series(b);
  build_requests_listed(b);
}
