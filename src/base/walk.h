/* walk.h -- reads a JSON document once, without building anything.
 * It checks the whole grammar (RFC 8259; a document may be any value, the
 * nesting is at most WALK_MAX_DEPTH) and reports the values that stand at the
 * places of a `paths`, in the order in which they end. It doesn't check that
 * strings are valid UTF-8, and allocates nothing (but for a member whose name
 * is written with escapes). */
#ifndef STOKE_BASE_WALK_H
#define STOKE_BASE_WALK_H

#include "base/paths.h"

enum { WALK_MAX_DEPTH = 1000 }; /* as cJSON */

enum walk_type {
  WALK_NULL,
  WALK_FALSE,
  WALK_TRUE,
  WALK_NUMBER,
  WALK_STRING,
  WALK_ARRAY,
  WALK_OBJECT,
};

struct walk_value {
  enum walk_type type;
  struct str raw; /* a string: the inside, escapes as they are; else the
                   * value's whole text. Borrowed from the document. */
};

/* `tags` of the place. A member that a document repeats is reported each
 * time, an element each time that one ends. Nonzero: walk stops. */
typedef int walk_cb(uint32_t tags, const struct walk_value *v, void *ud);

/* 0; -1 when `text` isn't one JSON document (values in front of the trouble
 * were reported); or what the callback returned. */
int walk(const struct paths *root, struct str text, walk_cb *cb, void *ud);

/* The same for the first value in [p, end), which others may follow: the
 * place behind it, or NULL. A number that ends at `end` may be cut. The
 * callback has to return 0. */
const char *walk_value(const struct paths *root, const char *p, const char *end,
                       walk_cb *cb, void *ud);

/* The closing quote of the string whose inside starts at p, or NULL when
 * none comes before `end` or what is between isn't valid. */
const char *walk_string_end(const char *p, const char *end);

/* ---- what a value says ---- */

/* Python's truth: null, false, 0, "", [] and {} are false. */
bool walk_truthy(const struct walk_value *v);
/* A number as a whole one: fractions cut, ends clamped. */
int64_t walk_integer(const struct walk_value *v, int64_t otherwise);

#endif
