#include "data/csv.h"

/* Behind the closing quote of a field whose inside begins at p; NULL: none, or
 * the last byte is a quote that the next one may double. */
static const char *quoted_end(const char *p, const char *end, bool last)
{
  while ((p = memchr(p, '"', (size_t)(end - p)))) {
    if (p + 1 == end)
      return last ? end : NULL;
    if (p[1] != '"')
      return p + 1;
    p += 2;
  }
  return NULL;
}

static struct str without_cr(const char *p, const char *end)
{
  size_t len = (size_t)(end - p);
  return (struct str){p, len && p[len - 1] == '\r' ? len - 1 : len};
}

const char *csv_record(const char *p, const char *end, char separator,
                       bool last, struct str *record)
{
  const char *start = p;
  bool at_start = true;
  while (p < end) {
    if (at_start && *p == '"') {
      if (!(p = quoted_end(p + 1, end, last)))
        return NULL;
      at_start = false;
    } else if (*p == '\n') {
      *record = without_cr(start, p);
      return p + 1;
    } else {
      at_start = *p++ == separator;
    }
  }
  if (!last)
    return NULL;
  *record = without_cr(start, end);
  return end;
}

static void next_field(struct str *rest, size_t at)
{
  if (at < rest->len)
    *rest = (struct str){rest->p + at + 1, rest->len - at - 1};
  else
    *rest = (struct str){NULL, 0};
}

static int quoted_field(struct str *rest, char separator, struct buf *out)
{
  const char *p = rest->p + 1, *end = rest->p + rest->len, *quote;
  while ((quote = memchr(p, '"', (size_t)(end - p))) && quote + 1 < end &&
         quote[1] == '"') {
    buf_add(out, p, (size_t)(quote + 1 - p));
    p = quote + 2;
  }
  if (!quote || (quote + 1 < end && quote[1] != separator))
    return -1;
  buf_add(out, p, (size_t)(quote - p));
  next_field(rest, (size_t)(quote + 1 - rest->p));
  return 0;
}

int csv_field(struct str *rest, char separator, struct buf *out)
{
  const char *at;
  size_t len;
  if (rest->len && rest->p[0] == '"')
    return quoted_field(rest, separator, out);
  at = rest->len ? memchr(rest->p, separator, rest->len) : NULL;
  len = at ? (size_t)(at - rest->p) : rest->len;
  buf_add(out, rest->p, len);
  next_field(rest, len);
  return 0;
}
