/* place.h -- where in a nest of tables a walker is, to name it in an error:
 * "request.messages[3].content". Keeps no text until an error asks for it. */
#ifndef STOKE_SCRIPT_PLACE_H
#define STOKE_SCRIPT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct vm;

enum { PLACE_MAX = 64 }; /* nesting that walkers follow */

struct place {
  const char *name; /* of the outermost value */
  char *why;        /* 256 bytes, for the error */
  size_t depth;
  struct {
    const char *key; /* NULL: `index` */
    double index;
  } steps[PLACE_MAX];
};

/* Step into a table; the key stays borrowed until place_leave. At most
 * PLACE_MAX deep. */
void place_key(struct place *p, const char *key);
void place_index(struct place *p, double index);
void place_leave(struct place *p);
/* A small table that holds another one many times, and so on, writes without
 * end: true, and an error, when `out` is larger than scripts may be. */
bool place_overflows(struct place *p, const struct vm *vm,
                     const struct buf *out);
/* Writes "<place> <words>" to p->why; returns -1. */
int place_error(struct place *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
