/* token_trie.h -- the longest of many texts at a place of another. */
#ifndef STOKE_DATA_TOKEN_TRIE_H
#define STOKE_DATA_TOKEN_TRIE_H

#include <stdint.h>

#include "base/str.h"

struct token_trie_edge;

/* Zeroed it is empty and finds nothing. */
struct token_trie {
  uint32_t root[256]; /* child of each first byte, 0: none */
  struct token_trie_edge *edge;
  uint32_t edges, edge_mask;
  uint32_t *value; /* of each node, UINT32_MAX: none */
  uint32_t nodes, cap;
  int only; /* the first byte, when all texts share it; else -1 */
};

void token_trie_free(struct token_trie *t);
/* `text` is not empty. A text that is there already keeps its value. */
void token_trie_add(struct token_trie *t, struct str text, uint32_t value);
/* The longest text that `in` begins with, which ends at *end. */
bool token_trie_starts(const struct token_trie *t, struct str in, size_t *end,
                       uint32_t *value);
/* The first place at or behind `from` where texts begin, and the longest of
 * them there. False when there is none. */
bool token_trie_find(const struct token_trie *t, struct str in, size_t from,
                     size_t *start, size_t *end, uint32_t *value);

#endif
