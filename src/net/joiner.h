/* joiner.h -- pieces of a JSON string, joined into plain text.
 * A server may cut a text anywhere, even between the two \u halves of one
 * character: the first half waits here for the second. A half that stays
 * alone becomes U+FFFD. */
#ifndef STOKE_NET_JOINER_H
#define STOKE_NET_JOINER_H

#include "base/buf.h"

struct joiner { /* zeroed: nothing waits */
  char high[6]; /* "\ud83d" as it came */
  bool waiting;
};

/* Append `piece` (the inside of a valid JSON string) to `out`, unescaped. */
void joiner_add(struct joiner *j, struct buf *out, struct str piece);
/* The text is over. */
void joiner_end(struct joiner *j, struct buf *out);

#endif
