/* err.h -- what a user did wrong, all of it at once.
 * A checker adds a message per mistake and goes on; the caller prints them
 * together. A message says the place, what is wrong and what to do:
 *   "--request-rate abc: not a number; say for example 4 or 0.5" */
#ifndef STOKE_BASE_ERR_H
#define STOKE_BASE_ERR_H

#include "base/buf.h"

struct err {
  struct buf text; /* the messages, a line each, every one ends in '\n' */
  unsigned count;
};

/* Adds one message (no newline at its end). Returns -1, so that a function
 * can `return err_add(e, …)`. */
int err_add(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* All messages; "" when there are none. Valid until the next change. */
const char *err_text(struct err *e);
void err_free(struct err *e);

#endif
