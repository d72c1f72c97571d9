/* added_tokens.h -- the "added_tokens" of tokenizer.json.
 * Texts that become one token wherever they stand, before the rest is split:
 * those that are not `normalized` are looked for in the text as it comes, the
 * others, normalized themselves, in the normalized text. */
#ifndef STOKE_DATA_ADDED_TOKENS_H
#define STOKE_DATA_ADDED_TOKENS_H

#include "data/normalizer.h"
#include "data/token_index.h"
#include "data/token_trie.h"

struct added_token {
  char *text;
  uint32_t id;
  bool single_word, lstrip, rstrip, normalized, special;
};

struct added_tokens {
  const struct unicode *unicode; /* borrowed */
  struct added_token *token;
  size_t n;
  uint32_t end; /* all ids are below */
  uint32_t *of; /* of[id] - 1 is the place in `token`; 0: not added */
  struct token_trie raw, normalized; /* values are ids */
};

/* `v` is the "added_tokens" value. As in the Rust tokenizers, a text that is
 * in the vocabulary has that id and the others are numbered behind it,
 * whatever the file says, unless `as_numbered`. 0, or -1 with what is wrong
 * in *e. added_tokens_deinit either way. */
int added_tokens_init(struct added_tokens *a, const json_value *v,
                      const struct token_index *index,
                      const struct normalizer *n, bool as_numbered,
                      const char *path, struct err *e);
void added_tokens_deinit(struct added_tokens *a);

/* The added token with this id, or NULL. */
static inline const struct added_token *
added_tokens_get(const struct added_tokens *a, uint32_t id)
{
  return id < a->end && a->of[id] ? &a->token[a->of[id] - 1] : NULL;
}

/* A walk through a text: parts without an added token, and added tokens. */
struct added_walk {
  const struct added_tokens *tokens;
  const struct token_trie *trie;
  struct str text;
  size_t done;    /* handed out up to here */
  size_t from;    /* where to look on */
  size_t pending; /* end of a token whose text part goes first */
  uint32_t pending_id;
};

void added_walk_init(struct added_walk *w, const struct added_tokens *a,
                     const struct token_trie *trie, struct str text);
/* The next part: true, with *id TOKEN_NONE and a text, or an id. */
bool added_walk_next(struct added_walk *w, struct str *text, uint32_t *id);

#endif
