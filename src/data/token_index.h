/* token_index.h -- a vocabulary in one block of memory.
 * Everything a model looks up while it runs: the tokens' bytes, a hash table
 * over them, the merges of a BPE, the scores of a Unigram, and the rest of
 * tokenizer.json as text. The block is position-independent, so the same
 * bytes are built in memory (token_builder.h), written to the user's cache
 * and read from there (token_cache.h).
 *
 *   header | config | offsets | flags | slots | merges | bytes | scores
 *          | sorted | seams | keys
 *
 * A block from a file is not trusted: token_index_open refuses whatever could
 * lead a later look-up out of it or round in circles. */
#ifndef STOKE_DATA_TOKEN_INDEX_H
#define STOKE_DATA_TOKEN_INDEX_H

#include <stdint.h>

#include "base/str.h"
#include "data/token_hash.h"

#define TOKEN_NONE UINT32_MAX
/* Ids from here on are refused: nobody has that many tokens. */
#define TOKEN_ID_LIMIT (UINT32_C(1) << 24)

enum token_kind {
  TOKEN_BPE_BYTES, /* keys are bytes: byte-level BPE, tiktoken */
  TOKEN_BPE,       /* keys are UTF-8, as for the rest */
  TOKEN_UNIGRAM,
  TOKEN_WORDPIECE,
  TOKEN_KINDS
};

/* Flags of an id. */
#define TOKEN_PRESENT 1u
/* Of TOKEN_BPE_BYTES: the key is no bytes but text outside of the byte
 * alphabet, which no merge can make. */
#define TOKEN_RAW 2u
/* Of BPE: merging the key's own text ends in this very token. Most words of
 * most texts are such tokens, and then need no merging at all. */
#define TOKEN_WHOLE 4u

/* Open addressing, linear probing; id TOKEN_NONE ends a search. */
struct token_slot {
  uint32_t tag; /* upper half of the hash */
  uint32_t id;
};

struct token_merge {
  uint32_t left, right; /* left TOKEN_NONE: an empty slot */
  uint32_t rank;        /* the lowest merges first */
  uint32_t id;          /* what they become */
};

struct token_index {
  const void *block; /* the owner frees or unmaps it */
  size_t size;
  enum token_kind kind;
  uint32_t n;             /* all ids are below */
  uint32_t count;         /* how many of them are present */
  struct str config;      /* JSON: all of the file but vocabulary, merges */
  const uint32_t *offset; /* n + 1, into `keys` */
  const uint8_t *flag;    /* n */
  const char *keys;
  const struct token_slot *slot;
  uint32_t slot_mask;
  const struct token_merge *merge;
  uint32_t merge_mask;
  const uint32_t *byte;   /* 256: the token of a byte, or TOKEN_NONE. Keys are
                         * text: the one of "<0x41>" */
  const double *score;    /* n; Unigram only */
  const uint32_t *sorted; /* ids by key; Unigram and WordPiece only */
  uint32_t sorted_n;
  /* TOKEN_BPE: bit token_seam(a, b) is clear when no merge ever joins a token
   * that ends in code point a with one that begins with b. NULL: no such
   * promise can be made. */
  const uint64_t *seams;
};

#define TOKEN_SEAM_BITS 21

static inline uint32_t token_seam(uint32_t a, uint32_t b)
{
  return (uint32_t)(token_pair_hash(a, b) >> (64 - TOKEN_SEAM_BITS));
}

/* What a block says it was made from. */
struct token_source {
  uint64_t hash[2];
  uint64_t size;
};

/* Look at a block. 0, or -1 when it is none, was made from something else or
 * is damaged. The block is borrowed as long as the index is in use and must
 * be aligned to 8 bytes. */
int token_index_open(struct token_index *x, const void *block, size_t size,
                     const struct token_source *source);

/* The parts of a block to be. Absent ones have size 0. */
enum token_section {
  TOKEN_CONFIG,
  TOKEN_OFFSETS,
  TOKEN_FLAGS,
  TOKEN_SLOTS,
  TOKEN_MERGES,
  TOKEN_BYTES,
  TOKEN_SCORES,
  TOKEN_SORTED,
  TOKEN_SEAMS,
  TOKEN_KEYS,
  TOKEN_SECTIONS
};
/* Adds a flag to an id of a block that was just built: then
 * token_index_seal has to follow. */
void token_index_mark(const struct token_index *x, uint32_t id, uint8_t flag);
void token_index_seal(const struct token_index *x);

/* Joins parts; the block is the caller's (mem_free). */
void *token_index_build(enum token_kind kind, uint32_t n,
                        const struct str part[TOKEN_SECTIONS],
                        const struct token_source *source, size_t *size);

static inline struct str token_index_key(const struct token_index *x,
                                         uint32_t id)
{
  return (struct str){x->keys + x->offset[id],
                      x->offset[id + 1] - x->offset[id]};
}

static inline bool token_index_has(const struct token_index *x, uint32_t id)
{
  return id < x->n && x->flag[id] & TOKEN_PRESENT;
}

/* The id of this key, or TOKEN_NONE. */
static inline uint32_t token_index_find(const struct token_index *x,
                                        struct str key, bool raw)
{
  uint64_t h = token_hash(key.p, key.len);
  for (uint32_t at = (uint32_t)h & x->slot_mask;;
       at = (at + 1) & x->slot_mask) {
    struct token_slot s = x->slot[at];
    if (s.id == TOKEN_NONE)
      return TOKEN_NONE;
    if (s.tag == (uint32_t)(h >> 32) && str_eq(token_index_key(x, s.id), key) &&
        raw == !!(x->flag[s.id] & TOKEN_RAW))
      return s.id;
  }
}

/* How two neighbours merge, or NULL. */
static inline const struct token_merge *
token_index_merge(const struct token_index *x, uint32_t left, uint32_t right)
{
  uint32_t at = (uint32_t)token_pair_hash(left, right) & x->merge_mask;
  for (;; at = (at + 1) & x->merge_mask) {
    const struct token_merge *m = &x->merge[at];
    if (m->left == left && m->right == right)
      return m;
    if (m->left == TOKEN_NONE)
      return NULL;
  }
}

#endif
