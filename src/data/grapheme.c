#include "data/grapheme.h"

#include "data/utf8.h"

static bool control(enum grapheme_break b)
{
  return b == GRAPHEME_CR || b == GRAPHEME_LF || b == GRAPHEME_CONTROL;
}

/* GB6 to GB8. */
static bool hangul(enum grapheme_break a, enum grapheme_break b)
{
  switch (a) {
  case GRAPHEME_L:
    return b == GRAPHEME_L || b == GRAPHEME_V || b == GRAPHEME_LV ||
           b == GRAPHEME_LVT;
  case GRAPHEME_V:
  case GRAPHEME_LV: return b == GRAPHEME_V || b == GRAPHEME_T;
  case GRAPHEME_T:
  case GRAPHEME_LVT: return b == GRAPHEME_T;
  default: return false;
  }
}

const char *grapheme_end(const struct unicode *u, const char *p,
                         const char *end)
{
  uint32_t record = unicode_get(u, utf8_next(p, &p));
  enum grapheme_break last = unicode_break(record);
  /* GB11: has a pictograph been followed by nothing but extenders? */
  bool pictograph = record & UNICODE_PICTOGRAPHIC;
  bool flag = last == GRAPHEME_REGIONAL; /* GB12: the first of a pair */
  while (p < end) {
    const char *next;
    uint32_t here = unicode_get(u, utf8_next(p, &next));
    enum grapheme_break b = unicode_break(here);
    bool join;
    if (last == GRAPHEME_CR)
      join = b == GRAPHEME_LF;
    else if (control(last) || control(b))
      join = false;
    else
      join =
          hangul(last, b) || b == GRAPHEME_EXTEND || b == GRAPHEME_ZWJ ||
          b == GRAPHEME_SPACING || last == GRAPHEME_PREPEND ||
          (last == GRAPHEME_ZWJ && pictograph && here & UNICODE_PICTOGRAPHIC) ||
          (flag && b == GRAPHEME_REGIONAL);
    if (!join)
      break;
    flag = b == GRAPHEME_REGIONAL && !(flag && last == GRAPHEME_REGIONAL);
    if (here & UNICODE_PICTOGRAPHIC)
      pictograph = true;
    else if (b != GRAPHEME_EXTEND && b != GRAPHEME_ZWJ)
      pictograph = false;
    last = b;
    p = next;
  }
  return p;
}
