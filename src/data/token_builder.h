/* token_builder.h -- makes a token_index out of what a tokenizer file lists.
 * First all tokens, then token_builder_seal, then the merges, then
 * token_builder_finish. Texts are given as the file has them; for
 * TOKEN_BPE_BYTES the builder reads them as letters of the byte alphabet. */
#ifndef STOKE_DATA_TOKEN_BUILDER_H
#define STOKE_DATA_TOKEN_BUILDER_H

#include "data/byte_alphabet.h"
#include "data/token_index.h"

struct token_entry {
  uint32_t id, at, len;
  uint8_t flag;
};

struct token_builder {
  enum token_kind kind;
  struct byte_alphabet alphabet;
  struct buf bytes;          /* the keys as they came */
  struct token_entry *entry; /* one a token, as they came */
  uint32_t entries, entry_cap;
  double *score; /* as entry */
  struct token_merge *merge;
  uint32_t merges, merge_cap;
  struct buf scratch;
  /* From token_builder_seal on. */
  uint32_t n;
  uint32_t *offset;
  uint8_t *flag;
  char *keys;
  struct token_slot *slot;
  uint32_t slot_mask;
  uint32_t byte[256];
};

void token_builder_init(struct token_builder *b, enum token_kind kind);
void token_builder_free(struct token_builder *b);

/* A token as the file spells it. `score` matters to Unigram alone. */
void token_builder_add(struct token_builder *b, struct str text, uint32_t id,
                       double score);
/* A token of bytes, whatever they are (TOKEN_BPE_BYTES). */
void token_builder_add_bytes(struct token_builder *b, struct str bytes,
                             uint32_t id);

/* No more tokens. 0, or -1 when an id is out of reach or was given twice:
 * *culprit is that id then. */
int token_builder_seal(struct token_builder *b, uint32_t *culprit);
/* The id of a key, or TOKEN_NONE. */
uint32_t token_builder_find_key(const struct token_builder *b, struct str key,
                                bool raw);
/* The id of a text, or TOKEN_NONE. */
uint32_t token_builder_find(struct token_builder *b, struct str text);
/* A pair given twice keeps the later rank, as in the Rust tokenizers. */
void token_builder_merge(struct token_builder *b, uint32_t left, uint32_t right,
                         uint32_t rank, uint32_t id);

/* The block (mem_free). `fallback`: characters without a token become the
 * tokens of their bytes, so that a text may be cut at seams. */
void *token_builder_finish(struct token_builder *b, bool fallback,
                           struct str config, const struct token_source *source,
                           size_t *size);

#endif
