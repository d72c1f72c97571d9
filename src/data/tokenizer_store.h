/* tokenizer_store.h -- the tokenizers of a run, each open once however many
 * VMs ask for it. What is handed out lives as long as the store; a lock is
 * held while one is looked for or opened. */
#ifndef STOKE_DATA_TOKENIZER_STORE_H
#define STOKE_DATA_TOKENIZER_STORE_H

#include "data/token_text.h"

struct tokenizer_store;

/* Immutable, but for `text`, which stored_tokenizer_text makes. */
struct stored_tokenizer;

struct tokenizer_store *tokenizer_store_new(void);
void tokenizer_store_free(struct tokenizer_store *s);
/* `path` is a real one. NULL with the reasons in *e. */
struct stored_tokenizer *tokenizer_store_open(struct tokenizer_store *s,
                                              const char *path, struct err *e);

const struct tokenizer *stored_tokenizer(const struct stored_tokenizer *k);
const char *stored_tokenizer_path(const struct stored_tokenizer *k);
/* Its words; whoever asks first waits some 100 ms. */
const struct token_text *stored_tokenizer_text(struct stored_tokenizer *k,
                                               struct tokenizer_scratch *s);

#endif
