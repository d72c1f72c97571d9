/* merge.h -- one JSON object laid over another, as text.
 * Nothing is parsed into a tree, so numbers and escapes stay exactly as they
 * were written, and nothing but the output is allocated. */
#ifndef STOKE_SCRIPT_MERGE_H
#define STOKE_SCRIPT_MERGE_H

#include "base/buf.h"

/* Append `a` with the members of `b` laid over it: where both have an object
 * under a key these are merged, else b's value replaces a's (null too). a's
 * members keep their order, new ones follow in b's. Both must be valid JSON;
 * -1 when one is not an object (out is then unchanged). */
int merge_objects(struct buf *out, struct str a, struct str b);

#endif
