#include "script/merge.h"

static struct str skip_blanks(struct str s)
{
  while (s.len && (*s.p == ' ' || *s.p == '\n' || *s.p == '\t' || *s.p == '\r'))
    s.p++, s.len--;
  return s;
}

/* Bytes of the string at s, quotes included. A quote ends it unless an odd
 * number of backslashes stands before it. */
static size_t string_length(struct str s)
{
  const char *end = s.p + s.len, *p = s.p + 1, *back;
  while (p < end && (p = memchr(p, '"', (size_t)(end - p)))) {
    for (back = p; back[-1] == '\\'; back--)
      continue;
    p++;
    if ((p - back) % 2)
      return (size_t)(p - s.p);
  }
  return s.len;
}

/* Bytes of the value at s. */
static size_t value_length(struct str s)
{
  size_t i = 0, depth = 0;
  while (i < s.len) {
    char c = s.p[i];
    if (c == '"') {
      i += string_length((struct str){s.p + i, s.len - i});
      if (depth == 0)
        break;
      continue;
    }
    if (c == '{' || c == '[')
      depth++;
    if (depth == 0 && (c == ',' || c == '}' || c == ']'))
      break;
    i++;
    if ((c == '}' || c == ']') && --depth == 0)
      break;
  }
  return i;
}

/* The next `"key": value` of what stands between the braces. The key keeps
 * its quotes. */
static bool next_member(struct str *rest, struct str *key, struct str *value)
{
  struct str s = skip_blanks(*rest);
  if (s.len && *s.p == ',')
    s = skip_blanks((struct str){s.p + 1, s.len - 1});
  if (!s.len || *s.p != '"')
    return false;
  *key = (struct str){s.p, string_length(s)};
  s = skip_blanks((struct str){s.p + key->len, s.len - key->len});
  if (!s.len || *s.p != ':')
    return false;
  s = skip_blanks((struct str){s.p + 1, s.len - 1});
  *value = (struct str){s.p, value_length(s)};
  *rest = (struct str){s.p + value->len, s.len - value->len};
  *value = str_trim(*value);
  return true;
}

/* The last member of that name, as parsers have it. */
static bool find_member(struct str members, struct str key, struct str *value)
{
  struct str k, v;
  bool found = false;
  while (next_member(&members, &k, &v)) {
    if (str_eq(k, key)) {
      *value = v;
      found = true;
    }
  }
  return found;
}

/* What stands between the braces; false when `s` is no object. */
static bool inside(struct str s, struct str *members)
{
  s = str_trim(s);
  if (s.len < 2 || s.p[0] != '{' || s.p[s.len - 1] != '}')
    return false;
  *members = (struct str){s.p + 1, s.len - 2};
  return true;
}

static void add_member(struct buf *out, bool *comma, struct str key)
{
  if (*comma)
    buf_addc(out, ',');
  *comma = true;
  buf_addstr(out, key);
  buf_addc(out, ':');
}

int merge_objects(struct buf *out, struct str a, struct str b)
{
  struct str key, value, over, rest, done;
  bool comma = false;
  if (!inside(a, &a) || !inside(b, &b))
    return -1;
  buf_addc(out, '{');
  for (rest = a; next_member(&rest, &key, &value);) {
    add_member(out, &comma, key);
    if (!find_member(b, key, &over))
      buf_addstr(out, value);
    else if (merge_objects(out, value, over) < 0)
      buf_addstr(out, over);
  }
  for (rest = b; next_member(&rest, &key, &value);) {
    /* Of a name that b has twice, the last counts. */
    if (find_member(a, key, &done) || find_member(rest, key, &done))
      continue;
    add_member(out, &comma, key);
    buf_addstr(out, value);
  }
  buf_addc(out, '}');
  return 0;
}
