#include "data/utf8.h"

/* What may follow a lead byte: how many bytes, and the range of the first of
 * them (the others are 80..bf). */
static size_t lead_tail(unsigned char c, unsigned char *lo, unsigned char *hi)
{
  *lo = 0x80, *hi = 0xbf;
  if (c >= 0xc2 && c <= 0xdf)
    return 1;
  if (c >= 0xe0 && c <= 0xef) {
    if (c == 0xe0)
      *lo = 0xa0;
    if (c == 0xed)
      *hi = 0x9f;
    return 2;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    if (c == 0xf0)
      *lo = 0x90;
    if (c == 0xf4)
      *hi = 0x8f;
    return 3;
  }
  return 0;
}

/* The character at p (not ASCII): true when it is whole. *n is its length,
 * or that of the longest part that could have begun one (at least 1). */
static bool whole(const unsigned char *p, const unsigned char *end, size_t *n)
{
  unsigned char lo, hi;
  size_t tail = lead_tail(p[0], &lo, &hi);
  *n = 1;
  if (!tail)
    return false;
  while (*n <= tail) {
    if (p + *n >= end || p[*n] < lo || p[*n] > hi)
      return false;
    lo = 0x80, hi = 0xbf;
    ++*n;
  }
  return true;
}

static const unsigned char *skip_ascii(const unsigned char *p,
                                       const unsigned char *end)
{
  uint64_t word;
  while (end - p >= 8) {
    memcpy(&word, p, 8);
    if (word & UINT64_C(0x8080808080808080))
      break;
    p += 8;
  }
  while (p < end && *p < 0x80)
    p++;
  return p;
}

size_t utf8_valid(struct str s)
{
  const unsigned char *p = (const unsigned char *)s.p, *end;
  size_t n;
  if (!s.len)
    return 0;
  for (end = p + s.len; (p = skip_ascii(p, end)) < end; p += n)
    if (!whole(p, end, &n))
      break;
  return (size_t)((const char *)p - s.p);
}

void utf8_add_repaired(struct buf *out, struct str s)
{
  while (s.len) {
    size_t good = utf8_valid(s), bad;
    buf_add(out, s.p, good);
    s.p += good, s.len -= good;
    if (!s.len)
      return;
    whole((const unsigned char *)s.p, (const unsigned char *)s.p + s.len, &bad);
    buf_adds(out, "\xef\xbf\xbd");
    s.p += bad, s.len -= bad;
  }
}

struct str utf8_repair(struct str s, struct buf *room)
{
  if (utf8_valid(s) == s.len)
    return s;
  buf_reset(room);
  utf8_add_repaired(room, s);
  return buf_str(room);
}
