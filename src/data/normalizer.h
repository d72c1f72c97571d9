/* normalizer.h -- the "normalizer" of tokenizer.json: text before it is split.
 * A sequence of steps, nested ones laid flat. */
#ifndef STOKE_DATA_NORMALIZER_H
#define STOKE_DATA_NORMALIZER_H

#include "base/json.h"
#include "data/charsmap.h"
#include "data/normal_form.h"
#include "data/regex.h"

enum normal_kind {
  NORMAL_FORM,
  NORMAL_LOWERCASE,
  NORMAL_STRIP,
  NORMAL_STRIP_MARKS, /* StripAccents */
  NORMAL_NMT,
  NORMAL_PREPEND,
  NORMAL_REPLACE,       /* text */
  NORMAL_REPLACE_REGEX, /* a pattern */
  NORMAL_PRECOMPILED,
  NORMAL_BYTES,       /* ByteLevel */
  NORMAL_BERT_CLEAN,  /* BertNormalizer, its steps one by one */
  NORMAL_BERT_SPACE,  /* blanks around ideographs */
  NORMAL_BERT_ACCENTS /* behind NFD */
};

struct normal_step {
  enum normal_kind kind;
  enum normal_form form;
  bool left, right; /* Strip */
  struct buf from, to;
  struct regex regex;
  struct charsmap map;
};

struct normalizer {
  const struct unicode *unicode; /* borrowed */
  struct normal_step *step;
  size_t n;
};

/* One for each thread; zeroed it is valid. */
struct normalizer_scratch {
  struct buf buf[2];
  struct regex_scratch regex;
};

/* `v` is the "normalizer" value; NULL and null are no steps. 0, or -1 with
 * everything that is not supported in *e. normalizer_deinit either way. */
int normalizer_init(struct normalizer *n, const json_value *v,
                    const struct unicode *u, const char *path, struct err *e);
void normalizer_deinit(struct normalizer *n);
void normalizer_scratch_free(struct normalizer_scratch *s);

/* Normalizes *text: set to a text in the scratch (until the next run), or
 * left alone. *head is how many bytes at its front come from the first
 * character of the whole input: kept up to date. 0, or -1 when a pattern
 * gave up. */
int normalizer_run(const struct normalizer *n, struct normalizer_scratch *s,
                   struct str *text, size_t *head);

#endif
