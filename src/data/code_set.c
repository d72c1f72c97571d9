#include "data/code_set.h"

#include <stdlib.h>

#include "base/mem.h"

void code_set_free(struct code_set *s)
{
  mem_free(s->range);
  *s = (struct code_set){0};
}

void code_set_add(struct code_set *s, uint32_t first, uint32_t last)
{
  if (s->n == s->cap) {
    s->cap = s->cap * 2 + 16;
    s->range = mem_resize(s->range, s->cap, sizeof *s->range);
  }
  s->range[s->n++] = (struct code_range){first, last};
}

void code_set_add_set(struct code_set *s, const struct code_set *other)
{
  for (size_t i = 0; i < other->n; i++)
    code_set_add(s, other->range[i].first, other->range[i].last);
}

void code_set_add_records(struct code_set *s, uint32_t mask, uint32_t value)
{
  for (unsigned i = 0; i < UNICODE_RANGES; i++) {
    uint32_t first = unicode_range[i] >> 8;
    uint32_t next =
        i + 1 < UNICODE_RANGES ? unicode_range[i + 1] >> 8 : UNICODE_MAX;
    if ((unicode_record[unicode_range[i] & 255] & mask) == value)
      code_set_add(s, first, next - 1);
  }
}

static int by_first(const void *a, const void *b)
{
  const struct code_range *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

void code_set_settle(struct code_set *s)
{
  size_t kept = 0;
  if (s->n)
    qsort(s->range, s->n, sizeof *s->range, by_first);
  for (size_t i = 0; i < s->n; i++) {
    struct code_range r = s->range[i];
    if (kept && r.first <= s->range[kept - 1].last + 1) {
      if (r.last > s->range[kept - 1].last)
        s->range[kept - 1].last = r.last;
    } else {
      s->range[kept++] = r;
    }
  }
  s->n = kept;
}

void code_set_invert(struct code_set *s)
{
  struct code_set out = {0};
  uint32_t at = 0;
  code_set_settle(s);
  for (size_t i = 0; i < s->n; i++) {
    if (s->range[i].first > at)
      code_set_add(&out, at, s->range[i].first - 1);
    at = s->range[i].last + 1;
  }
  if (at < UNICODE_MAX)
    code_set_add(&out, at, UNICODE_MAX - 1);
  code_set_free(s);
  *s = out;
}

void code_set_intersect(struct code_set *s, const struct code_set *other)
{
  /* not (not a or not b) */
  struct code_set b = {0};
  code_set_add_set(&b, other);
  code_set_invert(&b);
  code_set_invert(s);
  code_set_add_set(s, &b);
  code_set_invert(s);
  code_set_free(&b);
}
