/* kept.h -- an answer's text, kept as it comes and read when asked for.
 * Pieces are the insides of JSON strings. They are put behind each other as
 * they are, which costs a copy of a few bytes; escapes are undone when
 * somebody reads the text, in one go and once, and where there are none the
 * pieces are the text. */
#ifndef STOKE_NET_KEPT_H
#define STOKE_NET_KEPT_H

#include "net/joiner.h"

struct kept { /* zeroed: empty, without a ceiling (raw.max) */
  struct buf raw;
  size_t room;      /* in its memory, for less than that */
  struct buf plain; /* of raw[0 … read) when there is an escape in it */
  struct joiner joiner;
  size_t read;
  bool escaped;
};

void kept_grow(struct kept *k, struct str piece);

/* A token is a few bytes, and to call memcpy costs more than to copy them. */
static inline void kept_copy(char *to, const char *from, size_t n)
{
  if (n > 16) {
    memcpy(to, from, n);
  } else if (n >= 8) {
    memcpy(to, from, 8);
    memcpy(to + n - 8, from + n - 8, 8);
  } else if (n >= 4) {
    memcpy(to, from, 4);
    memcpy(to + n - 4, from + n - 4, 4);
  } else if (n) {
    to[0] = from[0];
    to[n / 2] = from[n / 2];
    to[n - 1] = from[n - 1];
  }
}

static inline void kept_add(struct kept *k, struct str piece)
{
  char *to;
  if (piece.len >= k->room) {
    kept_grow(k, piece);
    return;
  }
  to = k->raw.p + k->raw.len;
  k->raw.len += piece.len;
  k->room -= piece.len;
  kept_copy(to, piece.p, piece.len);
}

/* The text of the first `end` bytes of `raw`, where one piece ends and the
 * next begins. Half a character at the end is left out, or, when nothing
 * comes behind it (`over`), becomes U+FFFD. Valid until the next call. */
struct str kept_text(struct kept *k, size_t end, bool over);
/* Nothing came behind `end`. */
void kept_cut(struct kept *k, size_t end);
/* Empty for the next answer, with at most `max` bytes to come; memory is kept
 * unless it is more than `memory`. */
void kept_reset(struct kept *k, size_t max, size_t memory);
void kept_free(struct kept *k);

#endif
