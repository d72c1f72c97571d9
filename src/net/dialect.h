/* dialect.h -- the rules of a wire dialect, compiled.
 * Rules with a `when` go into a tree of their own together with all that
 * have none, so that reading an event never asks for its kind twice. Private
 * to the wire files. */
#ifndef STOKE_NET_DIALECT_H
#define STOKE_NET_DIALECT_H

#include "base/paths.h"
#include "net/wire.h"

/* Bits beyond those of enum wire_field, on the elements of arrays: what is
 * complete when one ends. */
#define DIALECT_TOOL_ENDS   (1u << 29)
#define DIALECT_TEXT_ENDS   (1u << 30)
#define DIALECT_CHOICE_ENDS (1u << 31)

struct dialect_kind {
  struct str when; /* owned; "" for every event that no other kind names */
  struct paths paths;
};

struct dialect_rules {
  struct dialect_kind *kinds; /* the first one is "" */
  size_t n_kinds;
  struct paths type; /* where WIRE_TYPE stands */
  bool has_payload;
  bool says_end; /* a member of every event says whether it is the last */
};

struct wire_dialect {
  struct dialect_rules stream, plain;
};

/* The places to look at in an event with this SSE name and JSON text. */
const struct paths *dialect_paths(const struct dialect_rules *r,
                                  struct str name, struct str data);
/* Is `data` an event that says false there: more will come? */
bool dialect_goes_on(const struct dialect_rules *r, struct str data);

#endif
