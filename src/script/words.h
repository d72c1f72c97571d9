/* words.h -- common English words, for prompts of a wanted length.
 * Nearly all are one token in the tokenizers in use, so n words are a little
 * more than n tokens. The list is part of what a seed means: it only ever
 * changes with a note in the changelog. */
#ifndef STOKE_SCRIPT_WORDS_H
#define STOKE_SCRIPT_WORDS_H

#include <stddef.h>

extern const char *const words[];
extern const size_t words_count;

#endif
