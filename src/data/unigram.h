/* unigram.h -- a word cut so that the scores of its pieces sum highest
 * (Kudo 2018), by Viterbi over all pieces of the vocabulary. */
#ifndef STOKE_DATA_UNIGRAM_H
#define STOKE_DATA_UNIGRAM_H

#include "base/err.h"
#include "base/json.h"
#include "data/token_index.h"
#include "data/token_list.h"

struct unigram {
  const struct token_index *index; /* borrowed */
  uint32_t unk;
  bool byte_fallback;
  double unk_score;
};

struct unigram_node {
  double score; /* of the best way to here */
  uint32_t id;  /* its last piece */
  uint32_t start;
};

/* One for each thread; zeroed it is valid. */
struct unigram_scratch {
  struct unigram_node *node;
  uint32_t *end; /* of the pieces, found from the back */
  size_t cap;
};

/* `model` is the "model" object of tokenizer.json. 0, or -1 with what is
 * wrong in *e. */
int unigram_init(struct unigram *u, const struct token_index *index,
                 const json_value *model, const char *path, struct err *e);
void unigram_scratch_free(struct unigram_scratch *s);

/* Appends the ids of a word. */
void unigram_encode(const struct unigram *u, struct unigram_scratch *s,
                    struct str word, struct token_list *out);

#endif
