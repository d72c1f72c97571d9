/* prefix.h -- a prefix cache in miniature.
 * Prompts are cut into blocks of 16 words; a block counts as cached when it
 * was seen before behind the same blocks. The table is direct-mapped: a new
 * block may push out an old one, as in a real cache that is full. */
#ifndef STOKE_MOCK_PREFIX_H
#define STOKE_MOCK_PREFIX_H

#include <stddef.h>
#include <stdint.h>

#include "mock/ask.h"

#define MOCK_PREFIX_WORDS 16

struct mock_prefix {
  uint64_t *blocks; /* hash of the prefix that ends with the block; 0: none */
  uint64_t mask;
};

/* Room for at least `blocks`; 0: never anything cached. */
void mock_prefix_init(struct mock_prefix *p, uint64_t blocks);
void mock_prefix_deinit(struct mock_prefix *p);
/* How many of the prompt's words are cached; its blocks are from now on. */
uint64_t mock_prefix_lookup(struct mock_prefix *p, const struct mock_ask *a);

#endif
