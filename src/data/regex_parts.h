/* regex_parts.h -- what the translation of a pattern is made of: the text as
 * it is read, its escapes, its classes. For regex_*.c alone. */
#ifndef STOKE_DATA_REGEX_PARTS_H
#define STOKE_DATA_REGEX_PARTS_H

#include "base/err.h"
#include "data/code_set.h"
#include "data/tokenizer_limits.h"
#include "data/utf8.h"

/* A pattern (valid UTF-8) being read. */
struct regex_source {
  const char *p, *end;
  struct str pattern;
  const char *place; /* for messages */
  struct err *e;
};

static inline bool regex_more(const struct regex_source *s)
{
  return s->p < s->end;
}

/* The byte i places on, or NUL. */
static inline char regex_at(const struct regex_source *s, size_t i)
{
  return (size_t)(s->end - s->p) > i ? s->p[i] : '\0';
}

/* What a message shows of a pattern. */
static inline struct str regex_shown(struct str pattern)
{
  size_t n = 0;
  while (n < pattern.len && n < TOKENIZER_PATTERN_SHOWN)
    n += utf8_size((unsigned char)pattern.p[n]);
  return (struct str){pattern.p, n < pattern.len ? n : pattern.len};
}

/* Says that `what` is not supported; returns -1. */
int regex_unsupported(struct regex_source *s, const char *what);

/* A property is a set of categories, a script, or what a bit says. */
struct regex_property {
  uint32_t categories; /* bit 1 << UNICODE_… */
  uint32_t bit;        /* of the record, instead */
  const struct unicode_script *script;
  char name[8]; /* PCRE2's, for categories */
};

/* Its code points. */
void regex_property_set(const struct regex_property *p, struct code_set *set);

enum regex_escape {
  REGEX_ESCAPE_LITERAL,  /* a code point */
  REGEX_ESCAPE_PROPERTY, /* a set of them */
  REGEX_ESCAPE_OTHER,    /* *code is the letter, for the caller to know */
};

/* Reads what is behind a backslash. 0 or -1. */
int regex_escape(struct regex_source *s, enum regex_escape *kind,
                 uint32_t *code, struct regex_property *p, bool *negated);

void regex_put_code(struct buf *out, uint32_t c);
/* What goes between the brackets of a class. */
void regex_put_set(struct buf *out, const struct code_set *set);
void regex_put_property(struct buf *out, const struct regex_property *p);

/* Reads a class behind its opening bracket, and writes it, brackets and all.
 * 0 or -1. */
int regex_class(struct regex_source *s, struct buf *out);
/* A set as a class; the empty one matches nothing. */
void regex_put_class(struct buf *out, const struct code_set *set);

#endif
