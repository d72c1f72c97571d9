/* scan.h -- the byte searches that every byte of a stream or a data file goes
 * through.
 * 16 bytes at a step with SSE2, byte by byte elsewhere; both forms are always
 * compiled where they can be, so that a test can hold them against each
 * other. Nothing outside [p, end) is ever read. Header only: the callers'
 * loops are a few nanoseconds long. */
#ifndef STOKE_BASE_SCAN_H
#define STOKE_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline bool scan_ends_line(char c)
{
  return c == '\n' || c == '\r';
}

/* What a JSON string cannot hold as it is. */
static inline bool scan_ends_plain(char c)
{
  return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

static inline const char *scan_line_bytes(const char *p, const char *end)
{
  while (p < end && !scan_ends_line(*p))
    p++;
  return p;
}

static inline const char *scan_plain_bytes(const char *p, const char *end)
{
  while (p < end && !scan_ends_plain(*p))
    p++;
  return p;
}

/* The first place in [p, end) where `a` stands before `b`, or end. */
static inline const char *scan_pair_bytes(const char *p, const char *end,
                                          char a, char b)
{
  for (; end - p >= 2; p++)
    if (p[0] == a && p[1] == b)
      return p;
  return end;
}

#if defined(__SSE2__)

static inline __m128i scan_load(const char *p)
{
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline unsigned scan_line_mask(const char *p)
{
  __m128i v = scan_load(p);
  __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\n')),
                             _mm_cmpeq_epi8(v, _mm_set1_epi8('\r')));
  return (unsigned)_mm_movemask_epi8(hit);
}

static inline unsigned scan_plain_mask(const char *p)
{
  __m128i v = scan_load(p), low = _mm_set1_epi8(0x1f);
  __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                             _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
  hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(v, low), v));
  return (unsigned)_mm_movemask_epi8(hit);
}

/* One step of the search: a match in the next 16 bytes, or NULL when there is
 * none or fewer bytes are left. */
static inline const char *scan_plain_step(const char *p, const char *end)
{
  unsigned mask = end - p >= 16 ? scan_plain_mask(p) : 0;
  return mask ? p + __builtin_ctz(mask) : NULL;
}

/* The last, incomplete step looks at the 16 bytes before `end` again: those
 * in front of p are known not to match. */
#define SCAN_SSE2(name, mask_of, bytes)                                        \
  static inline const char *name(const char *p, const char *end)               \
  {                                                                            \
    const char *start = p;                                                     \
    unsigned mask;                                                             \
    for (; end - p >= 16; p += 16)                                             \
      if ((mask = mask_of(p)))                                                 \
        return p + __builtin_ctz(mask);                                        \
    if (p == start)                                                            \
      return bytes(p, end);                                                    \
    mask = mask_of(end - 16);                                                  \
    return mask ? end - 16 + __builtin_ctz(mask) : end;                        \
  }

static inline const char *scan_pair(const char *p, const char *end, char a,
                                    char b)
{
  __m128i first = _mm_set1_epi8(a), second = _mm_set1_epi8(b);
  for (; end - p >= 17; p += 16) {
    __m128i hit = _mm_and_si128(_mm_cmpeq_epi8(scan_load(p), first),
                                _mm_cmpeq_epi8(scan_load(p + 1), second));
    unsigned mask = (unsigned)_mm_movemask_epi8(hit);
    if (mask)
      return p + __builtin_ctz(mask);
  }
  return scan_pair_bytes(p, end, a, b);
}

SCAN_SSE2(scan_line_sse2, scan_line_mask, scan_line_bytes)
SCAN_SSE2(scan_plain_sse2, scan_plain_mask, scan_plain_bytes)

#define scan_line  scan_line_sse2
#define scan_plain scan_plain_sse2

#else

/* The first CR or LF in [p, end), or end. */
#define scan_line  scan_line_bytes
/* The first quote, backslash or control character in [p, end), or end. */
#define scan_plain scan_plain_bytes
#define scan_pair  scan_pair_bytes

static inline const char *scan_plain_step(const char *p, const char *end)
{
  const char *at = end - p >= 16 ? scan_plain_bytes(p, p + 16) : p + 16;
  return at < p + 16 ? at : NULL;
}

#endif

#endif
