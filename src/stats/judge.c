#include "stats/judge.h"

#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stats/sample.h"

static double over(double a, double b)
{
  return b > 0 ? a / b : NAN;
}

/* ---- counts ---- */

static double value_of(enum threshold_value v, const struct group *g,
                       double duration_s)
{
  double judged = (double)(g->completed + g->failed);
  double tokens_in = (double)g->input_tokens;
  double tokens_out = (double)g->output_tokens;
  switch (v) {
  case VALUE_ERROR_RATE: return over((double)g->failed, judged);
  case VALUE_SUCCESS_RATE: return over((double)g->completed, judged);
  case VALUE_GOOD_SHARE: return over((double)g->good, (double)g->sent);
  case VALUE_REQUEST_THROUGHPUT: return over((double)g->completed, duration_s);
  case VALUE_OUTPUT_THROUGHPUT: return over(tokens_out, duration_s);
  case VALUE_TOTAL_TOKEN_THROUGHPUT:
    return over(tokens_in + tokens_out, duration_s);
  case VALUE_REQUEST_GOODPUT: return over((double)g->good, duration_s);
  case VALUE_SENT: return (double)g->sent;
  case VALUE_COMPLETED: return (double)g->completed;
  case VALUE_FAILED: return (double)g->failed;
  case VALUE_INPUT_TOKENS: return tokens_in;
  case VALUE_OUTPUT_TOKENS: return tokens_out;
  case VALUE_COUNT: break;
  }
  return NAN;
}

static double checks_value(const struct threshold *t, const struct custom *c)
{
  double passed = 0, failed = 0;
  for (size_t i = 0; i < c->n_checks; i++) {
    if (t->check[0] && strcmp(t->check, c->checks[i].name) != 0)
      continue;
    passed += (double)c->checks[i].passed;
    failed += (double)c->checks[i].failed;
  }
  switch (t->statistic) {
  case STATISTIC_PASSED: return passed;
  case STATISTIC_FAILED: return failed;
  case STATISTIC_COUNT: return passed + failed;
  default: return over(passed, passed + failed);
  }
}

static double sessions_value(enum statistic of, const struct sessions *s)
{
  switch (of) {
  case STATISTIC_STARTED: return (double)sessions_started(s);
  case STATISTIC_COMPLETED: return (double)s->ends[SESSION_COMPLETED];
  case STATISTIC_FAILED: return (double)s->ends[SESSION_FAILED];
  case STATISTIC_CUT: return (double)s->ends[SESSION_CUT];
  case STATISTIC_TURNS: return (double)s->turns_done;
  case STATISTIC_SKIPPED: return (double)s->turns_skipped;
  case STATISTIC_MAX_TURNS: return (double)s->max_turns;
  default: return NAN;
  }
}

/* ---- distributions ---- */

static double samples_value(const struct threshold *t, const double *x,
                            size_t n)
{
  if (t->statistic == STATISTIC_COUNT)
    return (double)n;
  if (n == 0)
    return NAN;
  switch (t->statistic) {
  case STATISTIC_MEAN: return sample_mean(x, n);
  case STATISTIC_STD: return sample_std(x, n);
  case STATISTIC_MIN: return x[0];
  case STATISTIC_MAX: return x[n - 1];
  default: return sample_percentile(x, n, t->percentile);
  }
}

static double hist_value(const struct threshold *t, const struct hist *h)
{
  if (t->statistic == STATISTIC_COUNT)
    return (double)h->count;
  if (h->count == 0)
    return NAN;
  switch (t->statistic) {
  case STATISTIC_MEAN: return hist_mean(h);
  case STATISTIC_STD: return hist_std(h);
  case STATISTIC_MIN: return (double)h->min;
  case STATISTIC_MAX: return (double)h->max;
  default: return hist_percentile(h, t->percentile);
  }
}

static double trend_value(const struct threshold *t, const struct trend *x)
{
  if (t->statistic == STATISTIC_COUNT)
    return (double)x->count;
  if (x->count == 0)
    return NAN;
  switch (t->statistic) {
  case STATISTIC_MEAN: return trend_mean(x);
  case STATISTIC_STD: return trend_std(x);
  case STATISTIC_MIN: return x->min;
  case STATISTIC_MAX: return x->max;
  default: return trend_percentile(x, t->percentile);
  }
}

static double custom_value(const struct threshold *t, const struct custom *c,
                           double duration_s)
{
  const struct custom_metric *m = &c->metrics[t->which];
  assert((size_t)t->which < c->n_metrics);
  if (m->kind == CUSTOM_TREND)
    return trend_value(t, &m->trend);
  switch (t->statistic) {
  case STATISTIC_COUNT: return (double)m->count;
  case STATISTIC_PASSED: return (double)m->passed;
  case STATISTIC_SUM: return sum_value(&m->sum);
  case STATISTIC_MIN: return m->count ? m->min : NAN;
  case STATISTIC_MAX: return m->count ? m->max : NAN;
  case STATISTIC_VALUE: return m->value;
  case STATISTIC_RATE: break;
  default: return NAN;
  }
  return m->kind == CUSTOM_RATE ? over((double)m->passed, (double)m->count)
                                : over(sum_value(&m->sum), duration_s);
}

/* What both ways of looking have in common. True when *value was found. */
static bool found_apart(const struct threshold *t, const struct custom *c,
                        const struct sessions *s, double duration_s,
                        double *value)
{
  switch (t->subject) {
  case SUBJECT_CHECKS: *value = checks_value(t, c); return true;
  case SUBJECT_CUSTOM: *value = custom_value(t, c, duration_s); return true;
  case SUBJECT_SESSIONS: *value = sessions_value(t->statistic, s); return true;
  case SUBJECT_DURATION:
    *value = hist_value(t, t->which ? &s->active : &s->duration);
    return true;
  default: return false;
  }
}

static double counts_value(const struct threshold *t, const struct group *g,
                           double duration_s)
{
  if (t->subject == SUBJECT_OUTCOME)
    return (double)g->outcomes[t->which];
  return value_of((enum threshold_value)t->which, g, duration_s);
}

/* ---- after the run ---- */

/* Both filters' terms; false when they are too many. */
static bool join(struct filter *out, const struct filter *a,
                 const struct filter *b)
{
  *out = *a;
  for (size_t i = 0; i < b->n; i++) {
    if (out->n == FILTER_TERMS)
      return false;
    out->terms[out->n++] = b->terms[i];
  }
  return true;
}

/* A stage's rates are over its own time, any other group's over the run's. */
static bool by_stage(const struct filter *f)
{
  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->terms[i].name, "stage") == 0)
      return true;
  return false;
}

static double figure_value(const struct threshold *t, const struct figures *f,
                           const struct filter *filter)
{
  struct hist gaps = {0};
  size_t n;
  double *x =
      group_samples(f->metrics, filter, &f->stages, (enum figure)t->which, &n);
  double value;
  if (x) {
    value = samples_value(t, x, n);
    mem_free(x);
    return value;
  }
  group_gaps(f->metrics, filter, &f->stages, &gaps);
  value = hist_value(t, &gaps);
  hist_deinit(&gaps);
  return value;
}

/* Without any objective there is no good share of anything. */
static bool has_no_slo(const struct threshold *t, const struct summary *s)
{
  return t->subject == SUBJECT_VALUE && s && !s->slo &&
         (t->which == VALUE_GOOD_SHARE || t->which == VALUE_REQUEST_GOODPUT);
}

double judge_value(const struct threshold *t, const struct figures *f)
{
  struct filter filter;
  struct group g;
  double value;
  if (found_apart(t, f->custom, f->sessions, f->duration_s, &value))
    return value;
  if (!join(&filter, &t->filter, &f->only) || has_no_slo(t, f->summary))
    return NAN;
  if (t->subject == SUBJECT_FIGURE)
    return figure_value(t, f, &filter);
  group_count(&g, f->metrics, &filter, &f->stages);
  if (filter.n && g.sent == 0)
    return NAN; /* a filter that nothing passes is a mistake */
  return counts_value(t, &g, by_stage(&filter) ? g.duration_s : f->duration_s);
}

struct threshold_result *judge_all(const struct thresholds *all,
                                   const struct figures *f, size_t broken,
                                   double broken_value)
{
  struct threshold_result *results = mem_zalloc(all->n, sizeof *results);
  for (size_t i = 0; i < all->n; i++) {
    const struct threshold *t = &all->list[i];
    bool ended = i + 1 == broken;
    double x = ended ? broken_value : judge_value(t, f);
    results[i] = (struct threshold_result){
        .threshold = t,
        .value = threshold_in_unit(t, x),
        .ok = threshold_holds(t, x),
        .ended_run = ended,
    };
  }
  return results;
}

int judge_expression(struct str text, const struct figures *f,
                     const char *place, double *value, struct err *e)
{
  struct threshold t;
  double x;
  int holds;
  if (threshold_parse(&t, text, f->custom, place, e) < 0)
    return -1;
  x = judge_value(&t, f);
  holds = threshold_holds(&t, x);
  if (value)
    *value = threshold_in_unit(&t, x);
  threshold_deinit(&t);
  return holds;
}

/* ---- of a summary ---- */

static double latency_value(const struct threshold *t, const struct summary *s)
{
  const struct latency *l = &s->latency[t->which];
  switch (t->statistic) {
  case STATISTIC_COUNT: return (double)l->count;
  case STATISTIC_MEAN: return l->mean * 1e6;
  case STATISTIC_STD: return l->std * 1e6;
  case STATISTIC_MIN: return l->min * 1e6;
  case STATISTIC_MAX: return l->max * 1e6;
  default: break;
  }
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    if (latency_percentiles[i] == t->percentile)
      return l->p[i] * 1e6;
  return hist_value(t, &s->hist[t->which]);
}

static struct group group_of(const struct summary *s)
{
  struct group g = {.sent = s->sent,
                    .completed = s->completed,
                    .failed = s->failed,
                    .cancelled = s->cancelled,
                    .good = s->good,
                    .input_tokens = s->input_tokens,
                    .output_tokens = s->output_tokens};
  memcpy(g.outcomes, s->outcomes, sizeof g.outcomes);
  return g;
}

static double summary_value(const struct threshold *t, const struct summary *s)
{
  struct group g = group_of(s);
  switch (t->which) {
  case VALUE_GOOD_SHARE: return s->good_share;
  case VALUE_REQUEST_THROUGHPUT: return s->request_throughput;
  case VALUE_OUTPUT_THROUGHPUT: return s->output_throughput;
  case VALUE_TOTAL_TOKEN_THROUGHPUT: return s->total_token_throughput;
  case VALUE_REQUEST_GOODPUT: return s->request_goodput;
  default: return value_of((enum threshold_value)t->which, &g, NAN);
  }
}

bool judge_summary(const struct threshold *t, const struct summary *s,
                   double *value)
{
  if (t->filter.n)
    return false;
  switch (t->subject) {
  case SUBJECT_FIGURE: *value = latency_value(t, s); return true;
  case SUBJECT_VALUE: *value = summary_value(t, s); return true;
  case SUBJECT_OUTCOME: *value = (double)s->outcomes[t->which]; return true;
  default: return false;
  }
}

/* ---- while it goes on ---- */

bool thresholds_abort(const struct thresholds *all)
{
  for (size_t i = 0; i < all->n; i++)
    if (all->list[i].abort)
      return true;
  return false;
}

void live_figures_init(struct live_figures *l, const struct thresholds *all,
                       const struct stage_names *stages, const struct slo *slo,
                       const struct custom *custom)
{
  *l = (struct live_figures){.all = all, .stages = *stages, .slo = *slo};
  l->tallies = mem_zalloc(all->n, sizeof *l->tallies);
  custom_like(&l->custom, custom);
}

void live_figures_deinit(struct live_figures *l)
{
  for (size_t i = 0; l->tallies && i < l->all->n; i++)
    hist_deinit(&l->tallies[i].hist);
  mem_free(l->tallies);
  custom_deinit(&l->custom);
  sessions_deinit(&l->sessions);
  *l = (struct live_figures){0};
}

static bool figure_of(const struct record *r, enum figure f, uint64_t *ns)
{
  double tpot;
  switch (f) {
  case FIGURE_TTFT: return record_ttft(r, ns);
  case FIGURE_TTFAT: return record_ttfat(r, ns);
  case FIGURE_TTFB: return r->outcome == OUTCOME_OK && record_ttfb(r, ns);
  case FIGURE_TPOT:
    if (!record_tpot(r, &tpot))
      return false;
    *ns = (uint64_t)llround(tpot);
    return true;
  case FIGURE_E2EL: return record_e2el(r, ns);
  case FIGURE_QUEUE: return r->outcome == OUTCOME_OK && record_queue(r, ns);
  case FIGURE_TTFT_DUE: return record_ttft_due(r, ns);
  case FIGURE_E2EL_DUE: return record_e2el_due(r, ns);
  default: return false;
  }
}

static void add_gap(uint64_t gap_ns, void *ud)
{
  hist_add(ud, gap_ns);
}

static void count(struct group *g, const struct record *r,
                  const struct slo *run)
{
  struct slo s = slo_of(run, r);
  g->sent++;
  g->outcomes[r->outcome]++;
  g->good += slo_good(&s, r);
  if (r->outcome == OUTCOME_OK) {
    g->completed++;
    g->input_tokens += r->prompt_tokens > 0 ? (uint64_t)r->prompt_tokens : 0;
    g->output_tokens += r->tokens > 0 ? (uint64_t)r->tokens : 0;
  } else if (r->outcome == OUTCOME_CANCELLED) {
    g->cancelled++;
  } else {
    g->failed++;
  }
}

static void add_to(struct tally *tally, const struct threshold *t,
                   const struct record *r, const struct slo *slo)
{
  uint64_t ns;
  if (t->subject != SUBJECT_FIGURE)
    count(&tally->counts, r, slo);
  else if (t->which != FIGURE_ITL && figure_of(r, (enum figure)t->which, &ns))
    hist_add(&tally->hist, ns);
  else if (t->which == FIGURE_ITL && r->outcome == OUTCOME_OK)
    record_gaps(r, add_gap, &tally->hist);
}

void live_figures_add(struct live_figures *l, const struct record *r)
{
  struct filing x = {turn_filed(r->turn), r->stage, r->tags};
  if (r->phase == PHASE_WARMUP)
    return;
  for (size_t i = 0; i < l->all->n; i++) {
    const struct threshold *t = &l->all->list[i];
    if (t->abort && filter_matches(&t->filter, &x, &l->stages))
      add_to(&l->tallies[i], t, r, &l->slo);
  }
}

static void merge_counts(struct group *into, const struct group *from)
{
  into->sent += from->sent;
  into->completed += from->completed;
  into->failed += from->failed;
  into->cancelled += from->cancelled;
  into->good += from->good;
  into->input_tokens += from->input_tokens;
  into->output_tokens += from->output_tokens;
  for (int o = 0; o < OUTCOME_COUNT; o++)
    into->outcomes[o] += from->outcomes[o];
}

void live_figures_merge(struct live_figures *into,
                        const struct live_figures *from)
{
  for (size_t i = 0; i < from->all->n; i++) {
    merge_counts(&into->tallies[i].counts, &from->tallies[i].counts);
    hist_merge(&into->tallies[i].hist, &from->tallies[i].hist);
  }
  custom_merge(&into->custom, &from->custom);
  sessions_merge(&into->sessions, &from->sessions);
}

double live_figures_value(const struct live_figures *l, size_t threshold,
                          double elapsed_s)
{
  const struct threshold *t = &l->all->list[threshold];
  const struct tally *tally = &l->tallies[threshold];
  double value;
  if (found_apart(t, &l->custom, &l->sessions, elapsed_s, &value))
    return value;
  if (t->subject == SUBJECT_FIGURE)
    return hist_value(t, &tally->hist);
  return tally->counts.sent ? counts_value(t, &tally->counts, elapsed_s) : NAN;
}
