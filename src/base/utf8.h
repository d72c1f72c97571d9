/* utf8.h -- characters of UTF-8, one at a time. */
#ifndef STOKE_BASE_UTF8_H
#define STOKE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the valid UTF-8 sequence at p (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF), or 0. */
static inline size_t utf8_length(const unsigned char *p, size_t len)
{
  unsigned char c = p[0];
  if (c < 0x80)
    return 1;
  if (c >= 0xc2 && c <= 0xdf)
    return len >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
  if (c >= 0xe0 && c <= 0xef) {
    unsigned char lo = c == 0xe0 ? 0xa0 : 0x80, hi = c == 0xed ? 0x9f : 0xbf;
    return len >= 3 && p[1] >= lo && p[1] <= hi && (p[2] & 0xc0) == 0x80 ? 3
                                                                         : 0;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    unsigned char lo = c == 0xf0 ? 0x90 : 0x80, hi = c == 0xf4 ? 0x8f : 0xbf;
    return len >= 4 && p[1] >= lo && p[1] <= hi && (p[2] & 0xc0) == 0x80 &&
                   (p[3] & 0xc0) == 0x80
               ? 4
               : 0;
  }
  return 0;
}

/* Is the valid sequence a control character, or one of those that turn the
 * direction of a text or break its lines? */
static inline bool utf8_disturbs(const unsigned char *p, size_t len)
{
  switch (len) {
  case 1: return p[0] < ' ' || p[0] == 0x7f;
  case 2: return p[0] == 0xc2 && p[1] < 0xa0; /* U+0080 to U+009F */
  case 3:
    return p[0] == 0xe2 &&
           ((p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f ||
                              (p[2] >= 0xa8 && p[2] <= 0xae))) ||
            (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
  default: return false;
  }
}

#endif
