/* tokenizer_limits.h -- how much of anything a tokenizer file may ask for.
 * Such files come from strangers. Each limit is many times what the largest
 * model's file has, and keeps what is done for a text, and what it takes in
 * memory, in proportion to the text. */
#ifndef STOKE_DATA_TOKENIZER_LIMITS_H
#define STOKE_DATA_TOKENIZER_LIMITS_H

#include "base/err.h"
#include "base/json.h"

enum {
  TOKENIZER_STEPS_MAX = 100,   /* of a Sequence and what is in it */
  TOKENIZER_AFFIX_MAX = 256,   /* bytes before or behind a part of a word */
  TOKENIZER_ADDED_MAX = 4096,  /* bytes of an added token, */
  TOKENIZER_PIECE_MAX = 4096,  /* and of a token that is looked for by trying */
  TOKENIZER_AROUND_MAX = 1024, /* tokens before or behind a text */
  TOKENIZER_PATTERN_SHOWN = 80 /* bytes of a pattern in a message */
};

/* What a text of `len` bytes may become on its way to tokens. */
static inline size_t tokenizer_room(size_t len)
{
  return ((size_t)16 << 20) + 16 * len;
}

/* And tokens of so many bytes on their way to a text: many are decoded one by
 * one, so that what each may take is little. */
static inline size_t tokenizer_decode_room(size_t len)
{
  return ((size_t)64 << 10) + 16 * len;
}

/* 0 when `v`, a step or a Sequence whose steps are its member `list`, has no
 * more steps than it may; else -1 and a message. */
int tokenizer_check_steps(const json_value *v, const char *list,
                          const char *part, const char *path, struct err *e);

#endif
