/* token_walk.h -- keys that begin a text, found byte by byte (header only).
 * The sorted ids are narrowed to those that go on with the next byte; the
 * first of what is left is the key itself when it has just that length. */
#ifndef STOKE_DATA_TOKEN_WALK_H
#define STOKE_DATA_TOKEN_WALK_H

#include "data/token_index.h"

struct token_walk {
  uint32_t lo, hi; /* of x->sorted */
  uint32_t depth;
};

static inline struct token_walk token_walk_start(const struct token_index *x)
{
  return (struct token_walk){0, x->sorted_n, 0};
}

/* The byte of the key in place i, as its length allows; -1 behind its end. */
static inline int token_walk_byte(const struct token_index *x, uint32_t i,
                                  uint32_t depth)
{
  struct str key = token_index_key(x, x->sorted[i]);
  return depth < key.len ? (unsigned char)key.p[depth] : -1;
}

/* The first place from lo on whose byte is at least `c`. */
static inline uint32_t token_walk_bound(const struct token_index *x,
                                        const struct token_walk *w, uint32_t lo,
                                        int c)
{
  uint32_t hi = w->hi;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (token_walk_byte(x, mid, w->depth) < c)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* One byte further. False when no key goes on like that. */
static inline bool token_walk_next(const struct token_index *x,
                                   struct token_walk *w, unsigned char c)
{
  w->lo = token_walk_bound(x, w, w->lo, c);
  w->hi = token_walk_bound(x, w, w->lo, c + 1);
  w->depth++;
  return w->lo < w->hi;
}

/* The id whose key is what was walked, or TOKEN_NONE. */
static inline uint32_t token_walk_id(const struct token_index *x,
                                     const struct token_walk *w)
{
  uint32_t id = x->sorted[w->lo];
  return token_index_key(x, id).len == w->depth ? id : TOKEN_NONE;
}

#endif
