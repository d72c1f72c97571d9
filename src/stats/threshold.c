#include "stats/threshold.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/units.h"
#include "stats/threshold_impl.h"

/* ---- a text under way ---- */

int threshold_wrong(struct threshold_parser *p, const char *fmt, ...)
{
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return err_add(p->e, "%s '%.*s': %s", p->place, STR_ARG(p->whole), text);
}

void threshold_skip_blanks(struct threshold_parser *p)
{
  p->rest = str_trim(p->rest);
}

static bool is_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

struct str threshold_take(struct threshold_parser *p, size_t len)
{
  struct str s = {p->rest.p, len};
  p->rest.p += len;
  p->rest.len -= len;
  return s;
}

struct str threshold_take_word(struct threshold_parser *p, bool dots)
{
  size_t n = 0;
  while (n < p->rest.len &&
         (is_word(p->rest.p[n]) || (dots && p->rest.p[n] == '.')))
    n++;
  return threshold_take(p, n);
}

bool threshold_keep(char *out, size_t size, struct str s)
{
  if (!s.len || s.len >= size || memchr(s.p, '\0', s.len))
    return false;
  memcpy(out, s.p, s.len);
  out[s.len] = '\0';
  return true;
}

/* ---- operator and number ---- */

static int read_comparison(struct threshold_parser *p)
{
  static const struct {
    struct str sign;
    enum comparison means;
  } signs[] = {{{"<=", 2}, LESS_EQUAL}, {{">=", 2}, GREATER_EQUAL},
               {{"==", 2}, EQUAL},      {{"!=", 2}, UNEQUAL},
               {{"<", 1}, LESS},        {{">", 1}, GREATER}};
  threshold_skip_blanks(p);
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    if (!str_starts(p->rest, signs[i].sign))
      continue;
    p->t->comparison = signs[i].means;
    threshold_take(p, signs[i].sign.len);
    threshold_skip_blanks(p);
    return 0;
  }
  return threshold_wrong(
      p, "a comparison must follow: < <= > >= == or !=, and a number");
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

static int set_limit(struct threshold_parser *p, double x)
{
  struct threshold *t = p->t;
  const struct unit *u = unit_of(t->unit);
  bool percent = strcmp(t->unit, "%") == 0;
  t->limit = x;
  switch (t->quantity) {
  case QUANTITY_TIME:
    if (!u && !(x == 0 && !t->unit[0]))
      return threshold_wrong(
          p, "it is a time: give the number a unit, s, ms or us");
    t->limit = u ? x * u->ns : 0;
    if (!u)
      memcpy(t->unit, "s", 2);
    return 0;
  case QUANTITY_SHARE:
    if (!percent && t->unit[0])
      return threshold_wrong(p, "it is a share: say for example 5%% or 0.05");
    t->limit = percent ? x / 100 : x;
    if (!(t->limit >= 0 && t->limit <= 1))
      return threshold_wrong(p,
                             "a share lies between 0 and 1, or 0%% and 100%%");
    return 0;
  case QUANTITY_NUMBER: break;
  }
  if (t->unit[0] && (t->subject != SUBJECT_CUSTOM || !u || !u->divisor))
    return threshold_wrong(p, "it is a plain number: it has no unit '%s'",
                           t->unit);
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
static struct str take_unit(struct threshold_parser *p)
{
  size_t n = 0;
  threshold_skip_blanks(p);
  if (str_starts(p->rest, STR("abort")))
    return (struct str){"", 0};
  while (n < p->rest.len && !is_blank(p->rest.p[n]))
    n++;
  return threshold_take(p, n);
}

static int read_limit(struct threshold_parser *p)
{
  char *name = p->t->unit;
  struct str number, unit;
  size_t n = 0;
  double x;
  while (n < p->rest.len && of_number(p->rest.p[n]))
    n++;
  number = threshold_take(p, n);
  unit = take_unit(p);
  if (units_number(number, &x) < 0 || !isfinite(x))
    return threshold_wrong(
        p, "a number must follow the comparison, not '%.*s%.*s'",
        STR_ARG(number), STR_ARG(unit));
  if (unit.len && (!threshold_keep(name, sizeof p->t->unit, unit) ||
                   (!unit_of(name) && strcmp(name, "%") != 0)))
    return threshold_wrong(p, "there is no unit '%.*s'; choose s, ms, us or %%",
                           STR_ARG(unit));
  p->t->quantity = threshold_quantity(p);
  return set_limit(p, x);
}

/* ---- what follows ---- */

static int read_abort(struct threshold_parser *p)
{
  struct str word;
  threshold_skip_blanks(p);
  if (!p->rest.len)
    return 0;
  word = threshold_take_word(p, false);
  threshold_skip_blanks(p);
  p->t->abort = str_eq(word, STR("abort"));
  if (p->t->abort && !p->rest.len)
    return 0;
  word = p->t->abort ? threshold_take_word(p, false) : word;
  if (!p->t->abort || !str_eq(word, STR("after")))
    return threshold_wrong(
        p, "after the number may stand 'abort', or 'abort after "
           "10s', but nothing else");
  threshold_skip_blanks(p);
  if (units_duration(p->rest, &p->t->grace_ns) < 0)
    return threshold_wrong(
        p, "abort after: '%.*s' is not a time; say for example 10s",
        STR_ARG(p->rest));
  return 0;
}

/* ---- all of it ---- */

static int parse(struct threshold_parser *p)
{
  struct str metric;
  threshold_skip_blanks(p);
  metric = threshold_take_word(p, false);
  if (!metric.len)
    return threshold_wrong(p, "a threshold looks like ttft.p99 < 500ms");
  if (!threshold_find_subject(p, metric))
    return threshold_no_metric(p, metric);
  if (threshold_read_braces(p) < 0 || threshold_read_statistic(p, metric) < 0 ||
      read_comparison(p) < 0 || read_limit(p) < 0)
    return -1;
  return read_abort(p);
}

int threshold_parse(struct threshold *t, struct str text,
                    const struct custom *custom, const char *place,
                    struct err *e)
{
  struct threshold_parser p = {
      .t = t, .custom = custom, .place = place, .e = e};
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
