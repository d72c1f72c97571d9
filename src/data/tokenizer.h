/* tokenizer.h -- text to tokens and back, as the model's own tokenizer does.
 * Reads tokenizer.json (BPE on bytes or characters, Unigram, WordPiece) and
 * tiktoken's ranks. The ids are those of the Rust library "tokenizers" 0.22,
 * to the last one; whatever a file asks for that cannot be met exactly makes
 * tokenizer_open fail, and it says what. Truncation and padding, which the
 * file may set, are not part of it: the caller has no use for them.
 *
 * A tokenizer is read-only once open: any number of threads may use one, each
 * with a scratch of its own. */
#ifndef STOKE_DATA_TOKENIZER_H
#define STOKE_DATA_TOKENIZER_H

#include "base/err.h"
#include "data/token_list.h"

struct tokenizer;
struct tokenizer_scratch;

/* `path` is a file, a folder with a tokenizer.json in it, or the name of a
 * model that the hub's cache has (hub.h). The vocabulary's
 * index is kept in the user's cache folder (token_cache.h): the first time
 * takes some 100 ms for 10 MB, later ones some 10 ms. NULL with every reason
 * in *e. Free with tokenizer_free. */
struct tokenizer *tokenizer_open(const char *path, struct err *e);
/* The same from the file's text, borrowed for the call; `name` begins the
 * messages. Nothing is cached. */
struct tokenizer *tokenizer_read(const char *name, struct str text,
                                 struct err *e);
void tokenizer_free(struct tokenizer *t);

/* What one thread needs to work with `t`: buffers, and a cache of the words
 * it met (2 MB). Free before the tokenizer. */
struct tokenizer_scratch *tokenizer_scratch_new(const struct tokenizer *t);
void tokenizer_scratch_free(struct tokenizer_scratch *s);

enum {
  /* encode, count: add what the post-processor adds (BOS and the like). */
  TOKENIZER_ADD_SPECIAL = 1,
  /* decode: leave special tokens out. */
  TOKENIZER_SKIP_SPECIAL = 2,
};

/* Appends the ids of `text`; ill-formed UTF-8 counts as U+FFFD. Special
 * tokens in the text are found. 0, or -1 when a pattern of the file gave up
 * on this text or it has 4 GiB or more (what was appended is then of no
 * use). */
int tokenizer_encode(const struct tokenizer *t, struct tokenizer_scratch *s,
                     struct str text, unsigned flags, struct token_list *out);
/* How many there are, nothing kept. */
int tokenizer_count(const struct tokenizer *t, struct tokenizer_scratch *s,
                    struct str text, unsigned flags, size_t *n);
/* Appends the text of ids, valid UTF-8 always. Ids that are no token are
 * passed over. 0, or -1 when a pattern gave up. */
int tokenizer_decode(const struct tokenizer *t, struct tokenizer_scratch *s,
                     const uint32_t *ids, size_t n, unsigned flags,
                     struct buf *out);

/* Every id is below this; not every number below it need be one. */
uint32_t tokenizer_vocab_size(const struct tokenizer *t);
/* What a token stands for: the bytes for byte-level vocabularies, else the
 * text as the vocabulary has it ("▁the"). {NULL, 0} when the id is none. */
struct str tokenizer_token(const struct tokenizer *t, uint32_t id);
bool tokenizer_is_special(const struct tokenizer *t, uint32_t id);

/* Appends the ids that may be strung together at will: blank and lower-case
 * letters, so that decoding any row of them and encoding the text gives the
 * same row again, and a text of exactly N tokens is N draws from them. Each
 * was tried with others; still, count a text before you promise its length.
 * Empty for vocabularies that know no blanks. */
void tokenizer_words(const struct tokenizer *t, struct tokenizer_scratch *s,
                     struct token_list *out);

#endif
