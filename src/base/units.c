#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

struct unit {
  const char *name;
  double factor;
};

/* The number at the start of s, what stands behind it in *rest. strtod would
 * also take hexadecimal, "nan" and leading blanks: only digits may start. */
static int leading_number(struct str s, double *out, struct str *rest)
{
  char text[64], *end;
  if (s.len == 0 || s.len >= sizeof text)
    return -1;
  memcpy(text, s.p, s.len);
  text[s.len] = '\0';
  if (text[strspn(text, "+-")] != '.' &&
      strcspn(text, "0123456789") != strspn(text, "+-"))
    return -1;
  if (strpbrk(text, "xXpP"))
    return -1;
  errno = 0;
  *out = strtod(text, &end);
  if (end == text || !isfinite(*out))
    return -1;
  *rest = (struct str){s.p + (end - text), s.len - (size_t)(end - text)};
  return 0;
}

static int scaled(struct str s, const struct unit *units, double *out)
{
  struct str rest;
  double x;
  if (leading_number(str_trim(s), &x, &rest) < 0)
    return -1;
  for (rest = str_trim(rest); units->name; units++) {
    if (str_eq(rest, str_of(units->name))) {
      *out = x * units->factor;
      return 0;
    }
  }
  return -1;
}

int units_duration(struct str s, uint64_t *out_ns)
{
  static const struct unit units[] = {
      {"", 1e9},   {"s", 1e9},    {"ms", 1e6},   {"us", 1e3},    {"ns", 1},
      {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {NULL, 0}};
  double ns;
  if (scaled(s, units, &ns) < 0 || ns < 0 || ns > 9e18)
    return -1;
  *out_ns = (uint64_t)llround(ns);
  return 0;
}

int units_size(struct str s, uint64_t *out_bytes)
{
  static const struct unit units[] = {
      {"", 1},           {"B", 1},           {"k", 1024},
      {"K", 1024},       {"KB", 1024},       {"KiB", 1024},
      {"M", 1048576},    {"MB", 1048576},    {"MiB", 1048576},
      {"G", 1073741824}, {"GB", 1073741824}, {"GiB", 1073741824},
      {NULL, 0}};
  double bytes;
  if (scaled(s, units, &bytes) < 0 || bytes < 0 || bytes > 9e15)
    return -1;
  *out_bytes = (uint64_t)bytes;
  return 0;
}

int units_number(struct str s, double *out)
{
  struct str rest;
  double x;
  s = str_trim(s);
  if (str_ieq(s, STR("inf")) || str_ieq(s, STR("infinity"))) {
    *out = INFINITY;
    return 0;
  }
  if (leading_number(s, &x, &rest) < 0 || rest.len)
    return -1;
  *out = x;
  return 0;
}

int units_integer(struct str s, int64_t *out)
{
  static const struct unit units[] = {{"", 1},    {"k", 1e3}, {"K", 1e3},
                                      {"M", 1e6}, {"G", 1e9}, {NULL, 0}};
  double x;
  if (scaled(s, units, &x) < 0 || x != floor(x) || fabs(x) > 0x1p53)
    return -1;
  *out = (int64_t)x;
  return 0;
}

int units_boolean(struct str s, bool *out)
{
  static const char *const yes[] = {"true", "yes", "on", "1"};
  static const char *const no[] = {"false", "no", "off", "0"};
  for (int i = 0; i < 4; i++) {
    if (str_ieq(s, str_of(yes[i]))) {
      *out = true;
      return 0;
    }
    if (str_ieq(s, str_of(no[i]))) {
      *out = false;
      return 0;
    }
  }
  return -1;
}

/* The unit is chosen as the number will be shown: never "1000 ms". */
const char *units_show_duration(uint64_t ns, char buf[32])
{
  uint64_t s = (ns + NS_PER_SEC / 2) / NS_PER_SEC;
  if (ns < 999500)
    snprintf(buf, 32, "%.0f us", (double)ns / 1e3);
  else if (ns < 999500000)
    snprintf(buf, 32, "%.0f ms", (double)ns / 1e6);
  else if (ns < 59995000000)
    snprintf(buf, 32, "%.4g s", (double)ns / 1e9);
  else if (s < 3600)
    snprintf(buf, 32, "%um %02us", (unsigned)(s / 60), (unsigned)(s % 60));
  else
    snprintf(buf, 32, "%lluh %02um", (unsigned long long)(s / 3600),
             (unsigned)(s / 60 % 60));
  return buf;
}

const char *units_show_count(double n, char buf[32])
{
  if (n < 999.95)
    snprintf(buf, 32, "%.4g", n);
  else if (n < 999950)
    snprintf(buf, 32, "%.1fk", n / 1e3);
  else
    snprintf(buf, 32, "%.2fM", n / 1e6);
  return buf;
}
