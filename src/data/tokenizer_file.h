/* tokenizer_file.h -- tokenizer files of both kinds, into a token_index block.
 * tokenizer.json (the Hugging Face library's) and tiktoken's ranks (lines of
 * base64 and a number). */
#ifndef STOKE_DATA_TOKENIZER_FILE_H
#define STOKE_DATA_TOKENIZER_FILE_H

#include "base/err.h"
#include "data/token_index.h"

/* Read the file's whole text. The block is the caller's (mem_free); NULL and
 * messages in *e that begin with `path` when the file is no tokenizer or has
 * something in its vocabulary that is not supported. */
void *tokenizer_file_read(const char *path, struct str text,
                          const struct token_source *source, size_t *size,
                          struct err *e);

/* The two kinds. */
void *tokenizer_json_read(const char *path, struct str text,
                          const struct token_source *source, size_t *size,
                          struct err *e);
void *tiktoken_read(const char *path, struct str text,
                    const struct token_source *source, size_t *size,
                    struct err *e);

#endif
