/* utf8.h -- code points in and out of UTF-8 (header only).
 * Decoding trusts its input: texts from outside go through utf8_repair first,
 * and everything behind it is valid. */
#ifndef STOKE_DATA_UTF8_H
#define STOKE_DATA_UTF8_H

#include <stdint.h>

#include "base/buf.h"

/* Length of the sequence that starts with this byte. */
static inline size_t utf8_size(unsigned char lead)
{
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* Inside of a sequence? */
static inline bool utf8_continues(unsigned char byte)
{
  return (byte & 0xc0) == 0x80;
}

/* The code point at p, valid UTF-8; *next is set behind it. */
static inline uint32_t utf8_next(const char *at, const char **next)
{
  const unsigned char *p = (const unsigned char *)at;
  uint32_t c = p[0];
  if (c < 0x80) {
    *next = at + 1;
    return c;
  }
  if (c < 0xe0) {
    *next = at + 2;
    return (c & 31) << 6 | (p[1] & 63);
  }
  if (c < 0xf0) {
    *next = at + 3;
    return (c & 15) << 12 | (uint32_t)(p[1] & 63) << 6 | (p[2] & 63);
  }
  *next = at + 4;
  return (c & 7) << 18 | (uint32_t)(p[1] & 63) << 12 |
         (uint32_t)(p[2] & 63) << 6 | (p[3] & 63);
}

/* Where the character before `p` starts; there must be one. */
static inline const char *utf8_back(const char *p)
{
  do
    p--;
  while (utf8_continues((unsigned char)*p));
  return p;
}

/* How many characters. */
static inline size_t utf8_count(struct str s)
{
  size_t n = 0;
  for (size_t i = 0; i < s.len; i++)
    n += !utf8_continues((unsigned char)s.p[i]);
  return n;
}

/* Writes at most 4 bytes; returns how many. */
static inline size_t utf8_put(char *out, uint32_t c)
{
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xc0 | c >> 6);
    out[1] = (char)(0x80 | (c & 63));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 63));
    out[2] = (char)(0x80 | (c & 63));
    return 3;
  }
  out[0] = (char)(0xf0 | c >> 18);
  out[1] = (char)(0x80 | (c >> 12 & 63));
  out[2] = (char)(0x80 | (c >> 6 & 63));
  out[3] = (char)(0x80 | (c & 63));
  return 4;
}

static inline void utf8_add(struct buf *out, uint32_t c)
{
  char bytes[4];
  buf_add(out, bytes, utf8_put(bytes, c));
}

/* Offset of the first byte that is not valid UTF-8 (RFC 3629), or s.len. */
size_t utf8_valid(struct str s);
/* `s` itself when it is valid; else a copy in `room` (emptied first), every
 * maximal ill-formed part replaced by one U+FFFD: what Rust's
 * from_utf8_lossy and a browser's TextDecoder make of it. */
struct str utf8_repair(struct str s, struct buf *room);
/* The same, appended. */
void utf8_add_repaired(struct buf *out, struct str s);

#endif
