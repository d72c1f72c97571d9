/* bpe.h -- byte-pair encoding of one word.
 * A word starts as its bytes (TOKEN_BPE_BYTES) or characters; then the pair
 * of neighbours with the lowest rank merges, the leftmost of equals first,
 * until none is left. */
#ifndef STOKE_DATA_BPE_H
#define STOKE_DATA_BPE_H

#include "base/err.h"
#include "base/json.h"
#include "data/token_index.h"
#include "data/token_list.h"

struct bpe {
  const struct token_index *index; /* borrowed */
  bool ignore_merges;              /* a word that is a token is that token */
  bool fuse_unk;      /* unknown neighbours are one unknown token */
  bool byte_fallback; /* an unknown character is the tokens of its bytes */
  uint32_t unk;       /* or TOKEN_NONE: what is unknown vanishes */
  char *prefix;       /* before every character but the first, or NULL */
  char *suffix;       /* behind the last, or NULL */
};

/* What encoding needs besides, one for each thread. Zeroed it is valid. */
struct bpe_scratch {
  uint32_t *id, *rank, *made, *next, *back;
  uint64_t *heap;
  size_t cap, heap_cap;
  struct buf text;
};

/* `model` is the "model" object of tokenizer.json. 0, or -1 with what is not
 * supported in *e. bpe_deinit either way. */
int bpe_init(struct bpe *b, const struct token_index *index,
             const json_value *model, const char *path, struct err *e);
void bpe_deinit(struct bpe *b);
void bpe_scratch_free(struct bpe_scratch *s);

/* Marks the tokens that their own text merges into (TOKEN_WHOLE), which
 * bpe_encode makes use of. Once, while the index is still the caller's own. */
void bpe_mark_whole(const struct bpe *b);

/* Appends the ids of a word. `whole`: it is not a part of one, so
 * ignore_merges applies. */
void bpe_encode(const struct bpe *b, struct bpe_scratch *s, struct str word,
                bool whole, struct token_list *out);

#endif
