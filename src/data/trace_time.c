#include "data/trace_time.h"

#include <math.h>
#include <stdint.h>

#include "base/units.h"

/* Days since 1970-01-01 (H. Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms"). */
static int64_t days(int64_t year, int month, int day)
{
  int64_t era, of_era, of_year;
  year -= month <= 2;
  era = (year >= 0 ? year : year - 399) / 400;
  of_era = year - era * 400;
  of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
         719468;
}

/* `n` digits and what must stand behind them (0: anything). */
static bool digits(struct str *s, size_t n, char behind, int *out)
{
  *out = 0;
  if (s->len < n + (behind != 0))
    return false;
  for (size_t i = 0; i < n; i++) {
    if (s->p[i] < '0' || s->p[i] > '9')
      return false;
    *out = *out * 10 + (s->p[i] - '0');
  }
  if (behind && s->p[n] != behind)
    return false;
  n += behind != 0;
  *s = (struct str){s->p + n, s->len - n};
  return true;
}

static double fraction(struct str *s)
{
  double value = 0, place = 0.1;
  size_t i = 1;
  if (!s->len || s->p[0] != '.')
    return 0;
  for (; i < s->len && s->p[i] >= '0' && s->p[i] <= '9'; i++, place /= 10)
    value += place * (s->p[i] - '0');
  *s = (struct str){s->p + i, s->len - i};
  return value;
}

static int parse_date(struct str s, double *seconds)
{
  int year, month, day, hour, minute, second;
  double part;
  char between;
  if (!digits(&s, 4, '-', &year) || !digits(&s, 2, '-', &month) ||
      !digits(&s, 2, 0, &day) || s.len < 9)
    return -1;
  between = s.p[0];
  s = (struct str){s.p + 1, s.len - 1};
  if ((between != ' ' && between != 'T') || !digits(&s, 2, ':', &hour) ||
      !digits(&s, 2, ':', &minute) || !digits(&s, 2, 0, &second))
    return -1;
  part = fraction(&s);
  if (s.len && !str_eq(s, STR("Z")) && !str_eq(s, STR("+00:00")))
    return -1;
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 ||
      second > 60)
    return -1;
  if (days(year, month, day) >=
      days(year + month / 12, month % 12 + 1, 1)) /* the 31st of June */
    return -1;
  *seconds = (double)(days(year, month, day) * 86400 + hour * 3600 +
                      minute * 60 + second) +
             part;
  return 0;
}

int trace_time_parse(struct str s, double *seconds)
{
  s = str_trim(s);
  if (parse_date(s, seconds) == 0)
    return 0;
  return units_number(s, seconds) == 0 && isfinite(*seconds) ? 0 : -1;
}
