/* regex.h -- the regular expressions of tokenizer files, over PCRE2.
 * They are written for Oniguruma (its Ruby syntax), which differs from PCRE2
 * in what \s, \h or {1,3}+ mean and in its Unicode version. So a pattern is
 * translated first, construct by construct; one that has no exact counterpart
 * is refused, by name. */
#ifndef STOKE_DATA_REGEX_H
#define STOKE_DATA_REGEX_H

#include "base/err.h"
#include "data/unicode.h"

struct regex {
  struct pcre2_real_code_8 *code;
};

/* One for each thread; zeroed it is valid. */
struct regex_scratch {
  struct pcre2_real_match_data_8 *match;
  struct pcre2_real_match_context_8 *context;
  struct pcre2_real_jit_stack_8 *stack;
};

/* Compiles. `place` begins the messages in *e. 0 or -1. regex_deinit either
 * way. */
int regex_init(struct regex *r, struct str pattern, const char *place,
               struct err *e);
void regex_deinit(struct regex *r);
void regex_scratch_free(struct regex_scratch *s);

/* The first match in `text` (valid UTF-8) at or behind `from`. 1 when there
 * is one, 0 when there is none, -1 when the engine gave up. */
int regex_find(const struct regex *r, struct regex_scratch *s, struct str text,
               size_t from, size_t *start, size_t *end);

/* A walk over all matches, as Oniguruma's find_iter does it: an empty match
 * right behind the one before does not count. */
struct regex_walk {
  size_t from, last_end;
  bool any;
};
int regex_next(const struct regex *r, struct regex_scratch *s, struct str text,
               struct regex_walk *w, size_t *start, size_t *end);

/* "10.42 2022-12-11", in `out`, which is returned. */
const char *regex_version(char out[64]);

/* The translation alone: appends PCRE2's spelling to `out`. 0 or -1. */
int regex_translate(struct buf *out, struct str pattern, const char *place,
                    struct err *e);

#endif
