/* pretokenizer.h -- the "pre_tokenizer" of tokenizer.json: text into words.
 * A sequence of steps; every word of one is cut (and maybe changed) by the
 * next, depth first, so no list of words is ever held. */
#ifndef STOKE_DATA_PRETOKENIZER_H
#define STOKE_DATA_PRETOKENIZER_H

#include "base/json.h"
#include "data/byte_alphabet.h"
#include "data/regex.h"
#include "data/word_pattern.h"

enum split_kind {
  SPLIT_PATTERN, /* a well-known one */
  SPLIT_REGEX,
  SPLIT_TEXT,
  SPLIT_CHARACTER, /* `text` is one character */
  SPLIT_SPACE,
  SPLIT_NUMERIC,
  SPLIT_PUNCTUATION,
  SPLIT_FIXED,         /* every so many characters */
  CHANGE_PREFIX_SPACE, /* a blank before a word that has none */
  CHANGE_METASPACE,    /* blanks to `text`, one before as `prepend` says */
  CHANGE_LETTERS       /* bytes to letters of the byte alphabet */
};

/* What becomes of the matches, and of what is between them. */
enum split_behavior {
  SPLIT_REMOVED,
  SPLIT_ISOLATED,
  SPLIT_MERGED_WITH_PREVIOUS,
  SPLIT_MERGED_WITH_NEXT,
  SPLIT_CONTIGUOUS
};

enum metaspace_prepend {
  METASPACE_ALWAYS,
  METASPACE_FIRST, /* only at the front of the input */
  METASPACE_NEVER
};

struct split_step {
  enum split_kind kind;
  enum split_behavior behavior;
  bool invert;
  bool plain; /* every match is a word, and nothing is between them */
  enum word_pattern pattern;
  enum metaspace_prepend prepend;
  struct regex regex;
  struct buf text;
  size_t length; /* SPLIT_FIXED */
};

struct pretokenizer {
  const struct unicode *unicode; /* borrowed */
  struct word_classes classes;
  struct byte_alphabet alphabet;
  struct split_step *step;
  size_t n;
};

/* One for each thread; zeroed it is valid. */
struct pretokenizer_scratch {
  struct buf *changed; /* one a step */
  size_t n;
  struct regex_scratch regex;
};

/* Does this "pre_tokenizer" end by writing bytes as letters (ByteLevel)? It
 * is then run without that, and the words it makes are bytes. */
bool pretokenizer_makes_bytes(const json_value *v);

/* `v` is the "pre_tokenizer" value; NULL and null make one word of a text.
 * 0, or -1 with everything that is not supported in *e. pretokenizer_deinit
 * either way. */
int pretokenizer_init(struct pretokenizer *p, const json_value *v,
                      const struct unicode *u, const char *path, struct err *e);
void pretokenizer_deinit(struct pretokenizer *p);
void pretokenizer_scratch_free(struct pretokenizer_scratch *s);

/* Valid until the callback returns; never empty. */
typedef void pretokenizer_word_cb(struct str word, void *ud);

/* `head`: see normalizer_run. 0, or -1 when a pattern gave up. */
int pretokenizer_run(const struct pretokenizer *p,
                     struct pretokenizer_scratch *s, struct str text,
                     size_t head, pretokenizer_word_cb *cb, void *ud);

#endif
