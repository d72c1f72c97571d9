/* token_cache.h -- index blocks kept in the user's cache folder.
 * $XDG_CACHE_HOME/stoke or ~/.cache/stoke, one file for each tokenizer file,
 * named and checked by the hash of its content: a changed file is another
 * one. Whatever goes wrong here, the index is built anew. */
#ifndef STOKE_DATA_TOKEN_CACHE_H
#define STOKE_DATA_TOKEN_CACHE_H

#include "data/token_index.h"

/* Reads the block that was made from `source` and opens it. The block
 * (mem_free), or NULL when there is none that is whole. */
void *token_cache_load(struct token_index *x,
                       const struct token_source *source);
/* Keeps a block for the next time, if that can be done. */
void token_cache_save(const void *block, size_t size,
                      const struct token_source *source);

#endif
