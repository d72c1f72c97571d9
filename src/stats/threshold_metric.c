#include "stats/threshold_impl.h"

#include "base/outcome.h"
#include "base/suggest.h"
#include "base/units.h"
#include "stats/summary.h"

/* The left side of a threshold: metric, braces, statistic. */

static const struct {
  const char *name;
  bool share;
} values[] = {
#define X(ENUM, name, share) {name, share},
    THRESHOLD_VALUES(X)
#undef X
};

static const char *const statistics[] = {
#define X(ENUM, name) name,
    STATISTIC_LIST(X)
#undef X
};

/* A set of statistics. */
#define BIT(ENUM) (1u << STATISTIC_##ENUM)
#define DISTRIBUTION                                                           \
  (BIT(MEAN) | BIT(MIN) | BIT(MAX) | BIT(STD) | BIT(COUNT) | BIT(PERCENTILE))

/* ---- the metric ---- */

static bool is_figure(struct str name, int *which)
{
  for (*which = 0; *which < FIGURE_COUNT; ++*which)
    if (str_eq(name, str_of(figure_name((enum figure) * which))))
      return true;
  return false;
}

static bool is_value(struct str name, int *which)
{
  for (*which = 0; *which < VALUE_COUNT; ++*which)
    if (str_eq(name, str_of(values[*which].name)))
      return true;
  return false;
}

static bool is_outcome(struct str name, int *which)
{
  for (*which = 0; *which < OUTCOME_COUNT; ++*which)
    if (str_eq(name, str_of(outcome_name((enum outcome) * which))))
      return true;
  return false;
}

/* `check` is an outcome's name as well; with braces it is one of a script's
 * checks. */
bool threshold_find_subject(struct threshold_parser *p, struct str name)
{
  struct threshold *t = p->t;
  const struct custom_metric *m;
  bool braces = p->rest.len && p->rest.p[0] == '{';
  t->subject = SUBJECT_FIGURE;
  if (is_figure(name, &t->which))
    return true;
  t->subject = SUBJECT_VALUE;
  if (is_value(name, &t->which))
    return true;
  t->which = 0;
  t->subject = SUBJECT_CHECKS;
  if (str_eq(name, STR("checks")) || (braces && str_eq(name, STR("check"))))
    return true;
  t->subject = SUBJECT_SESSIONS;
  if (str_eq(name, STR("sessions")))
    return true;
  t->subject = SUBJECT_OUTCOME;
  if (is_outcome(name, &t->which))
    return true;
  t->subject = SUBJECT_CUSTOM;
  m = p->custom ? custom_find(p->custom, name) : NULL;
  t->which = m ? (int)(m - p->custom->metrics) : 0;
  return m != NULL;
}

bool threshold_is_own(struct str name)
{
  int which;
  return is_figure(name, &which) || is_value(name, &which) ||
         is_outcome(name, &which) || str_eq(name, STR("checks")) ||
         str_eq(name, STR("sessions"));
}

int threshold_no_metric(struct threshold_parser *p, struct str name)
{
  struct suggest near = {.typed = name};
  struct buf text = {0};
  int rc;
  for (int i = 0; i < FIGURE_COUNT; i++)
    suggest_consider(&near, str_of(figure_name((enum figure)i)));
  for (int i = 0; i < VALUE_COUNT; i++)
    suggest_consider(&near, str_of(values[i].name));
  for (int i = 0; i < OUTCOME_COUNT; i++)
    suggest_consider(&near, str_of(outcome_name((enum outcome)i)));
  suggest_consider(&near, STR("checks"));
  suggest_consider(&near, STR("sessions"));
  for (size_t i = 0; p->custom && i < p->custom->n_metrics; i++)
    suggest_consider(&near, str_of(p->custom->metrics[i].name));
  suggest_print(&near, "", &text);
  if (!near.n)
    buf_adds(&text, "; say for example ttft.p99, error_rate, checks.rate, or "
                    "a metric that the scenario declares");
  rc = threshold_wrong(p, "there is no metric '%.*s'%s", STR_ARG(name),
                       buf_cstr(&text));
  buf_free(&text);
  return rc;
}

/* ---- the braces ---- */

/* What stands between { and }, where a } in quotes does not end it. */
static int take_braces(struct threshold_parser *p, struct str *inside)
{
  size_t i = 1;
  bool quoted = false;
  for (; i < p->rest.len && (quoted || p->rest.p[i] != '}'); i++)
    if (p->rest.p[i] == '"')
      quoted = !quoted;
  if (i >= p->rest.len)
    return threshold_wrong(p, "a { has no }");
  *inside = (struct str){p->rest.p + 1, i - 1};
  threshold_take(p, i + 1);
  return 0;
}

static struct str unquoted(struct str s)
{
  s = str_trim(s);
  if (s.len >= 2 && s.p[0] == '"' && s.p[s.len - 1] == '"')
    s = (struct str){s.p + 1, s.len - 2};
  return s;
}

static int read_filter(struct threshold_parser *p, struct str inside)
{
  struct filter *f = &p->t->filter;
  while (inside.p) {
    struct str value = str_split(&inside, ','), name = str_split(&value, '=');
    struct filter_term *term = &f->terms[f->n];
    if (f->n == FILTER_TERMS)
      return threshold_wrong(p, "more than %d conditions in braces",
                             FILTER_TERMS);
    if (!threshold_keep(term->name, sizeof term->name, str_trim(name)) ||
        !threshold_keep(term->value, sizeof term->value, unquoted(value)))
      return threshold_wrong(
          p, "in braces stands NAME=VALUE (a tag, stage or turn), "
             "such as {class=long}");
    f->n++;
  }
  return 0;
}

/* What is recorded belongs to no turn. */
static int read_custom_filter(struct threshold_parser *p, struct str inside)
{
  if (read_filter(p, inside) < 0)
    return -1;
  if (filter_has(&p->t->filter, "turn"))
    return threshold_wrong(
        p, "a metric of the scenario's has stages and tags, but no turns");
  return 0;
}

int threshold_read_braces(struct threshold_parser *p)
{
  struct threshold *t = p->t;
  struct str inside;
  if (!p->rest.len || p->rest.p[0] != '{')
    return 0;
  if (take_braces(p, &inside) < 0)
    return -1;
  switch (t->subject) {
  case SUBJECT_FIGURE:
  case SUBJECT_VALUE:
  case SUBJECT_OUTCOME: return read_filter(p, inside);
  case SUBJECT_CUSTOM: return read_custom_filter(p, inside);
  case SUBJECT_CHECKS:
    if (threshold_keep(t->check, sizeof t->check, unquoted(inside)))
      return 0;
    return threshold_wrong(p, "check{NAME} wants the name of a check");
  default:
    return threshold_wrong(
        p, "braces choose among requests; this is counted for the "
           "whole run");
  }
}

/* ---- the statistic ---- */

/* "p99.9" */
static bool is_percentile(struct str s, double *out)
{
  if (str_eq(s, STR("med")) || str_eq(s, STR("median"))) {
    *out = 50;
    return true;
  }
  if (s.len < 2 || s.p[0] != 'p' || s.p[1] < '0' || s.p[1] > '9')
    return false;
  s = (struct str){s.p + 1, s.len - 1};
  return units_number(s, out) == 0 && *out <= 100;
}

static enum statistic statistic_of(struct str s, double *percentile)
{
  if (is_percentile(s, percentile))
    return STATISTIC_PERCENTILE;
  for (int i = 0; i < STATISTIC_NONE; i++)
    if (i != STATISTIC_PERCENTILE && str_eq(s, str_of(statistics[i])))
      return (enum statistic)i;
  return STATISTIC_NONE;
}

/* Which ones there are; *plain is what no statistic means. */
static unsigned choices(const struct threshold_parser *p, enum statistic *plain)
{
  const struct threshold *t = p->t;
  *plain = STATISTIC_NONE;
  switch (t->subject) {
  case SUBJECT_FIGURE:
  case SUBJECT_DURATION: return DISTRIBUTION;
  case SUBJECT_VALUE:
  case SUBJECT_OUTCOME: return 0;
  case SUBJECT_CHECKS:
    *plain = STATISTIC_RATE;
    return BIT(RATE) | BIT(PASSED) | BIT(FAILED) | BIT(COUNT);
  case SUBJECT_SESSIONS:
    return BIT(STARTED) | BIT(COMPLETED) | BIT(FAILED) | BIT(CUT) | BIT(TURNS) |
           BIT(SKIPPED) | BIT(MAX_TURNS);
  case SUBJECT_CUSTOM: break;
  }
  switch (p->custom->metrics[t->which].kind) {
  case CUSTOM_COUNTER:
    *plain = STATISTIC_SUM;
    return BIT(SUM) | BIT(RATE) | BIT(COUNT);
  case CUSTOM_GAUGE:
    *plain = STATISTIC_VALUE;
    return BIT(VALUE) | BIT(MIN) | BIT(MAX) | BIT(COUNT);
  case CUSTOM_RATE:
    *plain = STATISTIC_RATE;
    return BIT(RATE) | BIT(PASSED) | BIT(COUNT);
  default: return DISTRIBUTION;
  }
}

static int name_choices(struct threshold_parser *p, struct str metric,
                        struct str typed, unsigned set)
{
  struct buf text = {0};
  int rc;
  for (int i = 0; i < STATISTIC_NONE; i++)
    if (set >> i & 1)
      buf_addf(&text, "%s%s", text.len ? " " : "", statistics[i]);
  if (p->t->subject == SUBJECT_SESSIONS)
    buf_adds(&text, " duration.pNN active.pNN");
  if (!set)
    rc = threshold_wrong(p, "%.*s is a single number: it has no .%.*s",
                         STR_ARG(metric), STR_ARG(typed));
  else if (!typed.len)
    rc = threshold_wrong(p, "say which: %.*s. with one of %s", STR_ARG(metric),
                         buf_cstr(&text));
  else
    rc = threshold_wrong(p, "%.*s has no .%.*s; choose of %s", STR_ARG(metric),
                         STR_ARG(typed), buf_cstr(&text));
  buf_free(&text);
  return rc;
}

/* sessions.duration.p95: a distribution within. */
static struct str enter_durations(struct threshold_parser *p,
                                  struct str statistic)
{
  static const char *const names[] = {"duration.", "active."};
  for (int i = 0; p->t->subject == SUBJECT_SESSIONS && i < 2; i++) {
    if (!str_starts(statistic, str_of(names[i])))
      continue;
    p->t->subject = SUBJECT_DURATION;
    p->t->which = i;
    statistic.p += strlen(names[i]);
    statistic.len -= strlen(names[i]);
  }
  return statistic;
}

int threshold_read_statistic(struct threshold_parser *p, struct str metric)
{
  struct threshold *t = p->t;
  struct str typed = {"", 0};
  enum statistic plain;
  unsigned set;
  if (p->rest.len && p->rest.p[0] == '.') {
    threshold_take(p, 1);
    typed = threshold_take_word(p, true);
  }
  typed = enter_durations(p, typed);
  set = choices(p, &plain);
  t->statistic = typed.len ? statistic_of(typed, &t->percentile) : plain;
  if (!set && !typed.len)
    return 0;
  if (t->statistic == STATISTIC_NONE || !(set >> t->statistic & 1))
    return name_choices(p, metric, typed, set);
  return 0;
}

enum quantity threshold_quantity(const struct threshold_parser *p)
{
  const struct threshold *t = p->t;
  bool counted = t->statistic == STATISTIC_COUNT;
  if (t->subject == SUBJECT_FIGURE || t->subject == SUBJECT_DURATION)
    return counted ? QUANTITY_NUMBER : QUANTITY_TIME;
  if (t->subject == SUBJECT_VALUE && values[t->which].share)
    return QUANTITY_SHARE;
  if (t->subject == SUBJECT_CHECKS && t->statistic == STATISTIC_RATE)
    return QUANTITY_SHARE;
  if (t->subject == SUBJECT_CUSTOM && t->statistic == STATISTIC_RATE &&
      p->custom->metrics[t->which].kind == CUSTOM_RATE)
    return QUANTITY_SHARE;
  return QUANTITY_NUMBER;
}
