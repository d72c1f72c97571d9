#include "stats/judge.h"

#include <assert.h>
#include <math.h>

#include "base/mem.h"
#include "stats/judge_impl.h"
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

double judge_hist(const struct threshold *t, const struct hist *h)
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
  const struct custom_metric *m = custom_part(c, (size_t)t->which, &t->filter);
  assert((size_t)t->which < c->n_metrics && m);
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

bool judge_apart(const struct threshold *t, const struct custom *c,
                 const struct sessions *s, double duration_s, double *value)
{
  switch (t->subject) {
  case SUBJECT_CHECKS: *value = checks_value(t, c); return true;
  case SUBJECT_CUSTOM: *value = custom_value(t, c, duration_s); return true;
  case SUBJECT_SESSIONS: *value = sessions_value(t->statistic, s); return true;
  case SUBJECT_DURATION:
    *value = judge_hist(t, t->which ? &s->active : &s->duration);
    return true;
  default: return false;
  }
}

double judge_counts(const struct threshold *t, const struct group *g,
                    double duration_s)
{
  if (t->subject == SUBJECT_OUTCOME)
    return (double)g->outcomes[t->which];
  return value_of((enum threshold_value)t->which, g, duration_s);
}

/* ---- after the run ---- */

/* A stage's rates are over its own time, any other group's over the run's. */
static bool by_stage(const struct filter *f)
{
  return filter_has(f, "stage");
}

/* From its first request to the end of its last; NaN: it had none. */
static double stage_duration(const struct filter *f, const struct figures *in)
{
  struct filter stage = {0};
  struct group g;
  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->terms[i].name, "stage") == 0)
      stage.terms[stage.n++] = f->terms[i];
  group_count(&g, in->metrics, &stage, &in->stages);
  return g.duration_s;
}

/* Nothing is counted in a stage that was not: that is no 0. */
static double custom_of_stage(const struct threshold *t,
                              const struct figures *f)
{
  double duration_s = stage_duration(&t->filter, f);
  return isnan(duration_s) ? NAN : custom_value(t, f->custom, duration_s);
}

static double figure_value(const struct threshold *t, const struct figures *f)
{
  struct hist gaps = {0};
  size_t n;
  double *x = group_samples(f->metrics, &t->filter, &f->stages,
                            (enum figure)t->which, &n);
  double value;
  if (x) {
    value = samples_value(t, x, n);
    mem_free(x);
    return value;
  }
  group_gaps(f->metrics, &t->filter, &f->stages, &gaps);
  value = judge_hist(t, &gaps);
  hist_deinit(&gaps);
  return value;
}

/* Without any objective there is no good share of anything. */
static bool has_no_slo(const struct threshold *t, const struct summary *s)
{
  return t->subject == SUBJECT_VALUE && !s->slo &&
         (t->which == VALUE_GOOD_SHARE || t->which == VALUE_REQUEST_GOODPUT);
}

double judge_value(const struct threshold *t, const struct figures *f)
{
  const struct filter *filter = &t->filter;
  struct group g;
  double value;
  if (t->subject == SUBJECT_CUSTOM && by_stage(filter))
    return custom_of_stage(t, f);
  if (judge_apart(t, f->custom, f->sessions, f->duration_s, &value))
    return value;
  if (has_no_slo(t, f->summary))
    return NAN;
  if (t->subject == SUBJECT_FIGURE)
    return figure_value(t, f);
  group_count(&g, f->metrics, filter, &f->stages);
  if (filter->n && g.sent == 0)
    return NAN; /* a filter that nothing passes is a mistake */
  return judge_counts(t, &g, by_stage(filter) ? g.duration_s : f->duration_s);
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
  return judge_hist(t, &s->hist[t->which]);
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

int judge_expression(struct str text, const struct summary *s,
                     const char *place, double *value, struct err *e)
{
  struct threshold t;
  double x = NAN;
  int holds = -1;
  *value = NAN;
  if (threshold_parse(&t, text, NULL, place, e) < 0)
    return -1;
  if (t.abort || !judge_summary(&t, s, &x))
    err_add(e,
            "%s '%s': this has the latencies and counts of its requests "
            "alone; it takes no braces, and nothing to abort",
            place, t.text);
  else
    holds = threshold_holds(&t, x);
  *value = threshold_in_unit(&t, x);
  threshold_deinit(&t);
  return holds;
}
