#include "base/str.h"

#include "base/mem.h"

static char lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool str_ieq(struct str a, struct str b)
{
  return a.len == b.len && str_istarts(a, b);
}

struct str str_without_bom(struct str s)
{
  struct str bom = STR("\xef\xbb\xbf");
  return str_starts(s, bom) ? str_from(s, bom.len) : s;
}

bool str_istarts(struct str s, struct str prefix)
{
  if (s.len < prefix.len)
    return false;
  for (size_t i = 0; i < prefix.len; i++)
    if (lower(s.p[i]) != lower(prefix.p[i]))
      return false;
  return true;
}

bool str_starts(struct str s, struct str prefix)
{
  return s.len >= prefix.len &&
         (prefix.len == 0 || memcmp(s.p, prefix.p, prefix.len) == 0);
}

bool str_ends(struct str s, struct str suffix)
{
  return s.len >= suffix.len &&
         (suffix.len == 0 ||
          memcmp(s.p + s.len - suffix.len, suffix.p, suffix.len) == 0);
}

static bool blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
  while (s.len && blank(s.p[0]))
    s.p++, s.len--;
  while (s.len && blank(s.p[s.len - 1]))
    s.len--;
  return s;
}

struct str str_split(struct str *s, char sep)
{
  struct str head = *s;
  const char *at = s->len ? memchr(s->p, sep, s->len) : NULL;
  if (!at) {
    *s = (struct str){NULL, 0};
    return head;
  }
  head.len = (size_t)(at - s->p);
  *s = (struct str){at + 1, s->len - head.len - 1};
  return head;
}

ptrdiff_t str_find(struct str s, struct str needle)
{
  const char *at;
  if (needle.len == 0)
    return 0;
  if (s.len < needle.len)
    return -1;
  at = memmem(s.p, s.len, needle.p, needle.len);
  return at ? at - s.p : -1;
}

size_t str_distance(struct str a, struct str b, size_t limit)
{
  /* Optimal string alignment: three rows of the usual table. */
  size_t width = b.len + 1, result;
  size_t *rows, *prev2, *prev, *cur;
  if (a.len > b.len + limit || b.len > a.len + limit)
    return limit + 1;
  rows = mem_zalloc(3 * width, sizeof *rows);
  prev2 = rows, prev = rows + width, cur = rows + 2 * width;
  for (size_t j = 0; j < width; j++)
    prev[j] = j;
  for (size_t i = 1; i <= a.len; i++) {
    size_t *spare = prev2;
    cur[0] = i;
    for (size_t j = 1; j < width; j++) {
      size_t best = prev[j - 1] + (a.p[i - 1] != b.p[j - 1]);
      if (prev[j] + 1 < best)
        best = prev[j] + 1;
      if (cur[j - 1] + 1 < best)
        best = cur[j - 1] + 1;
      if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] &&
          a.p[i - 2] == b.p[j - 1] && prev2[j - 2] + 1 < best)
        best = prev2[j - 2] + 1;
      cur[j] = best;
    }
    prev2 = prev, prev = cur, cur = spare;
  }
  result = prev[b.len];
  mem_free(rows);
  return result > limit ? limit + 1 : result;
}
