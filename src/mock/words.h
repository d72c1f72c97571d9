/* words.h -- the text of tokens: the same seed says the same thing. */
#ifndef STOKE_MOCK_WORDS_H
#define STOKE_MOCK_WORDS_H

#include <stdint.h>

#include "base/buf.h"
#include "mock/plan.h"

/* Append token `k` of the text `seed` as the inside of a JSON string. Tokens
 * after the first of a text of words begin with a blank. */
void mock_words_token(struct buf *out, enum mock_text kind, uint64_t seed,
                      uint64_t k);
/* Append words of `bytes` bytes in all. */
void mock_words_fill(struct buf *out, uint64_t seed, uint64_t bytes);

#endif
