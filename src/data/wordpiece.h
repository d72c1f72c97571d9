/* wordpiece.h -- BERT's way: the longest piece first, then the longest one
 * that goes on with what is left; a word that cannot be cut so is unknown. */
#ifndef STOKE_DATA_WORDPIECE_H
#define STOKE_DATA_WORDPIECE_H

#include "base/err.h"
#include "base/json.h"
#include "data/token_index.h"
#include "data/token_list.h"

struct wordpiece {
  const struct token_index *index; /* borrowed */
  uint32_t unk;
  size_t max_chars; /* longer words are unknown */
  char *prefix;     /* of pieces that go on, "##" */
};

/* `model` is the "model" object of tokenizer.json. 0, or -1 with what is
 * wrong in *e. wordpiece_deinit either way. */
int wordpiece_init(struct wordpiece *w, const struct token_index *index,
                   const json_value *model, const char *path, struct err *e);
void wordpiece_deinit(struct wordpiece *w);

/* Appends the ids of a word. */
void wordpiece_encode(const struct wordpiece *w, struct str word,
                      struct token_list *out);

#endif
