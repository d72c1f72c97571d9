/* token_text.h -- texts of exactly so many tokens, made of a tokenizer's words.
 * Its words (tokenizer_words) that are one token at the start of a text too,
 * with a blank between any two: what a chat template trims or puts before
 * them changes none. Making a text takes some 10 ns a token; nothing is
 * tokenized for it. */
#ifndef STOKE_DATA_TOKEN_TEXT_H
#define STOKE_DATA_TOKEN_TEXT_H

#include "base/rng.h"
#include "data/tokenizer.h"

/* Immutable once made: any number of threads may draw from one. */
struct token_text {
  struct buf words; /* one after the other, each behind a blank */
  uint32_t *at;     /* n + 1 places in `words` */
  size_t n;         /* 0: this vocabulary has no such words */
};

void token_text_init(struct token_text *x, const struct tokenizer *t,
                     struct tokenizer_scratch *s);
void token_text_deinit(struct token_text *x);

/* Appends `n` tokens; with a blank before the first when `out` holds anything
 * already. Needs words. -1 when `out` would pass its ceiling. */
int token_text_draw(const struct token_text *x, struct rng *r, size_t n,
                    struct buf *out);
/* Does `text` count `n` tokens more than its first `start` bytes do? */
bool token_text_is(const struct tokenizer *t, struct tokenizer_scratch *s,
                   struct str text, size_t start, size_t n);
/* The same as token_text_draw, counted: `out` then has `n` tokens more than
 * before, or -1 is returned. A text that counts otherwise than its words
 * promise is cut and filled up until it does. */
int token_text_exact(const struct token_text *x, const struct tokenizer *t,
                     struct tokenizer_scratch *s, struct rng *r, size_t n,
                     struct buf *out);

#endif
