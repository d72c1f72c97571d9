#include "data/flaws.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/scan.h"

static bool continues(unsigned char c)
{
  return (c & 0xc0) == 0x80;
}

/* Length of the sequence at p (RFC 3629), or 0. */
static size_t sequence(const unsigned char *p, size_t len)
{
  unsigned char c = p[0];
  if (c < 0x80)
    return 1;
  if (c >= 0xc2 && c <= 0xdf)
    return len >= 2 && continues(p[1]) ? 2 : 0;
  if (c >= 0xe0 && c <= 0xef) {
    unsigned char lo = c == 0xe0 ? 0xa0 : 0x80, hi = c == 0xed ? 0x9f : 0xbf;
    return len >= 3 && p[1] >= lo && p[1] <= hi && continues(p[2]) ? 3 : 0;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    unsigned char lo = c == 0xf0 ? 0x90 : 0x80, hi = c == 0xf4 ? 0x8f : 0xbf;
    return len >= 4 && p[1] >= lo && p[1] <= hi && continues(p[2]) &&
                   continues(p[3])
               ? 4
               : 0;
  }
  return 0;
}

/* How many bytes at p are ASCII; sixteen at a time. */
static size_t ascii_run(const char *p, size_t len)
{
  const uint64_t high = UINT64_C(0x8080808080808080);
  size_t i = 0;
  for (; i + 16 <= len; i += 16) {
    uint64_t x[2];
    memcpy(x, p + i, 16);
    if ((x[0] | x[1]) & high)
      break;
  }
  while (i < len && (unsigned char)p[i] < 0x80)
    i++;
  return i;
}

uint64_t flaws_bytes(struct str s)
{
  uint64_t n = 0;
  size_t i = 0;
  while (i < s.len) {
    size_t len;
    i += ascii_run(s.p + i, s.len - i);
    if (i == s.len)
      break;
    len = sequence((const unsigned char *)s.p + i, s.len - i);
    n += len == 0;
    i += len ? len : 1;
  }
  return n;
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
  size_t i = 0, plain = 0;
  while (i < s.len) {
    size_t len = s.p[i] == '\0'
                     ? 0
                     : sequence((const unsigned char *)s.p + i, s.len - i);
    if (len) {
      i += len;
      continue;
    }
    buf_add(out, s.p + plain, i - plain);
    buf_adds(out, "\xef\xbf\xbd");
    plain = ++i;
  }
  if (i > plain)
    buf_add(out, s.p + plain, i - plain);
}
