#include "base/buf.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/utf8.h"

char *buf_reserve(struct buf *b, size_t len)
{
  size_t need = b->len + len, cap = b->cap ? b->cap : 64;
  assert(need >= len && need < SIZE_MAX / 2);
  if (b->toobig || (b->max && need > b->max)) {
    b->toobig = true;
    return NULL;
  }
  /* One byte more than asked, so that buf_cstr never has to move anything. */
  while (cap < need + 1)
    cap *= 2;
  if (cap != b->cap) {
    b->p = mem_resize(b->p, cap, 1);
    b->cap = cap;
  }
  return b->p + b->len;
}

void buf_add(struct buf *b, const void *p, size_t len)
{
  char *to;
  if (len && (to = buf_reserve(b, len))) {
    memcpy(to, p, len);
    b->len += len;
  }
}

void buf_addc(struct buf *b, char c)
{
  buf_add(b, &c, 1);
}

void buf_adds(struct buf *b, const char *s)
{
  buf_add(b, s, strlen(s));
}

void buf_addstr(struct buf *b, struct str s)
{
  buf_add(b, s.p, s.len);
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
  va_list again;
  int n;
  char *to;
  va_copy(again, ap);
  n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n > 0 && (to = buf_reserve(b, (size_t)n))) {
    vsnprintf(to, (size_t)n + 1, fmt, ap);
    b->len += (size_t)n;
  }
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  buf_vaddf(b, fmt, ap);
  va_end(ap);
}

void buf_shift(struct buf *b, size_t len)
{
  if (len == 0)
    return;
  b->len -= len;
  memmove(b->p, b->p + len, b->len);
}

struct str buf_str(const struct buf *b)
{
  return (struct str){b->p, b->len};
}

const char *buf_cstr(struct buf *b)
{
  if (!b->p)
    return "";
  b->p[b->len] = '\0';
  return b->p;
}

void buf_disarm(struct buf *b)
{
  size_t to = 0;
  for (size_t i = 0, n; i < b->len; i += n ? n : 1) {
    const unsigned char *c = (unsigned char *)b->p + i;
    n = utf8_length(c, b->len - i);
    if (n == 0 || (utf8_disturbs(c, n) && *c != '\n' && *c != '\t')) {
      b->p[to++] = '?';
    } else {
      memmove(b->p + to, c, n);
      to += n;
    }
  }
  b->len = to;
}

char *buf_take(struct buf *b)
{
  char *p = b->p ? b->p : mem_zalloc(1, 1);
  p[b->len] = '\0';
  *b = (struct buf){.max = b->max};
  return p;
}

void buf_reset(struct buf *b)
{
  b->len = 0;
  b->toobig = false;
}

void buf_recycle(struct buf *b, size_t keep)
{
  if (b->cap > keep)
    buf_free(b);
  buf_reset(b);
}

void buf_free(struct buf *b)
{
  mem_free(b->p);
  *b = (struct buf){.max = b->max};
}
