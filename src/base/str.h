/* str.h -- borrowed bytes, passed by value.
 * A str never owns anything; whoever hands one out says how long it lives.
 * Not NUL-terminated unless stated. {NULL, 0} is a valid empty value. */
#ifndef STOKE_BASE_STR_H
#define STOKE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
  const char *p;
  size_t len;
};

/* A string literal as a str. */
#define STR(lit) ((struct str){"" lit, sizeof(lit) - 1})
/* For printf: "%.*s", STR_ARG(s). */
#define STR_ARG(s) (int)(s).len, (s).p ? (s).p : ""

static inline struct str str_of(const char *s)
{
  return (struct str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
  return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* ASCII letters compared without case. */
bool str_ieq(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_istarts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Without ASCII blanks, tabs, CR and LF at both ends. */
struct str str_trim(struct str s);
/* The part before the first `sep`, which *s then starts after; when there is
 * no `sep`, all of *s, which becomes empty with p == NULL. */
struct str str_split(struct str *s, char sep);
/* Without its first `n` bytes, which it must have. */
static inline struct str str_from(struct str s, size_t n)
{
  return (struct str){s.p + n, s.len - n};
}

/* Without UTF-8's byte order mark in front. */
struct str str_without_bom(struct str s);
/* Offset of `needle`, or -1. */
ptrdiff_t str_find(struct str s, struct str needle);
/* Edits (insert, delete, replace, swap of neighbours) between a and b;
 * anything over `limit` is reported as limit + 1. For "did you mean". */
size_t str_distance(struct str a, struct str b, size_t limit);

#endif
