/* buf.h -- owned, growing bytes with a ceiling.
 * A zeroed buf is a valid empty one without a ceiling. Once a write would
 * pass `max` (0: none) nothing more is added and `toobig` stays set, so a
 * writer may check once at its end. */
#ifndef STOKE_BASE_BUF_H
#define STOKE_BASE_BUF_H

#include <stdarg.h>

#include "base/str.h"

struct buf {
  char *p; /* not NUL-terminated; see buf_cstr */
  size_t len, cap, max;
  bool toobig;
};

void buf_add(struct buf *b, const void *p, size_t len);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, const char *s);
void buf_addstr(struct buf *b, struct str s);
void buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap);
/* Room for `len` more bytes, or NULL when that would pass `max`. The caller
 * writes there and adds what it wrote to b->len. */
char *buf_reserve(struct buf *b, size_t len);
/* Drop the first `len` bytes. */
void buf_shift(struct buf *b, size_t len);
struct str buf_str(const struct buf *b);
/* The bytes with a NUL behind them; valid until the next change. */
const char *buf_cstr(struct buf *b);
/* Put a ? for every control character but tabs and the ends of lines, for marks
 * that turn a text's direction, and for what is no UTF-8: for what a terminal
 * shows and others than we have said. */
void buf_disarm(struct buf *b);
/* Hand the bytes (NUL-terminated) to the caller; the buf is empty after. */
char *buf_take(struct buf *b);
/* Empty, memory kept. */
void buf_reset(struct buf *b);
/* Empty for its next user: memory kept, unless it is more than `keep`. */
void buf_recycle(struct buf *b, size_t keep);
void buf_free(struct buf *b);

#endif
