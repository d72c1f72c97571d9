#include "net/wire_int.h"

/* Events of a stream differ in their text and, as a rule, in nothing else:
 * id, model and time are the answer's own. If the bytes up to the text's
 * opening quote are those of an event that the walker has read, they mean the
 * same; if a whole JSON string follows and then, up to the end, the bytes
 * that followed there, so does the rest. That is no guess: it is the same
 * document but for the inside of one string, so the walker would report the
 * same places. The same holds for one more value, a string or a number that
 * the walker did not report: the time of each event, or padding. Everything
 * else goes to the walker. */

enum {
  SHAPE_MAX = 4096, /* longer events aren't worth the copy */
  TRIES_MAX = 8     /* events that differ in more than one value besides */
};

/* ---- matching ---- */

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Behind the inside of a value like the hole's, or NULL. */
static const char *value_end(const struct wire_shape *s, const char *p,
                             const char *end)
{
  const char *q = p;
  if (s->hole_is_string)
    return walk_string_end(p, end);
  while (q < end && is_digit(*q))
    q++;
  return q > p && (*p != '0' || q - p == 1) ? q : NULL;
}

/* The bytes [from, to) of the shape, which may have the hole in them, stand at
 * p: the place behind them, or NULL. */
static const char *piece(const struct wire_shape *s, size_t from, size_t to,
                         const char *p, const char *end)
{
  const char *bytes = s->bytes.p;
  if (s->hole > from && s->hole < to) {
    size_t n = s->hole - from;
    if ((size_t)(end - p) < n || memcmp(p, bytes + from, n) != 0 ||
        !(p = value_end(s, p + n, end)))
      return NULL;
    from = s->hole + s->hole_len;
  }
  if ((size_t)(end - p) < to - from || memcmp(p, bytes + from, to - from) != 0)
    return NULL;
  return p + (to - from);
}

bool wire_shape_match(const struct wire_shape *s, const struct paths *paths,
                      struct str data, struct str *text)
{
  const char *end = data.p + data.len, *inside, *quote;
  if (s->prefix == 0 || paths != s->paths)
    return false;
  inside = piece(s, 0, s->prefix, data.p, end);
  if (!inside)
    return false;
  quote = walk_string_end(inside, end);
  if (!quote || quote == inside ||
      piece(s, s->prefix, s->prefix + s->suffix, quote, end) != end)
    return false;
  *text = (struct str){inside, (size_t)(quote - inside)};
  return true;
}

/* ---- learning ---- */

static size_t common(const char *a, size_t a_len, const char *b, size_t b_len)
{
  size_t n = a_len < b_len ? a_len : b_len, i = 0;
  while (i < n && a[i] == b[i])
    i++;
  return i;
}

static bool is_number_part(char c)
{
  return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' ||
         c == 'E';
}

/* A member's name? `p` is behind a string. */
static bool is_name(const char *p, const char *end)
{
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
    p++;
  return p < end && *p == ':';
}

/* The value of the valid document `data` that the byte at `at` belongs to, if
 * it is a string or all digits; `at` may be the byte behind. */
static struct str value_at(struct str data, size_t at, bool *is_string)
{
  const char *p = data.p, *end = data.p + data.len, *q;
  struct str none = {NULL, 0};
  while (p <= data.p + at && p < end) {
    *is_string = *p == '"';
    if (*is_string) {
      q = walk_string_end(++p, end);
      if (!q)
        return none;
      if (q >= data.p + at)
        return is_name(q + 1, end) || p > data.p + at
                   ? none
                   : (struct str){p, (size_t)(q - p)};
      p = q + 1;
    } else if (is_digit(*p) || *p == '-') {
      bool digits = true;
      for (q = p; q < end && is_number_part(*q); q++)
        digits = digits && is_digit(*q);
      if (q >= data.p + at)
        return digits ? (struct str){p, (size_t)(q - p)} : none;
      p = q;
    } else {
      p++;
    }
  }
  return none;
}

static bool was_read(const struct wire_read *read, struct str value)
{
  if (read->n > sizeof read->values / sizeof *read->values)
    return true;
  for (unsigned i = 0; i < read->n; i++) {
    struct str v = read->values[i];
    if (v.p <= value.p + value.len && value.p <= v.p + v.len)
      return true;
  }
  return false;
}

/* Where `data` differs from the event learnt before it. */
static bool difference(const struct wire_shape *s, struct str data,
                       struct str text, size_t *at)
{
  size_t prefix = (size_t)(text.p - data.p);
  size_t behind = prefix + text.len, suffix = data.len - behind;
  *at = common(s->bytes.p, s->prefix, data.p, prefix);
  if (*at < prefix || *at < s->prefix)
    return *at < prefix;
  *at = common(s->bytes.p + s->prefix, s->suffix, data.p + behind, suffix);
  *at += behind;
  return *at < data.len;
}

static void find_hole(struct wire_shape *s, struct str data, struct str text,
                      const struct wire_read *read)
{
  struct str value;
  size_t at;
  s->hole = 0;
  if (s->prefix == 0 || s->tries >= TRIES_MAX ||
      !difference(s, data, text, &at))
    return;
  s->tries++;
  value = value_at(data, at, &s->hole_is_string);
  if (!value.p || value.p == text.p || was_read(read, value))
    return;
  s->hole = (size_t)(value.p - data.p);
  s->hole_len = value.len;
  if (value.p > text.p)
    s->hole -= text.len;
}

void wire_shape_learn(struct wire_shape *s, const struct paths *paths,
                      struct str data, const struct wire_payload *payload,
                      const struct wire_read *read)
{
  struct str text = payload->text;
  if (data.len - text.len > SHAPE_MAX) {
    wire_shape_forget(s);
    return;
  }
  find_hole(s, data, text, read);
  s->prefix = (size_t)(text.p - data.p);
  s->suffix = data.len - s->prefix - text.len;
  buf_reset(&s->bytes);
  buf_add(&s->bytes, data.p, s->prefix);
  buf_add(&s->bytes, text.p + text.len, s->suffix);
  s->paths = paths;
  s->payload = *payload;
}

void wire_shape_forget(struct wire_shape *s)
{
  s->prefix = s->suffix = s->hole = 0;
}
