#include "report/custom_out.h"

#include <math.h>

#include "report/field.h"
#include "report/marks.h"

static double over(double a, double b)
{
  return b > 0 ? a / b : NAN;
}

static double check_rate(const struct custom_check *k)
{
  return over((double)k->passed, (double)(k->passed + k->failed));
}

/* ---- JSON ---- */

static void write_trend(struct json_writer *w, const struct trend *t)
{
  static const struct {
    const char *name;
    double p;
  } percentiles[] = {{"p1", 1},   {"p5", 5},     {"p10", 10}, {"p25", 25},
                     {"p50", 50}, {"p75", 75},   {"p90", 90}, {"p95", 95},
                     {"p99", 99}, {"p999", 99.9}};
  field_number(w, "mean", trend_mean(t));
  field_number(w, "std", trend_std(t));
  field_number(w, "min", t->count ? t->min : NAN);
  for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++)
    field_number(w, percentiles[i].name, trend_percentile(t, percentiles[i].p));
  field_number(w, "max", t->count ? t->max : NAN);
}

/* A stage's own time is the threshold's to know. */
static double part_duration(const struct custom_part *part, double duration_s)
{
  return filter_has(&part->filter, "stage") ? NAN : duration_s;
}

static void write_metric(struct json_writer *w, const struct custom_metric *m,
                         double duration_s)
{
  field_object(w, m->name);
  field_text(w, "kind", custom_kind_name(m->kind));
  field_count(w, "count", m->count);
  switch (m->kind) {
  case CUSTOM_COUNTER:
    field_number(w, "sum", sum_value(&m->sum));
    field_number(w, "rate", over(sum_value(&m->sum), duration_s));
    break;
  case CUSTOM_GAUGE:
    field_number(w, "value", m->value);
    field_number(w, "min", m->count ? m->min : NAN);
    field_number(w, "max", m->count ? m->max : NAN);
    break;
  case CUSTOM_RATE:
    field_count(w, "passed", m->passed);
    field_number(w, "rate", over((double)m->passed, (double)m->count));
    break;
  case CUSTOM_TREND: write_trend(w, &m->trend); break;
  case CUSTOM_KINDS: break;
  }
  json_end_object(w);
}

void custom_write(struct json_writer *w, const struct custom *c,
                  double duration_s, struct str extra)
{
  json_value *members = extra.len ? json_parse(extra, NULL) : NULL;
  json_begin_object(w);
  for (size_t i = 0; i < c->n_metrics; i++)
    if (!json_get(members, c->metrics[i].name))
      write_metric(w, &c->metrics[i], duration_s);
  for (size_t i = 0; i < c->n_parts; i++)
    if (!json_get(members, c->parts[i].metric.name))
      write_metric(w, &c->parts[i].metric,
                   part_duration(&c->parts[i], duration_s));
  for (const json_value *v = json_first(members); v; v = json_next(v)) {
    struct buf text = {0};
    json_print(&text, v);
    json_key(w, json_name(v));
    json_raw(w, buf_str(&text));
    buf_free(&text);
  }
  json_end_object(w);
  json_free(members);
}

void checks_write(struct json_writer *w, const struct custom *c)
{
  json_begin_array(w);
  for (size_t i = 0; i < c->n_checks; i++) {
    const struct custom_check *k = &c->checks[i];
    json_begin_object(w);
    field_text(w, "name", k->name);
    field_count(w, "passed", k->passed);
    field_count(w, "failed", k->failed);
    field_number(w, "rate", check_rate(k));
    json_end_object(w);
  }
  json_end_array(w);
}

/* ---- for people ---- */

static void show_trend(struct buf *out, const struct trend *t)
{
  buf_addf(out, "mean %.4g, p50 %.4g, p99 %.4g, max %.4g (%llu values)",
           trend_mean(t), trend_percentile(t, 50), trend_percentile(t, 99),
           t->max, (unsigned long long)t->count);
}

static void show_metric(struct buf *out, const struct custom_metric *m,
                        double duration_s)
{
  double sum = sum_value(&m->sum), rate = over(sum, duration_s);
  buf_addf(out, "  %-30s ", m->name);
  if (m->kind == CUSTOM_COUNTER) {
    buf_addf(out, "%.12g", sum);
    if (!isnan(rate))
      buf_addf(out, " (%.4g/s)", rate);
  } else if (m->count == 0) {
    buf_adds(out, "n/a");
  } else if (m->kind == CUSTOM_GAUGE) {
    buf_addf(out, "%.6g (from %.6g to %.6g)", m->value, m->min, m->max);
  } else if (m->kind == CUSTOM_RATE) {
    buf_addf(out, "%.2f %% (%llu of %llu)",
             100 * (double)m->passed / (double)m->count,
             (unsigned long long)m->passed, (unsigned long long)m->count);
  } else {
    show_trend(out, &m->trend);
  }
  buf_addc(out, '\n');
}

void custom_show(struct buf *out, const struct custom *c, double duration_s)
{
  if (c->n_metrics)
    buf_adds(out, "Metrics of the scenario:\n");
  for (size_t i = 0; i < c->n_metrics; i++)
    show_metric(out, &c->metrics[i], duration_s);
  for (size_t i = 0; i < c->n_parts; i++)
    show_metric(out, &c->parts[i].metric,
                part_duration(&c->parts[i], duration_s));
}

void checks_show(struct buf *out, const struct custom *c, bool marks)
{
  if (c->n_checks)
    buf_adds(out, "Checks:\n");
  for (size_t i = 0; i < c->n_checks; i++) {
    const struct custom_check *k = &c->checks[i];
    buf_addf(out, "  %s %-30s %llu of %llu passed", mark(k->failed == 0, marks),
             k->name, (unsigned long long)k->passed,
             (unsigned long long)(k->passed + k->failed));
    if (k->failed)
      buf_addf(out, " (%.2f %%)", 100 * check_rate(k));
    buf_addc(out, '\n');
  }
}
