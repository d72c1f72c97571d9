#include "net/joiner.h"

#include "base/json.h"

enum { UNIT = 6 }; /* \uXXXX */

/* \uD8xx to \uDBxx. */
static bool is_high(const char *p)
{
  return p[0] == '\\' && p[1] == 'u' && (p[2] | 0x20) == 'd' &&
         ((p[3] >= '8' && p[3] <= '9') ||
          ((p[3] | 0x20) >= 'a' && (p[3] | 0x20) <= 'b'));
}

/* \uDCxx to \uDFxx. */
static bool starts_low(struct str s)
{
  return s.len >= UNIT && s.p[0] == '\\' && s.p[1] == 'u' &&
         (s.p[2] | 0x20) == 'd' && (s.p[3] | 0x20) >= 'c' &&
         (s.p[3] | 0x20) <= 'f';
}

/* Is the backslash at s.p[at] an escape's first, not its second? */
static bool starts_escape(struct str s, size_t at)
{
  size_t before = 0;
  while (before < at && s.p[at - before - 1] == '\\')
    before++;
  return before % 2 == 0;
}

static bool ends_high(struct str s)
{
  return s.len >= UNIT && is_high(s.p + s.len - UNIT) &&
         starts_escape(s, s.len - UNIT);
}

void joiner_add(struct joiner *j, struct buf *out, struct str piece)
{
  if (piece.len == 0)
    return;
  if (j->waiting && starts_low(piece)) {
    char pair[2 * UNIT];
    memcpy(pair, j->high, UNIT);
    memcpy(pair + UNIT, piece.p, UNIT);
    json_unescape(out, (struct str){pair, sizeof pair});
    piece = (struct str){piece.p + UNIT, piece.len - UNIT};
    j->waiting = false;
  }
  joiner_end(j, out);
  if (ends_high(piece)) {
    piece.len -= UNIT;
    memcpy(j->high, piece.p + piece.len, UNIT);
    j->waiting = true;
  }
  json_unescape(out, piece);
}

void joiner_end(struct joiner *j, struct buf *out)
{
  if (j->waiting)
    buf_adds(out, "\xef\xbf\xbd");
  j->waiting = false;
}
