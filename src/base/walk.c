#include "base/walk.h"

#include <stdlib.h>

#include "base/scan.h"

/* Two readers share the grammar: `value` and those that it calls follow the
 * paths and recurse no deeper than these; `skip` runs over everything else
 * with a bit per open level instead of a stack frame. All return the place
 * behind what they read, or NULL. */

struct walker {
  const char *end;
  walk_cb *cb;
  void *ud;
  int stopped; /* what the callback returned */
};

static inline const char *blanks(const char *p, const char *end)
{
  /* One comparison where there are none, as servers write it. */
  while (p < end && (unsigned char)*p <= ' ' &&
         (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
    p++;
  return p;
}

static bool hex_digit(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
         (c >= 'A' && c <= 'F');
}

/* Behind the escape whose backslash is at p. */
static const char *escape(const char *p, const char *end)
{
  if (end - p < 2)
    return NULL;
  switch (p[1]) {
  case '"':
  case '\\':
  case '/':
  case 'b':
  case 'f':
  case 'n':
  case 'r':
  case 't': return p + 2;
  case 'u':
    if (end - p < 6)
      return NULL;
    for (int i = 2; i < 6; i++)
      if (!hex_digit(p[i]))
        return NULL;
    return p + 6;
  default: return NULL;
  }
}

static __attribute__((noinline)) const char *
string_rest(const char *p, const char *end, bool *escaped)
{
  for (;;) {
    p = scan_plain(p, end);
    if (p == end)
      return NULL;
    if (*p == '"')
      return p;
    if (*p != '\\' || !(p = escape(p, end)))
      return NULL;
    *escaped = true;
  }
}

/* Most strings are names and end within the first step of the search: that
 * much is worth having at every place that reads one. */
static inline __attribute__((always_inline)) const char *
string_end(const char *p, const char *end, bool *escaped)
{
  const char *at = scan_plain_step(p, end);
  return at && *at == '"' ? at : string_rest(p, end, escaped);
}

const char *walk_string_end(const char *p, const char *end)
{
  bool escaped;
  return string_end(p, end, &escaped);
}

static inline bool digit(const char *p, const char *end)
{
  return p < end && *p >= '0' && *p <= '9';
}

static const char *digits(const char *p, const char *end)
{
  if (!digit(p, end))
    return NULL;
  while (digit(p, end))
    p++;
  return p;
}

static const char *number(const char *p, const char *end)
{
  if (*p == '-')
    p++;
  if (p < end && *p == '0')
    p++;
  else if (!(p = digits(p, end)))
    return NULL;
  if (p < end && *p == '.' && !(p = digits(p + 1, end)))
    return NULL;
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-'))
      p++;
    p = digits(p, end);
  }
  return p;
}

static inline const char *literal(const char *p, const char *end,
                                  const char *word, size_t len)
{
  return (size_t)(end - p) >= len && memcmp(p, word, len) == 0 ? p + len : NULL;
}

/* true, false, null or a number. */
static inline const char *scalar(const char *p, const char *end,
                                 enum walk_type *type)
{
  switch (*p) {
  case 'n': *type = WALK_NULL; return literal(p, end, "null", 4);
  case 't': *type = WALK_TRUE; return literal(p, end, "true", 4);
  case 'f': *type = WALK_FALSE; return literal(p, end, "false", 5);
  case '-':
  case '0':
  case '1':
  case '2':
  case '3':
  case '4':
  case '5':
  case '6':
  case '7':
  case '8':
  case '9': *type = WALK_NUMBER; return number(p, end);
  default: return NULL;
  }
}

/* Behind the colon of a member and the blanks around it, at its value. */
static inline const char *colon(const char *p, const char *end)
{
  p = blanks(p, end);
  if (p == end || *p != ':')
    return NULL;
  p = blanks(p + 1, end);
  return p < end ? p : NULL;
}

/* Any value, unseen. `depth` levels are open around it. */
static const char *skip(const char *p, const char *end, unsigned depth)
{
  uint64_t objects[WALK_MAX_DEPTH / 64 + 1]; /* a bit a level: {} or [] */
  unsigned open = 0;
  bool object = false, escaped;
  enum walk_type type;

value:
  if (*p == '"') {
    if (!(p = string_end(p + 1, end, &escaped)))
      return NULL;
    p++;
  } else if (*p == '{' || *p == '[') {
    uint64_t bit = UINT64_C(1) << open % 64;
    if (depth + open >= WALK_MAX_DEPTH)
      return NULL;
    object = *p == '{';
    if (object)
      objects[open / 64] |= bit;
    else
      objects[open / 64] &= ~bit;
    open++;
    p = blanks(p + 1, end);
    if (p == end)
      return NULL;
    if (*p == (object ? '}' : ']'))
      goto close;
    if (object)
      goto member;
    goto value;
  } else if (!(p = scalar(p, end, &type))) {
    return NULL;
  }

next:
  if (open == 0)
    return p;
  p = blanks(p, end);
  if (p == end)
    return NULL;
  if (*p == ',') {
    p = blanks(p + 1, end);
    if (p == end)
      return NULL;
    if (object)
      goto member;
    goto value;
  }
  if (*p != (object ? '}' : ']'))
    return NULL;

close:
  p++;
  open--;
  object = open && (objects[(open - 1) / 64] >> (open - 1) % 64 & 1);
  goto next;

member:
  if (*p != '"' || !(p = string_end(p + 1, end, &escaped)) ||
      !(p = colon(p + 1, end)))
    return NULL;
  goto value;
}

static inline const char *value(struct walker *w, const char *p,
                                const struct paths *at, unsigned depth);

/* At what follows an item: a comma or the closing bracket, if it is right. */
static inline const char *separator(const char *p, const char *end)
{
  p = blanks(p, end);
  return p < end ? p : NULL;
}

static const char *object(struct walker *w, const char *p,
                          const struct paths *at, unsigned depth)
{
  p = blanks(p + 1, w->end);
  if (p < w->end && *p == '}')
    return p + 1;
  for (;;) {
    const struct paths *member;
    struct str name;
    const char *key = p + 1;
    bool escaped = false;
    if (p == w->end || *p != '"' || !(p = string_end(key, w->end, &escaped)))
      return NULL;
    name = (struct str){key, (size_t)(p - key)};
    member = escaped ? paths_escaped_member(at, name) : paths_member(at, name);
    if (!(p = colon(p + 1, w->end)) || !(p = value(w, p, member, depth)) ||
        !(p = separator(p, w->end)))
      return NULL;
    if (*p == '}')
      return p + 1;
    if (*p != ',')
      return NULL;
    p = blanks(p + 1, w->end);
  }
}

static const char *array(struct walker *w, const char *p,
                         const struct paths *at, unsigned depth)
{
  p = blanks(p + 1, w->end);
  if (p < w->end && *p == ']')
    return p + 1;
  for (;;) {
    if (p == w->end || !(p = value(w, p, at->element, depth)) ||
        !(p = separator(p, w->end)))
      return NULL;
    if (*p == ']')
      return p + 1;
    if (*p != ',')
      return NULL;
    p = blanks(p + 1, w->end);
  }
}

/* A value at a place of the tree, which may want it or parts of it. */
static const char *place(struct walker *w, const char *p,
                         const struct paths *at, unsigned depth)
{
  struct walk_value v = {.raw.p = p};
  bool escaped;
  switch (*p) {
  case '"':
    v.type = WALK_STRING;
    v.raw.p++;
    if (!(p = string_end(v.raw.p, w->end, &escaped)))
      return NULL;
    v.raw.len = (size_t)(p++ - v.raw.p);
    break;
  case '{':
    v.type = WALK_OBJECT;
    p = depth < WALK_MAX_DEPTH && at->n_members ? object(w, p, at, depth + 1)
                                                : skip(p, w->end, depth);
    break;
  case '[':
    v.type = WALK_ARRAY;
    p = depth < WALK_MAX_DEPTH && at->element ? array(w, p, at, depth + 1)
                                              : skip(p, w->end, depth);
    break;
  default: p = scalar(p, w->end, &v.type);
  }
  if (!p)
    return NULL;
  if (at->tags) {
    if (v.type != WALK_STRING)
      v.raw.len = (size_t)(p - v.raw.p);
    w->stopped = w->cb(at->tags, &v, w->ud);
  }
  return w->stopped ? NULL : p;
}

static inline const char *value(struct walker *w, const char *p,
                                const struct paths *at, unsigned depth)
{
  bool escaped;
  if (at)
    return place(w, p, at, depth);
  if (*p != '"')
    return skip(p, w->end, depth);
  p = string_end(p + 1, w->end, &escaped);
  return p ? p + 1 : NULL;
}

int walk(const struct paths *root, struct str text, walk_cb *cb, void *ud)
{
  struct walker w = {.cb = cb, .ud = ud};
  const char *p;
  if (text.len == 0)
    return -1;
  w.end = text.p + text.len;
  p = blanks(text.p, w.end);
  if (p == w.end || !(p = value(&w, p, root, 0)))
    return w.stopped ? w.stopped : -1;
  return blanks(p, w.end) == w.end ? 0 : -1;
}

const char *walk_value(const struct paths *root, const char *p, const char *end,
                       walk_cb *cb, void *ud)
{
  struct walker w = {.end = end, .cb = cb, .ud = ud};
  p = blanks(p, end);
  return p < end ? value(&w, p, root, 0) : NULL;
}

/* {} and [], with any blanks inside. */
static bool has_items(struct str raw)
{
  return blanks(raw.p + 1, raw.p + raw.len) + 1 < raw.p + raw.len;
}

static bool has_nonzero_digit(struct str raw)
{
  for (size_t i = 0; i < raw.len && raw.p[i] != 'e' && raw.p[i] != 'E'; i++)
    if (raw.p[i] >= '1' && raw.p[i] <= '9')
      return true;
  return false;
}

bool walk_truthy(const struct walk_value *v)
{
  switch (v->type) {
  case WALK_TRUE: return true;
  case WALK_NUMBER: return has_nonzero_digit(v->raw);
  case WALK_STRING: return v->raw.len > 0;
  case WALK_ARRAY:
  case WALK_OBJECT: return has_items(v->raw);
  default: return false;
  }
}

int64_t walk_integer(const struct walk_value *v, int64_t otherwise)
{
  char text[64];
  double x;
  int64_t n = 0;
  if (v->type != WALK_NUMBER)
    return otherwise;
  /* The usual case: plain digits, few enough for any int64_t. */
  if (v->raw.len <= 18) {
    size_t i = 0;
    while (i < v->raw.len && v->raw.p[i] >= '0' && v->raw.p[i] <= '9')
      n = n * 10 + (v->raw.p[i++] - '0');
    if (i == v->raw.len)
      return n;
  }
  if (v->raw.len >= sizeof text)
    return otherwise;
  memcpy(text, v->raw.p, v->raw.len);
  text[v->raw.len] = '\0';
  x = strtod(text, NULL);
  if (x >= 0x1p63)
    return INT64_MAX;
  return x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}
