#include "data/normal_form.h"

#include <utf8proc.h>

#include "base/mem.h"
#include "data/utf8.h"

static uint32_t restless(enum normal_form form)
{
  static const uint32_t bits[] = {UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC,
                                  UNICODE_NFKD};
  return bits[form] | UNICODE_CCC;
}

/* The next stretch at or behind p that may change: *start up to *stop, both
 * `end` when there is none. It takes in the character before it, when what
 * follows may change that one. */
static void find(const struct unicode *u, enum normal_form form, const char *p,
                 const char *end, const char **start, const char **stop)
{
  uint32_t mask = restless(form);
  const char *base = NULL, *next;
  for (; p < end; p = next) {
    uint32_t record;
    if ((unsigned char)*p < 0x80) {
      base = p;
      next = p + 1;
      continue;
    }
    record = unicode_get(u, utf8_next(p, &next));
    if (record & mask)
      break;
    base = record & UNICODE_BASE ? p : NULL;
  }
  *start = p < end && base ? base : p;
  for (; p < end; p = next)
    if (!(unicode_get(u, utf8_next(p, &next)) & mask))
      break;
  *stop = p;
}

/* Appends the form of a stretch. */
static void compute(enum normal_form form, struct str in, struct buf *out)
{
  bool compose = form == NORMAL_NFC || form == NORMAL_NFKC;
  bool compat = form == NORMAL_NFKC || form == NORMAL_NFKD;
  utf8proc_option_t options = UTF8PROC_STABLE | (compat ? UTF8PROC_COMPAT : 0) |
                              (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
  utf8proc_int32_t room[64], *codes = room;
  utf8proc_ssize_t n =
      utf8proc_decompose((const utf8proc_uint8_t *)in.p,
                         (utf8proc_ssize_t)in.len, room, 64, options);
  if (n > 64) {
    codes = mem_alloc((size_t)n * sizeof *codes);
    n = utf8proc_decompose((const utf8proc_uint8_t *)in.p,
                           (utf8proc_ssize_t)in.len, codes, n, options);
  }
  n = utf8proc_normalize_utf32(codes, n, options);
  for (utf8proc_ssize_t i = 0; i < n; i++)
    utf8_add(out, (uint32_t)codes[i]);
  if (codes != room)
    mem_free(codes);
}

/* How far the first character reaches into what a stretch at the front
 * became: all that it makes alone, unless its marks changed it. */
static size_t head_of(enum normal_form form, struct str first, struct str made)
{
  struct buf alone = {0};
  size_t n = made.len ? utf8_size((unsigned char)made.p[0]) : 0;
  compute(form, first, &alone);
  if (str_starts(made, buf_str(&alone)))
    n = alone.len;
  buf_free(&alone);
  return n;
}

bool normal_form(const struct unicode *u, enum normal_form form, struct str in,
                 struct buf *out, size_t *head)
{
  const char *p = in.p, *end, *start, *stop;
  size_t before = out->len;
  if (!in.len)
    return false;
  end = in.p + in.len;
  find(u, form, p, end, &start, &stop);
  if (start == end)
    return false;
  for (; start < end; find(u, form, p, end, &start, &stop)) {
    buf_add(out, p, (size_t)(start - p));
    compute(form, (struct str){start, (size_t)(stop - start)}, out);
    if (start == in.p && *head)
      *head = head_of(form, (struct str){in.p, *head},
                      (struct str){out->p + before, out->len - before});
    p = stop;
  }
  buf_add(out, p, (size_t)(end - p));
  return true;
}

const char *normal_form_version(void)
{
  return utf8proc_version();
}
