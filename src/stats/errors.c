#include "stats/errors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Longest message that is kept. */
#define MESSAGE_BYTES 300
/* A word of this length with a digit in it is taken for an identifier. */
#define ID_LENGTH 8

void errors_deinit(struct errors *e)
{
  mem_free(e->groups);
  *e = (struct errors){0};
}

/* At most MESSAGE_BYTES of `from`, blanks and control characters squeezed to
 * one blank, never half of a UTF-8 character. */
static void squeeze(char *to, const char *from)
{
  size_t n = 0;
  for (; *from && n < MESSAGE_BYTES; from++) {
    unsigned char c = (unsigned char)*from;
    if (c > ' ' && c != 0x7f)
      to[n++] = *from;
    else if (n > 0 && to[n - 1] != ' ')
      to[n++] = ' ';
  }
  if (*from) {
    while (n > 0 && ((unsigned char)*from & 0xc0) == 0x80)
      from--, n--;
  }
  while (n > 0 && to[n - 1] == ' ')
    n--;
  to[n] = '\0';
}

static bool digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool word(char c)
{
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         c == '_' || c == '-';
}

static size_t word_length(const char *s, bool *has_digit)
{
  size_t n = 0;
  for (*has_digit = false; word(s[n]); n++)
    *has_digit = *has_digit || digit(s[n]);
  return n;
}

/* One word to `to`; returns where it ended. Numbers and identifiers become
 * '#', so that "port 8001" and "port 8002" agree. */
static char *normalise_word(char *to, const char *s, size_t n, bool has_digit)
{
  if (has_digit && n >= ID_LENGTH) {
    *to++ = '#';
    return to;
  }
  for (size_t i = 0; i < n; i++) {
    if (!digit(s[i]))
      *to++ = s[i];
    else if (i == 0 || !digit(s[i - 1]))
      *to++ = '#';
  }
  return to;
}

static void normalise(char *to, const char *s)
{
  while (*s) {
    bool has_digit;
    size_t n = word_length(s, &has_digit);
    if (n == 0) {
      *to++ = *s++;
      continue;
    }
    to = normalise_word(to, s, n, has_digit);
    s += n;
  }
  *to = '\0';
}

static struct error_group *find(const struct errors *e, enum outcome o,
                                int status, const char *key)
{
  for (size_t i = 0; i < e->len; i++) {
    struct error_group *g = &e->groups[i];
    if (g->outcome == o && g->status == status && strcmp(g->key, key) == 0)
      return g;
  }
  return NULL;
}

static struct error_group *append(struct errors *e, enum outcome o, int status)
{
  if (e->len == e->cap) {
    e->cap = e->cap ? e->cap * 2 : 4;
    e->groups = mem_resize(e->groups, e->cap, sizeof *e->groups);
  }
  e->groups[e->len] = (struct error_group){.outcome = o, .status = status};
  return &e->groups[e->len++];
}

static void join(struct errors *e, const struct error_group *from)
{
  struct error_group *g = find(e, from->outcome, from->status, from->key);
  if (!g && e->len < ERRORS_MAX) {
    g = append(e, from->outcome, from->status);
    memcpy(g->key, from->key, sizeof g->key);
  }
  /* Full: what is new is various. Outcomes times statuses bound these. */
  if (!g)
    g = find(e, from->outcome, from->status, "");
  if (!g)
    g = append(e, from->outcome, from->status);
  if (g->count == 0 || from->sample_id < g->sample_id) {
    g->sample_id = from->sample_id;
    memcpy(g->message, from->message, sizeof g->message);
  }
  g->count += from->count;
}

void errors_add(struct errors *e, enum outcome o, int status, uint64_t id,
                const char *message)
{
  struct error_group one = {
      .outcome = o, .status = status, .count = 1, .sample_id = id};
  squeeze(one.message, message ? message : "");
  /* In a script's error the number is the line: the place of the mistake. */
  if (o == OUTCOME_SCRIPT)
    memcpy(one.key, one.message, sizeof one.key);
  else
    normalise(one.key, one.message);
  join(e, &one);
}

void errors_merge(struct errors *into, const struct errors *from)
{
  for (size_t i = 0; i < from->len; i++)
    join(into, &from->groups[i]);
}

static int by_count(const void *pa, const void *pb)
{
  const struct error_group *a = pa, *b = pb;
  if (a->count != b->count)
    return a->count < b->count ? 1 : -1;
  if (a->outcome != b->outcome)
    return a->outcome < b->outcome ? -1 : 1;
  if (a->status != b->status)
    return a->status < b->status ? -1 : 1;
  return strcmp(a->key, b->key);
}

void errors_sort(struct errors *e)
{
  if (e->len)
    qsort(e->groups, e->len, sizeof *e->groups, by_count);
}
