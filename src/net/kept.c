#include "net/kept.h"

static void measure(struct kept *k)
{
  size_t all = k->raw.cap;
  if (k->raw.max && k->raw.max < all)
    all = k->raw.max;
  k->room = k->raw.toobig ? 0 : all - k->raw.len;
}

void kept_grow(struct kept *k, struct str piece)
{
  buf_add(&k->raw, piece.p, piece.len);
  measure(k);
}

static void forget(struct kept *k)
{
  buf_reset(&k->plain);
  k->joiner = (struct joiner){.waiting = false};
  k->read = 0;
  k->escaped = false;
}

struct str kept_text(struct kept *k, size_t end, bool over)
{
  struct str rest;
  if (end < k->read)
    forget(k);
  rest = (struct str){k->raw.p ? k->raw.p + k->read : "", end - k->read};
  if (!k->escaped && memchr(rest.p, '\\', rest.len)) {
    k->escaped = true;
    buf_add(&k->plain, k->raw.p, k->read);
  }
  k->read = end;
  if (!k->escaped)
    return (struct str){k->raw.p, end};
  joiner_add(&k->joiner, &k->plain, rest);
  if (over)
    joiner_end(&k->joiner, &k->plain);
  return buf_str(&k->plain);
}

void kept_cut(struct kept *k, size_t end)
{
  k->raw.len = end;
  measure(k);
  forget(k);
}

void kept_reset(struct kept *k, size_t max, size_t memory)
{
  buf_recycle(&k->raw, memory);
  buf_recycle(&k->plain, memory);
  k->raw.max = max;
  measure(k);
  forget(k);
}

void kept_free(struct kept *k)
{
  buf_free(&k->raw);
  buf_free(&k->plain);
}
