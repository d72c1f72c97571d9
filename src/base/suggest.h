/* suggest.h -- "did you mean …?" for names that people mistype. */
#ifndef STOKE_BASE_SUGGEST_H
#define STOKE_BASE_SUGGEST_H

#include "base/buf.h"

/* The closest of some candidates, best first. Start from zero. */
struct suggest {
  struct str typed;
  struct suggestion {
    struct str name;
    size_t distance;
  } best[3];
  size_t n;
};

/* `name` is borrowed until the suggest is done with. */
void suggest_consider(struct suggest *s, struct str name);
/* "; did you mean --a or --b?" with `prefix` before each name, or nothing
 * when none comes near. */
void suggest_print(const struct suggest *s, const char *prefix,
                   struct buf *out);

#endif
