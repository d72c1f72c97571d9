/* The figures against slow formulas written down a second time, over random
 * runs; and any split over workers against one worker. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_records.h"
#include "stats/metrics.h"
#include "stats/summary.h"

#define LIMIT_TTFT (150 * MS)

static const struct summary_config config = {
    .percentiles = {50, 99.5, 33}, .n_percentiles = 3, .request_rate = 40};

static struct metrics *new_metrics(void)
{
  return metrics_new(
      &(struct metrics_config){.epoch_ns = T0, .slo = {.ttft_ns = LIMIT_TTFT}});
}

static struct summary summarise(const struct random_records *all)
{
  struct metrics *m = new_metrics();
  struct summary s;
  for (size_t i = 0; i < all->n; i++)
    metrics_add(m, &all->records[i]);
  summary_build(&s, m, NULL, &config);
  metrics_free(m);
  return s;
}

static bool near(double a, double b)
{
  return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* ---- the slow way ---- */

static bool measured(const struct record *r)
{
  return r->phase == PHASE_MEASURE;
}

static bool good(const struct record *r)
{
  return measured(r) && r->outcome == OUTCOME_OK;
}

static double ms(uint64_t from, uint64_t to)
{
  return ((double)to - (double)from) / 1e6;
}

/* Values of figure `f`, at most 64 of one record. */
static size_t values_of(const struct record *r, enum figure f, double *v)
{
  uint64_t end = r->streamed ? r->last_token_ns : r->done_ns;
  size_t n = 0;
  if (!good(r))
    return 0;
  if (f == FIGURE_QUEUE)
    v[n++] = ms(r->due_ns, r->sent_ns);
  if (f == FIGURE_E2EL)
    v[n++] = ms(r->sent_ns, end);
  if (f == FIGURE_E2EL_DUE)
    v[n++] = ms(r->due_ns, end);
  if (f == FIGURE_TTFB)
    v[n++] = ms(r->sent_ns, r->first_byte_ns);
  if (!r->streamed)
    return n;
  if (f == FIGURE_TTFT)
    v[n++] = ms(r->sent_ns, r->first_token_ns);
  if (f == FIGURE_TTFT_DUE)
    v[n++] = ms(r->due_ns, r->first_token_ns);
  if (f == FIGURE_TTFAT && r->first_answer_ns)
    v[n++] = ms(r->sent_ns, r->first_answer_ns);
  if (f == FIGURE_TPOT && r->tokens > 1)
    v[n++] = ms(r->first_token_ns, r->last_token_ns) / (double)(r->tokens - 1);
  for (size_t i = 0; f == FIGURE_ITL && i < r->n_events; i++) {
    for (size_t j = i; j-- > 0;) {
      if (r->events[j].choice == r->events[i].choice) {
        v[n++] = ms(r->events[j].after_ns, r->events[i].after_ns);
        break;
      }
    }
  }
  return n;
}

static int by_value(const void *pa, const void *pb)
{
  const double *a = pa, *b = pb;
  return *a < *b ? -1 : *a > *b;
}

static double slow_percentile(const double *v, size_t n, double p)
{
  double rank = p / 100 * (double)(n - 1);
  size_t low = (size_t)rank, high = low + 1 < n ? low + 1 : low;
  return v[low] + (v[high] - v[low]) * (rank - (double)low);
}

static void check_figure(const struct random_records *all,
                         const struct summary *s, enum figure f)
{
  const struct latency *l = &s->latency[f];
  double *v = mem_alloc(all->n * 64 * sizeof *v), sum = 0, sq = 0;
  size_t n = 0;
  for (size_t i = 0; i < all->n; i++)
    n += values_of(&all->records[i], f, v + n);
  qsort(v, n, sizeof *v, by_value);
  for (size_t i = 0; i < n; i++)
    sum += v[i];
  for (size_t i = 0; i < n; i++)
    sq += (v[i] - sum / (double)n) * (v[i] - sum / (double)n);
  assert_int_equal(l->count, n);
  assert_true(n > 10);
  assert_true(near(l->mean, sum / (double)n));
  assert_true(near(l->std, sqrt(sq / (double)n)));
  assert_true(near(l->min, v[0]) && near(l->max, v[n - 1]));
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    assert_true(near(l->p[i], slow_percentile(v, n, latency_percentiles[i])));
  for (size_t i = 0; i < s->n_percentiles; i++)
    assert_true(near(l->user[i], slow_percentile(v, n, s->percentiles[i])));
  assert_int_equal(s->hist[f].count, n);
  mem_free(v);
}

static void latencies_are_exact(void **state)
{
  (void)state;
  for (uint64_t seed = 1; seed <= 5; seed++) {
    struct random_records all = random_records(seed, 400);
    struct summary s = summarise(&all);
    for (int f = 0; f < FIGURE_COUNT; f++)
      check_figure(&all, &s, (enum figure)f);
    assert_true(s.itl_exact);
    summary_deinit(&s);
    random_records_free(&all);
  }
}

static bool slow_good(const struct record *r)
{
  uint64_t end = r->streamed ? r->last_token_ns : r->done_ns;
  uint64_t first = r->streamed ? r->first_token_ns : end;
  if (!good(r) || first - r->sent_ns > LIMIT_TTFT)
    return false;
  return !r->slo_tpot_ns || !r->streamed || r->tokens < 2 ||
         (double)(end - first) / (double)(r->tokens - 1) <=
             (double)r->slo_tpot_ns;
}

static uint64_t sum_tokens(int64_t x)
{
  return x > 0 ? (uint64_t)x : 0;
}

static void sums_and_rates_follow_their_formulas(void **state)
{
  (void)state;
  for (uint64_t seed = 10; seed <= 14; seed++) {
    struct random_records all = random_records(seed, 500);
    struct summary s = summarise(&all);
    uint64_t sent = 0, ok = 0, cancelled = 0, in = 0, out = 0, held = 0;
    uint64_t first = UINT64_MAX, last = 0, by_outcome = 0;
    double d;
    for (size_t i = 0; i < all.n; i++) {
      const struct record *r = &all.records[i];
      if (!measured(r))
        continue;
      sent++;
      ok += good(r);
      cancelled += r->outcome == OUTCOME_CANCELLED;
      held += slow_good(r);
      in += good(r) ? sum_tokens(r->prompt_tokens) : 0;
      out += good(r) ? sum_tokens(r->tokens) : 0;
      first = r->sent_ns < first ? r->sent_ns : first;
      last = r->done_ns > last ? r->done_ns : last;
    }
    for (int o = 0; o < OUTCOME_COUNT; o++)
      by_outcome += s.outcomes[o];
    d = (double)(last - first) / 1e9;
    assert_int_equal(s.sent, sent);
    assert_int_equal(by_outcome, sent);
    assert_int_equal(s.completed, ok);
    assert_int_equal(s.cancelled, cancelled);
    assert_int_equal(s.failed, sent - ok - cancelled);
    assert_int_equal(s.warmup_sent, all.n - sent);
    assert_int_equal(s.input_tokens, in);
    assert_int_equal(s.output_tokens, out);
    assert_true(near(s.duration_s, d));
    assert_true(near(s.request_throughput, (double)ok / d));
    assert_true(near(s.output_throughput, (double)out / d));
    assert_true(near(s.total_token_throughput, (double)(in + out) / d));
    assert_int_equal(s.good, held);
    assert_true(near(s.request_goodput, (double)held / d));
    assert_true(near(s.good_share, (double)held / (double)sent));
    assert_true(s.max_output_tokens_per_s >= s.output_throughput);
    assert_true(s.max_output_tokens_per_s >= s.window_output_throughput);
    assert_int_equal(s.inconsistent, 0);
    summary_deinit(&s);
    random_records_free(&all);
  }
}

/* In flight just after `t`: ends go before starts. */
static uint64_t flying_after(const struct random_records *all, uint64_t t)
{
  uint64_t n = 0;
  for (size_t i = 0; i < all->n; i++) {
    const struct record *r = &all->records[i];
    n += measured(r) && r->sent_ns <= t && r->done_ns > t;
  }
  return n;
}

static void concurrency_is_the_highest_of_all_instants(void **state)
{
  (void)state;
  for (uint64_t seed = 20; seed <= 24; seed++) {
    struct random_records all = random_records(seed, 300);
    struct summary s = summarise(&all);
    uint64_t most = 0;
    for (size_t i = 0; i < all.n; i++) {
      uint64_t n = flying_after(&all, all.records[i].sent_ns);
      most = measured(&all.records[i]) && n > most ? n : most;
    }
    assert_int_equal(s.max_concurrent_requests, most);
    summary_deinit(&s);
    random_records_free(&all);
  }
}

static void series_counts_everything_once(void **state)
{
  struct random_records all = random_records(30, 500);
  struct summary s = summarise(&all);
  uint64_t total[SERIES_KINDS] = {0}, tokens = 0;
  (void)state;
  assert_true(s.series_interval_s == 1);
  for (size_t i = 0; i < s.series_len; i++) {
    uint64_t end = T0 + (uint64_t)((s.series_start_s + (double)i + 1) * 1e9);
    for (int k = 0; k < SERIES_KINDS; k++)
      total[k] += s.series[i].n[k];
    assert_int_equal(s.series_in_flight[i], flying_after(&all, end - 1));
  }
  for (size_t i = 0; i < all.n; i++) {
    const struct record *r = &all.records[i];
    if (measured(r))
      tokens += r->tokens < 0 ? r->n_events : (uint64_t)r->tokens;
  }
  assert_int_equal(total[SERIES_DUE], s.sent);
  assert_int_equal(total[SERIES_SENT], s.sent);
  assert_int_equal(total[SERIES_DONE], s.completed);
  assert_int_equal(total[SERIES_FAILED], s.sent - s.completed);
  assert_int_equal(total[SERIES_TOKENS], tokens);
  summary_deinit(&s);
  random_records_free(&all);
}

/* ---- merging ---- */

static void assert_same(const struct summary *a, const struct summary *b)
{
  /* NaN has the same bits on both sides, so bytes may be compared. */
  assert_memory_equal(a->latency, b->latency, sizeof a->latency);
  assert_memory_equal(a->outcomes, b->outcomes, sizeof a->outcomes);
  assert_memory_equal(&a->start_s, &b->start_s,
                      offsetof(struct summary, latency) -
                          offsetof(struct summary, start_s));
  assert_memory_equal(&a->connect, &b->connect, sizeof a->connect);
  assert_memory_equal(&a->input_tokens, &b->input_tokens,
                      offsetof(struct summary, finish) -
                          offsetof(struct summary, input_tokens));
  assert_memory_equal(a->finish, b->finish, sizeof a->finish);
  assert_int_equal(a->series_len, b->series_len);
  assert_memory_equal(a->series, b->series, a->series_len * sizeof *a->series);
  assert_memory_equal(a->latencies_s, b->latencies_s,
                      a->n_requests * sizeof(double));
  assert_memory_equal(&a->send_lag, &b->send_lag, sizeof a->send_lag);
  assert_int_equal(a->errors.len, b->errors.len);
  for (size_t i = 0; i < a->errors.len; i++) {
    assert_int_equal(a->errors.groups[i].count, b->errors.groups[i].count);
    assert_string_equal(a->errors.groups[i].message,
                        b->errors.groups[i].message);
  }
}

static struct summary summarise_split(const struct random_records *all,
                                      size_t workers, uint64_t seed)
{
  struct metrics *m[8], *merged = new_metrics();
  struct summary s;
  struct rng r;
  rng_init(&r, seed, RNG_MOCK, 2);
  for (size_t i = 0; i < workers; i++)
    m[i] = new_metrics();
  for (size_t i = 0; i < all->n; i++)
    metrics_add(m[rng_below(&r, workers)], &all->records[i]);
  for (size_t i = workers; i-- > 0;) {
    metrics_merge(merged, m[i]);
    assert_int_equal(metrics_count(m[i]), 0);
    metrics_free(m[i]);
  }
  summary_build(&s, merged, NULL, &config);
  metrics_free(merged);
  return s;
}

static void any_split_over_workers_is_the_same(void **state)
{
  (void)state;
  for (uint64_t seed = 40; seed <= 45; seed++) {
    struct random_records all = random_records(seed, 700);
    struct summary one = summarise(&all);
    for (size_t workers = 1; workers <= 8; workers++) {
      struct summary s = summarise_split(&all, workers, seed);
      assert_same(&one, &s);
      summary_deinit(&s);
    }
    summary_deinit(&one);
    random_records_free(&all);
  }
}

static void a_merged_worker_can_go_on(void **state)
{
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, 10 * MS, 10 * MS);
  struct metrics *a = new_metrics(), *b = new_metrics();
  struct summary s;
  (void)state;
  metrics_add(b, &r);
  metrics_merge(a, b);
  metrics_add(b, &r);
  metrics_merge(a, b);
  summary_build(&s, a, NULL, &config);
  assert_int_equal(s.completed, 2);
  assert_int_equal(s.latency[FIGURE_ITL].count, 4);
  summary_deinit(&s);
  metrics_free(a);
  metrics_free(b);
}

/* ---- size ---- */

static void b065_a_million_requests_all_count(void **state)
{
  enum { N = 1200000 };
  struct metrics *m[2] = {new_metrics(), new_metrics()};
  struct summary s;
  (void)state;
  for (uint64_t i = 0; i < N; i++) {
    struct record_event ev[1];
    struct record r = make_stream(ev, 1, T0 + i * 1000, (i % 1000 + 1) * MS, 0);
    r.id = i + 1;
    metrics_add(m[i & 1], &r);
  }
  metrics_merge(m[0], m[1]);
  summary_build(&s, m[0], NULL, &config);
  assert_int_equal(s.sent, N);
  assert_int_equal(s.completed, N);
  assert_int_equal(s.output_tokens, N);
  assert_int_equal(s.latency[FIGURE_TTFT].count, N);
  assert_true(near(s.latency[FIGURE_TTFT].mean, 500.5));
  assert_true(near(s.latency[FIGURE_TTFT].p[LATENCY_P50], 500.5));
  assert_true(s.latency[FIGURE_TTFT].max == 1000);
  assert_null(s.latencies_s); /* too many to list, and said so */
  summary_deinit(&s);
  metrics_free(m[0]);
  metrics_free(m[1]);
}

/* `n` gaps of 1 to 50 ms; the workers have a share each. */
static struct summary many_gaps(size_t n, size_t workers)
{
  struct metrics *m[4], *merged = new_metrics();
  enum { EVENTS = 1001 };
  static struct record_event ev[EVENTS];
  struct summary s;
  struct rng r;
  rng_init(&r, 1, RNG_MOCK, 3);
  for (size_t i = 0; i < workers; i++)
    m[i] = new_metrics();
  for (size_t k = 0; k < n / (EVENTS - 1); k++) {
    struct record rec = make_stream(ev, EVENTS, T0, MS, 0);
    uint64_t at = T0 + MS;
    for (size_t i = 0; i < EVENTS; i++) {
      ev[i] = record_event_make(T0, at, 0, 0);
      at += i + 1 < EVENTS ? MS + rng_below(&r, 49 * MS) : 0;
    }
    rec.last_token_ns = rec.done_ns = at;
    metrics_add(m[k % workers], &rec);
  }
  for (size_t i = 0; i < workers; i++) {
    metrics_merge(merged, m[i]);
    metrics_free(m[i]);
  }
  summary_build(&s, merged, NULL, &config);
  metrics_free(merged);
  return s;
}

static void gaps_beyond_four_million_are_close(void **state)
{
  struct summary exact = many_gaps(METRICS_ITL_EXACT, 2);
  struct summary close = many_gaps(METRICS_ITL_EXACT + 1000, 1);
  struct summary split = many_gaps(METRICS_ITL_EXACT + 1000, 3);
  const struct latency *a = &exact.latency[FIGURE_ITL];
  const struct latency *b = &close.latency[FIGURE_ITL];
  (void)state;
  assert_true(exact.itl_exact);
  assert_false(close.itl_exact);
  assert_false(split.itl_exact);
  assert_int_equal(b->count, METRICS_ITL_EXACT + 1000);
  assert_true(fabs(a->mean - b->mean) < a->mean * 0.001);
  assert_true(fabs(a->std - b->std) < a->std * 0.001);
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    assert_true(fabs(a->p[i] - b->p[i]) < a->p[i] * 0.002);
  assert_memory_equal(b, &split.latency[FIGURE_ITL], sizeof *b);
  summary_deinit(&exact);
  summary_deinit(&close);
  summary_deinit(&split);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(latencies_are_exact),
      cmocka_unit_test(sums_and_rates_follow_their_formulas),
      cmocka_unit_test(concurrency_is_the_highest_of_all_instants),
      cmocka_unit_test(series_counts_everything_once),
      cmocka_unit_test(any_split_over_workers_is_the_same),
      cmocka_unit_test(a_merged_worker_can_go_on),
      cmocka_unit_test(b065_a_million_requests_all_count),
      cmocka_unit_test(gaps_beyond_four_million_are_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
