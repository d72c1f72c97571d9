#include "data/json_scan.h"

#include <stdlib.h>

#include "base/json.h"

void json_scan_init(struct json_scan *s, struct str text)
{
  static const char bom[] = "\xef\xbb\xbf";
  *s = (struct json_scan){.begin = text.p, .p = text.p};
  s->end = text.p + text.len;
  if (str_starts(text, str_of(bom)))
    s->p += 3;
}

int json_scan_fail(struct json_scan *s)
{
  s->bad = true;
  return -1;
}

char json_scan_peek(struct json_scan *s)
{
  if (s->bad)
    return '\0';
  while (s->p < s->end &&
         (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
    s->p++;
  return s->p < s->end ? *s->p : '\0';
}

bool json_scan_skip(struct json_scan *s, char c)
{
  if (json_scan_peek(s) != c || s->bad)
    return false;
  s->p++;
  return true;
}

bool json_scan_more(struct json_scan *s, char close, bool *first)
{
  if (json_scan_skip(s, close))
    return false;
  if (!*first && !json_scan_skip(s, ','))
    json_scan_fail(s);
  *first = false;
  return !s->bad;
}

/* The inside of a string, its closing quote passed. */
static int inside(struct json_scan *s, struct str *out, bool *escaped)
{
  const char *p = s->p;
  *escaped = false;
  while (p < s->end && *p != '"') {
    if (*p == '\\') {
      *escaped = true;
      p++;
    }
    p++;
  }
  if (p >= s->end)
    return json_scan_fail(s);
  *out = (struct str){s->p, (size_t)(p - s->p)};
  s->p = p + 1;
  return 0;
}

int json_scan_string(struct json_scan *s, struct buf *out)
{
  struct str text;
  bool escaped;
  if (!json_scan_skip(s, '"'))
    return json_scan_fail(s);
  if (inside(s, &text, &escaped) < 0)
    return -1;
  if (!escaped)
    buf_addstr(out, text);
  else if (json_unescape(out, text) < 0)
    return json_scan_fail(s);
  return 0;
}

int json_scan_key(struct json_scan *s, struct buf *out)
{
  if (json_scan_string(s, out) < 0)
    return -1;
  return json_scan_skip(s, ':') ? 0 : json_scan_fail(s);
}

int json_scan_u32(struct json_scan *s, uint32_t *out)
{
  uint64_t x = 0;
  const char *start;
  json_scan_peek(s);
  for (start = s->p; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
    if ((x = x * 10 + (uint64_t)(*s->p - '0')) > UINT32_MAX)
      return json_scan_fail(s);
  if (s->bad || s->p == start)
    return json_scan_fail(s);
  *out = (uint32_t)x;
  return 0;
}

int json_scan_double(struct json_scan *s, double *out)
{
  /* strtod wants an end, which the text of a file need not have. */
  char text[64], *stop;
  size_t n = 0;
  json_scan_peek(s);
  while (s->p + n < s->end && n < sizeof text - 1 && s->p[n] &&
         strchr("+-.0123456789eE", s->p[n]))
    n++;
  memcpy(text, s->p, n);
  text[n] = '\0';
  *out = strtod(text, &stop);
  if (s->bad || n == 0 || *stop)
    return json_scan_fail(s);
  s->p += n;
  return 0;
}

struct str json_scan_value(struct json_scan *s)
{
  struct str text;
  const char *start;
  bool escaped;
  size_t depth = 0;
  json_scan_peek(s);
  start = s->p;
  while (!s->bad && s->p < s->end) {
    char c = *s->p;
    if (depth == 0 && s->p > start && strchr(",]} \t\r\n", c))
      break;
    s->p++;
    if (c == '"')
      inside(s, &text, &escaped);
    else if (c == '{' || c == '[')
      depth++;
    else if ((c == '}' || c == ']') && depth-- == 0)
      json_scan_fail(s);
    if (depth == 0 && (c == '"' || c == '}' || c == ']'))
      break;
  }
  if (s->bad || depth || s->p == start) {
    json_scan_fail(s);
    return (struct str){NULL, 0};
  }
  return (struct str){start, (size_t)(s->p - start)};
}

size_t json_scan_line(const struct json_scan *s)
{
  size_t line = 1;
  for (const char *p = s->begin; p < s->p; p++)
    line += *p == '\n';
  return line;
}
