/* word_pattern.h -- the split patterns of well-known families, by hand.
 * The regular expressions that real tokenizers cut text with are few. Those
 * listed here are recognised by their exact text and matched by code that
 * does what a backtracking engine would find, at several times its speed.
 * A test holds each against PCRE2 on random text. */
#ifndef STOKE_DATA_WORD_PATTERN_H
#define STOKE_DATA_WORD_PATTERN_H

#include "base/str.h"
#include "data/unicode.h"

enum word_pattern {
  WORD_PATTERN_NONE,
  WORD_GPT2,       /* GPT-2, and ByteLevel with use_regex */
  WORD_CL100K,     /* GPT-4, Llama 3 */
  WORD_QWEN2,      /* the same with single digits */
  WORD_O200K,      /* GPT-4o, gpt-oss */
  WORD_TEKKEN,     /* Mistral: that without contractions, single digits */
  WORD_DEEPSEEK,   /* the last of DeepSeek V3's three */
  WORD_NUMBERS3,   /* \p{N}{1,3} */
  WORD_NUMBER,     /* \p{N} */
  WORD_CJK,        /* DeepSeek V3's ideographs and kana */
  WORD_WHITESPACE, /* \w+|[^\w\s]+, as the regex crate reads it */
  WORD_PATTERNS
};

/* What the matchers ask of a character, for each record of the table. */
struct word_classes {
  const struct unicode *unicode; /* borrowed */
  uint8_t of[UNICODE_RECORDS];
  uint8_t ascii[128];
};

void word_classes_init(struct word_classes *c, const struct unicode *u);

/* The pattern of this regular expression, or WORD_PATTERN_NONE. */
enum word_pattern word_pattern_find(struct str regex);
/* The regular expression of a pattern (the first, where two mean the same). */
const char *word_pattern_text(enum word_pattern w);
/* Does some match begin at every character? */
bool word_pattern_covers(enum word_pattern w);

/* The end of the match that begins at p, or NULL. `end` is the end of the
 * text, which is valid UTF-8; p < end. */
const char *word_pattern_match(enum word_pattern w,
                               const struct word_classes *c, const char *p,
                               const char *end);

#endif
