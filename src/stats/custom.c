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
  mem_free(c->metrics);
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
  *c = (struct custom){0};
  for (size_t i = 0; i < declared->n_metrics; i++)
    declare(c, declared->metrics[i].name, declared->metrics[i].kind);
}

struct custom_metric *custom_find(const struct custom *c, struct str name)
{
  for (size_t i = 0; i < c->n_metrics; i++)
    if (str_eq(str_of(c->metrics[i].name), name))
      return &c->metrics[i];
  return NULL;
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
  for (size_t i = 0; i < from->n_metrics; i++)
    merge_metric(&into->metrics[i], &from->metrics[i]);
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
