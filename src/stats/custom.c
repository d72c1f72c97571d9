#include "stats/custom.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stats/threshold.h"

static const char *const kind_names[] = {
#define X(ENUM, name) name,
    CUSTOM_KIND_LIST(X)
#undef X
};

const char *custom_kind_name(enum custom_kind k)
{
  assert(k < CUSTOM_KINDS);
  return kind_names[k];
}

void custom_deinit(struct custom *c)
{
  for (size_t i = 0; i < c->n_metrics; i++) {
    mem_free(c->metrics[i].name);
    trend_deinit(&c->metrics[i].trend);
  }
  for (size_t i = 0; i < c->n_checks; i++)
    mem_free(c->checks[i].name);
  for (size_t i = 0; i < c->n_parts; i++) {
    mem_free(c->parts[i].metric.name);
    trend_deinit(&c->parts[i].metric.trend);
  }
  mem_free(c->metrics);
  mem_free(c->parts);
  mem_free(c->checks);
  *c = (struct custom){0};
}

/* ---- declarations ---- */

static void declare(struct custom *c, const char *name, enum custom_kind kind)
{
  c->metrics = mem_resize(c->metrics, c->n_metrics + 1, sizeof *c->metrics);
  c->metrics[c->n_metrics++] = (struct custom_metric){
      .name = mem_strdup(name), .kind = kind, .value = NAN};
}

static enum custom_kind kind_of(const char *name)
{
  for (int k = 0; k < CUSTOM_KINDS; k++)
    if (strcmp(kind_names[k], name) == 0)
      return (enum custom_kind)k;
  return CUSTOM_KINDS;
}

static int by_metric(const void *a, const void *b)
{
  return strcmp(((const struct custom_metric *)a)->name,
                ((const struct custom_metric *)b)->name);
}

int custom_declare(struct custom *c, const json_value *metrics,
                   const char *place, struct err *e)
{
  unsigned before = e->count;
  for (const json_value *v = json_first(metrics); v; v = json_next(v)) {
    enum custom_kind kind = kind_of(json_text(v));
    assert(kind < CUSTOM_KINDS); /* scenario.lua let it through */
    if (threshold_is_own(str_of(json_name(v))))
      err_add(e,
              "%s: metrics.%s: stoke has a figure of that name; choose "
              "another",
              place, json_name(v));
    declare(c, json_name(v), kind);
  }
  if (c->n_metrics)
    qsort(c->metrics, c->n_metrics, sizeof *c->metrics, by_metric);
  return e->count > before ? -1 : 0;
}

void custom_like(struct custom *c, const struct custom *declared)
{
  *c = (struct custom){.stages = declared->stages};
  for (size_t i = 0; i < declared->n_metrics; i++)
    declare(c, declared->metrics[i].name, declared->metrics[i].kind);
  for (size_t i = 0; i < declared->n_parts; i++)
    custom_add_part(c, declared->parts[i].of, &declared->parts[i].filter);
}

struct custom_metric *custom_find(const struct custom *c, struct str name)
{
  for (size_t i = 0; i < c->n_metrics; i++)
    if (str_eq(str_of(c->metrics[i].name), name))
      return &c->metrics[i];
  return NULL;
}

/* ---- parts ---- */

static bool same_filter(const struct filter *a, const struct filter *b)
{
  bool same = a->n == b->n;
  for (size_t i = 0; same && i < a->n; i++)
    same = strcmp(a->terms[i].name, b->terms[i].name) == 0 &&
           strcmp(a->terms[i].value, b->terms[i].value) == 0;
  return same;
}

const struct custom_metric *custom_part(const struct custom *c, size_t of,
                                        const struct filter *f)
{
  if (!f->n)
    return &c->metrics[of];
  for (size_t i = 0; i < c->n_parts; i++)
    if (c->parts[i].of == of && same_filter(&c->parts[i].filter, f))
      return &c->parts[i].metric;
  return NULL;
}

static char *part_name(const char *metric, const struct filter *f)
{
  struct buf name = {0};
  buf_adds(&name, metric);
  for (size_t i = 0; i < f->n; i++)
    buf_addf(&name, "%c%s=%s", i ? ',' : '{', f->terms[i].name,
             f->terms[i].value);
  buf_addc(&name, '}');
  return buf_take(&name);
}

void custom_add_part(struct custom *c, size_t of, const struct filter *f)
{
  struct custom_metric *m = &c->metrics[of];
  if (custom_part(c, of, f))
    return;
  m->parted = true;
  c->parts = mem_resize(c->parts, c->n_parts + 1, sizeof *c->parts);
  c->parts[c->n_parts++] = (struct custom_part){
      .of = of,
      .filter = *f,
      .metric = {.name = part_name(m->name, f), .kind = m->kind, .value = NAN}};
}

/* ---- recording ---- */

static void record_gauge(struct custom_metric *m, double x, uint64_t now_ns)
{
  m->value = x;
  m->value_ns = now_ns;
  m->min = m->count == 0 ? x : fmin(m->min, x);
  m->max = m->count == 0 ? x : fmax(m->max, x);
}

void custom_record(struct custom_metric *m, double x, uint64_t now_ns)
{
  switch (m->kind) {
  case CUSTOM_COUNTER: sum_add(&m->sum, x); break;
  case CUSTOM_GAUGE: record_gauge(m, x, now_ns); break;
  case CUSTOM_RATE: m->passed += x != 0; break;
  case CUSTOM_TREND: trend_add(&m->trend, x); break;
  case CUSTOM_KINDS: break;
  }
  m->count++;
}

void custom_record_parts(struct custom *c, const struct custom_metric *m,
                         double x, uint64_t now_ns, const char *stage,
                         const char *tags)
{
  const struct filing filing = {.tags = tags};
  const struct stage_names stages = {&stage, 1};
  for (size_t i = 0; i < c->n_parts; i++) {
    struct custom_part *part = &c->parts[i];
    if (&c->metrics[part->of] == m &&
        filter_matches(&part->filter, &filing, &stages))
      custom_record(&part->metric, x, now_ns);
  }
}

static struct custom_check *find_check(struct custom *c, struct str name)
{
  size_t i = 0;
  if (name.len > CHECK_NAME)
    name.len = CHECK_NAME;
  while (i < c->n_checks && !str_eq(str_of(c->checks[i].name), name))
    i++;
  if (i < c->n_checks)
    return &c->checks[i];
  if (i >= CHECKS_MAX)
    return &c->checks[CHECKS_MAX - 1];
  if (i == CHECKS_MAX - 1)
    name = STR("(other)");
  c->checks = mem_resize(c->checks, i + 1, sizeof *c->checks);
  c->checks[i] = (struct custom_check){.name = mem_strndup(name.p, name.len)};
  c->n_checks++;
  return &c->checks[i];
}

void custom_check(struct custom *c, struct str name, bool passed)
{
  struct custom_check *k = find_check(c, name);
  k->passed += passed;
  k->failed += !passed;
}

/* ---- merging ---- */

static void merge_gauge(struct custom_metric *into,
                        const struct custom_metric *from)
{
  if (into->count == 0 || from->value_ns >= into->value_ns) {
    into->value = from->value;
    into->value_ns = from->value_ns;
  }
  into->min = into->count == 0 ? from->min : fmin(into->min, from->min);
  into->max = into->count == 0 ? from->max : fmax(into->max, from->max);
}

static void merge_metric(struct custom_metric *into,
                         const struct custom_metric *from)
{
  if (from->count == 0)
    return;
  if (into->kind == CUSTOM_GAUGE)
    merge_gauge(into, from);
  into->count += from->count;
  into->passed += from->passed;
  sum_merge(&into->sum, &from->sum);
  trend_merge(&into->trend, &from->trend);
}

void custom_merge(struct custom *into, const struct custom *from)
{
  assert(into->n_metrics == from->n_metrics);
  assert(into->n_parts == from->n_parts);
  for (size_t i = 0; i < from->n_metrics; i++)
    merge_metric(&into->metrics[i], &from->metrics[i]);
  for (size_t i = 0; i < from->n_parts; i++)
    merge_metric(&into->parts[i].metric, &from->parts[i].metric);
  for (size_t i = 0; i < from->n_checks; i++) {
    struct custom_check *k = find_check(into, str_of(from->checks[i].name));
    k->passed += from->checks[i].passed;
    k->failed += from->checks[i].failed;
  }
}

static int by_check(const void *a, const void *b)
{
  return strcmp(((const struct custom_check *)a)->name,
                ((const struct custom_check *)b)->name);
}

void custom_sort(struct custom *c)
{
  if (c->n_checks)
    qsort(c->checks, c->n_checks, sizeof *c->checks, by_check);
}
