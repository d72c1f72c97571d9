#include "stats/threshold.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/outcome.h"
#include "base/suggest.h"
#include "base/units.h"
#include "stats/summary.h"

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

/* ---- a text under way ---- */

struct parser {
  struct threshold *t;
  const struct custom *custom;
  struct str whole, rest;
  const char *place;
  struct err *e;
};

static int wrong(struct parser *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int wrong(struct parser *p, const char *fmt, ...)
{
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return err_add(p->e, "%s '%.*s': %s", p->place, STR_ARG(p->whole), text);
}

static void skip_blanks(struct parser *p)
{
  p->rest = str_trim(p->rest);
}

static bool is_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

static struct str take(struct parser *p, size_t len)
{
  struct str s = {p->rest.p, len};
  p->rest.p += len;
  p->rest.len -= len;
  return s;
}

static struct str take_word(struct parser *p, bool dots)
{
  size_t n = 0;
  while (n < p->rest.len &&
         (is_word(p->rest.p[n]) || (dots && p->rest.p[n] == '.')))
    n++;
  return take(p, n);
}

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
static bool find_subject(struct parser *p, struct str name)
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

static int no_such_metric(struct parser *p, struct str name)
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
  rc = wrong(p, "there is no metric '%.*s'%s", STR_ARG(name), buf_cstr(&text));
  buf_free(&text);
  return rc;
}

/* ---- the braces ---- */

static bool keep(char *out, size_t size, struct str s)
{
  if (!s.len || s.len >= size || memchr(s.p, '\0', s.len))
    return false;
  memcpy(out, s.p, s.len);
  out[s.len] = '\0';
  return true;
}

/* What stands between { and }, where a } in quotes does not end it. */
static int take_braces(struct parser *p, struct str *inside)
{
  size_t i = 1;
  bool quoted = false;
  for (; i < p->rest.len && (quoted || p->rest.p[i] != '}'); i++)
    if (p->rest.p[i] == '"')
      quoted = !quoted;
  if (i >= p->rest.len)
    return wrong(p, "a { has no }");
  *inside = (struct str){p->rest.p + 1, i - 1};
  take(p, i + 1);
  return 0;
}

static struct str unquoted(struct str s)
{
  s = str_trim(s);
  if (s.len >= 2 && s.p[0] == '"' && s.p[s.len - 1] == '"')
    s = (struct str){s.p + 1, s.len - 2};
  return s;
}

static int read_filter(struct parser *p, struct str inside)
{
  struct filter *f = &p->t->filter;
  while (inside.p) {
    struct str value = str_split(&inside, ','), name = str_split(&value, '=');
    struct filter_term *term = &f->terms[f->n];
    if (f->n == FILTER_TERMS)
      return wrong(p, "more than %d conditions in braces", FILTER_TERMS);
    if (!keep(term->name, sizeof term->name, str_trim(name)) ||
        !keep(term->value, sizeof term->value, unquoted(value)))
      return wrong(p, "in braces stands NAME=VALUE (a tag, stage or turn), "
                      "such as {class=long}");
    f->n++;
  }
  return 0;
}

static int read_braces(struct parser *p)
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
  case SUBJECT_CHECKS:
    if (keep(t->check, sizeof t->check, unquoted(inside)))
      return 0;
    return wrong(p, "check{NAME} wants the name of a check");
  default:
    return wrong(p, "braces choose among requests; this is counted for the "
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
static unsigned choices(const struct parser *p, enum statistic *plain)
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

static int name_choices(struct parser *p, struct str metric, struct str typed,
                        unsigned set)
{
  struct buf text = {0};
  int rc;
  for (int i = 0; i < STATISTIC_NONE; i++)
    if (set >> i & 1)
      buf_addf(&text, "%s%s", text.len ? " " : "", statistics[i]);
  if (p->t->subject == SUBJECT_SESSIONS)
    buf_adds(&text, " duration.pNN active.pNN");
  if (!set)
    rc = wrong(p, "%.*s is a single number: it has no .%.*s", STR_ARG(metric),
               STR_ARG(typed));
  else if (!typed.len)
    rc = wrong(p, "say which: %.*s. with one of %s", STR_ARG(metric),
               buf_cstr(&text));
  else
    rc = wrong(p, "%.*s has no .%.*s; choose of %s", STR_ARG(metric),
               STR_ARG(typed), buf_cstr(&text));
  buf_free(&text);
  return rc;
}

/* sessions.duration.p95: a distribution within. */
static struct str enter_durations(struct parser *p, struct str statistic)
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

static int read_statistic(struct parser *p, struct str metric)
{
  struct threshold *t = p->t;
  struct str typed = {"", 0};
  enum statistic plain;
  unsigned set;
  if (p->rest.len && p->rest.p[0] == '.') {
    take(p, 1);
    typed = take_word(p, true);
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

/* ---- operator and number ---- */

static int read_comparison(struct parser *p)
{
  static const struct {
    struct str sign;
    enum comparison means;
  } signs[] = {{{"<=", 2}, LESS_EQUAL}, {{">=", 2}, GREATER_EQUAL},
               {{"==", 2}, EQUAL},      {{"!=", 2}, UNEQUAL},
               {{"<", 1}, LESS},        {{">", 1}, GREATER}};
  skip_blanks(p);
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    if (!str_starts(p->rest, signs[i].sign))
      continue;
    p->t->comparison = signs[i].means;
    take(p, signs[i].sign.len);
    skip_blanks(p);
    return 0;
  }
  return wrong(p, "a comparison must follow: < <= > >= == or !=, and a number");
}

static enum quantity quantity_of(const struct parser *p)
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

/* How many of the unit are one of the quantity's own; 0: no such unit. Whole
 * milliseconds are whole ns, and 7% is the double that 7/100 is. */
static const struct unit {
  const char *name;
  double ns;      /* times */
  double divisor; /* of a script's numbers, in seconds */
} units[] = {{"s", 1e9, 1},
             {"ms", 1e6, 1e3},
             {"us", 1e3, 1e6},
             {"m", 60e9, 0},
             {"h", 3600e9, 0}};

static const struct unit *unit_of(const char *name)
{
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(units[i].name, name) == 0)
      return &units[i];
  return NULL;
}

static int set_limit(struct parser *p, double x)
{
  struct threshold *t = p->t;
  const struct unit *u = unit_of(t->unit);
  bool percent = strcmp(t->unit, "%") == 0;
  t->limit = x;
  switch (t->quantity) {
  case QUANTITY_TIME:
    if (!u && !(x == 0 && !t->unit[0]))
      return wrong(p, "it is a time: give the number a unit, s, ms or us");
    t->limit = u ? x * u->ns : 0;
    if (!u)
      memcpy(t->unit, "s", 2);
    return 0;
  case QUANTITY_SHARE:
    if (!percent && t->unit[0])
      return wrong(p, "it is a share: say for example 5%% or 0.05");
    t->limit = percent ? x / 100 : x;
    if (!(t->limit >= 0 && t->limit <= 1))
      return wrong(p, "a share lies between 0 and 1, or 0%% and 100%%");
    return 0;
  case QUANTITY_NUMBER: break;
  }
  if (t->unit[0] && (t->subject != SUBJECT_CUSTOM || !u || !u->divisor))
    return wrong(p, "it is a plain number: it has no unit '%s'", t->unit);
  if (u)
    t->limit = x / u->divisor;
  return 0;
}

static bool of_number(char c)
{
  return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' ||
         c == 'e' || c == 'E';
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t';
}

/* What stands up to a blank, but for the word that may follow the limit. */
static struct str take_unit(struct parser *p)
{
  size_t n = 0;
  skip_blanks(p);
  if (str_starts(p->rest, STR("abort")))
    return (struct str){"", 0};
  while (n < p->rest.len && !is_blank(p->rest.p[n]))
    n++;
  return take(p, n);
}

static int read_limit(struct parser *p)
{
  char *name = p->t->unit;
  struct str number, unit;
  size_t n = 0;
  double x;
  while (n < p->rest.len && of_number(p->rest.p[n]))
    n++;
  number = take(p, n);
  unit = take_unit(p);
  if (units_number(number, &x) < 0 || !isfinite(x))
    return wrong(p, "a number must follow the comparison, not '%.*s%.*s'",
                 STR_ARG(number), STR_ARG(unit));
  if (unit.len && (!keep(name, sizeof p->t->unit, unit) ||
                   (!unit_of(name) && strcmp(name, "%") != 0)))
    return wrong(p, "there is no unit '%.*s'; choose s, ms, us or %%",
                 STR_ARG(unit));
  p->t->quantity = quantity_of(p);
  return set_limit(p, x);
}

/* ---- what follows ---- */

static int read_abort(struct parser *p)
{
  struct str word;
  skip_blanks(p);
  if (!p->rest.len)
    return 0;
  word = take_word(p, false);
  skip_blanks(p);
  p->t->abort = str_eq(word, STR("abort"));
  if (p->t->abort && !p->rest.len)
    return 0;
  word = p->t->abort ? take_word(p, false) : word;
  if (!p->t->abort || !str_eq(word, STR("after")))
    return wrong(p, "after the number may stand 'abort', or 'abort after "
                    "10s', but nothing else");
  skip_blanks(p);
  if (units_duration(p->rest, &p->t->grace_ns) < 0)
    return wrong(p, "abort after: '%.*s' is not a time; say for example 10s",
                 STR_ARG(p->rest));
  return 0;
}

/* ---- all of it ---- */

static int parse(struct parser *p)
{
  struct str metric;
  skip_blanks(p);
  metric = take_word(p, false);
  if (!metric.len)
    return wrong(p, "a threshold looks like ttft.p99 < 500ms");
  if (!find_subject(p, metric))
    return no_such_metric(p, metric);
  if (read_braces(p) < 0 || read_statistic(p, metric) < 0 ||
      read_comparison(p) < 0 || read_limit(p) < 0)
    return -1;
  return read_abort(p);
}

int threshold_parse(struct threshold *t, struct str text,
                    const struct custom *custom, const char *place,
                    struct err *e)
{
  struct parser p = {.t = t, .custom = custom, .place = place, .e = e};
  p.whole = p.rest = str_trim(text);
  *t = (struct threshold){.statistic = STATISTIC_NONE};
  if (parse(&p) < 0) {
    *t = (struct threshold){0};
    return -1;
  }
  t->text = mem_strndup(p.whole.p, p.whole.len);
  return 0;
}

void threshold_deinit(struct threshold *t)
{
  mem_free(t->text);
  *t = (struct threshold){0};
}

bool threshold_holds(const struct threshold *t, double value)
{
  if (isnan(value))
    return false;
  switch (t->comparison) {
  case LESS: return value < t->limit;
  case LESS_EQUAL: return value <= t->limit;
  case GREATER: return value > t->limit;
  case GREATER_EQUAL: return value >= t->limit;
  case EQUAL: return value == t->limit;
  case UNEQUAL: return value != t->limit;
  }
  return false;
}

double threshold_in_unit(const struct threshold *t, double value)
{
  const struct unit *u = unit_of(t->unit);
  if (strcmp(t->unit, "%") == 0)
    return value * 100;
  if (t->quantity == QUANTITY_TIME)
    return u ? value / u->ns : value;
  return u ? value * u->divisor : value;
}

/* ---- lists ---- */

int thresholds_add(struct thresholds *all, struct str text,
                   const struct custom *custom, const char *place,
                   struct err *e)
{
  struct threshold t;
  if (threshold_parse(&t, text, custom, place, e) < 0)
    return -1;
  all->list = mem_resize(all->list, all->n + 1, sizeof *all->list);
  all->list[all->n++] = t;
  return 0;
}

int thresholds_add_lines(struct thresholds *all, struct str text,
                         const struct custom *custom, const char *file,
                         struct err *e)
{
  unsigned before = e->count;
  for (unsigned number = 1; text.p; number++) {
    struct str line = str_split(&text, '\n');
    struct buf place = {0};
    line = str_trim(str_split(&line, '#'));
    buf_addf(&place, "%s:%u", file, number);
    if (line.len)
      thresholds_add(all, line, custom, buf_cstr(&place), e);
    buf_free(&place);
  }
  return e->count > before ? -1 : 0;
}

void thresholds_deinit(struct thresholds *all)
{
  for (size_t i = 0; i < all->n; i++)
    threshold_deinit(&all->list[i]);
  mem_free(all->list);
  *all = (struct thresholds){0};
}
