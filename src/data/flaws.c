#include "data/flaws.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/scan.h"
#include "data/utf8.h"

uint64_t flaws_bytes(struct str s)
{
  uint64_t n = 0;
  for (;;) {
    size_t good = utf8_valid(s);
    if (good == s.len)
      return n;
    n++;
    s = (struct str){s.p + good + 1, s.len - good - 1};
  }
}

/* The code unit of the \uXXXX at p, or -1. */
static int unit(const char *p, const char *end)
{
  char hex[5] = {0};
  if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
    return -1;
  memcpy(hex, p + 2, 4);
  for (int i = 0; i < 4; i++)
    if (!isxdigit((unsigned char)hex[i]))
      return -1;
  return (int)strtol(hex, NULL, 16);
}

static bool is_high(int u)
{
  return u >= 0xd800 && u < 0xdc00;
}

static bool is_low(int u)
{
  return u >= 0xdc00 && u < 0xe000;
}

/* The next lone one at or after *p, which moves behind it; or NULL. Most rows
 * have none, which is found out without looking at every escape. */
static const char *next_lone(const char **p, const char *end)
{
  const char *at = *p;
  while (at < end && (at = memchr(at, '\\', (size_t)(end - at)))) {
    int u = unit(at, end);
    if (is_high(u) && is_low(unit(at + 6, end))) {
      at += 12;
    } else if (is_high(u) || is_low(u)) {
      *p = at + 6;
      return at;
    } else {
      at += 2;
    }
  }
  return NULL;
}

static bool may_have_escapes(const char *p, size_t len)
{
  const char *end = p + len;
  while ((p = scan_pair(p, end, '\\', 'u')) < end) {
    if (end - p > 2 && (p[2] == 'd' || p[2] == 'D'))
      return true;
    p += 2;
  }
  return false;
}

uint64_t flaws_escapes(struct str json)
{
  const char *p = json.p, *end = json.p + json.len;
  uint64_t n = 0;
  if (!json.len || !may_have_escapes(p, json.len))
    return 0;
  while (next_lone(&p, end))
    n++;
  return n;
}

void flaws_mend_escapes(char *json, size_t len)
{
  const char *p = json, *at;
  if (!len || !may_have_escapes(json, len))
    return;
  while ((at = next_lone(&p, json + len)))
    memcpy(json + (at - json) + 2, "fffd", 4);
}

void flaws_clean(struct buf *out, struct str s)
{
  while (s.p) {
    utf8_add_repaired(out, str_split(&s, '\0'));
    if (s.p)
      buf_adds(out, "\xef\xbf\xbd");
  }
}
