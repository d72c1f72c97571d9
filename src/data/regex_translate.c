/* regex_translate.c -- from Oniguruma's Ruby syntax to PCRE2's. */
#include "data/regex.h"

#include "data/regex_parts.h"
#include "data/utf8.h"

struct translation {
  struct regex_source src;
  struct buf *out;
  size_t atom;    /* where in `out` the last atom starts */
  bool has_atom;  /* is there something to repeat? */
  unsigned depth; /* of groups */
  bool caseless;
  /* In caseless text, the letter before: Oniguruma knows characters that
   * are two of them ("ss" is "ß"), PCRE2 does not. */
  uint32_t letter;
};

static int unsupported(struct translation *t, const char *what)
{
  return regex_unsupported(&t->src, what);
}

static bool more(const struct translation *t)
{
  return regex_more(&t->src);
}

static char at(const struct translation *t, size_t i)
{
  return regex_at(&t->src, i);
}

static void start_atom(struct translation *t)
{
  t->atom = t->out->len;
  t->has_atom = true;
}

static int class_atom(struct translation *t)
{
  t->src.p++;
  t->letter = 0;
  start_atom(t);
  return regex_class(&t->src, t->out);
}

/* Two letters that are one character to Oniguruma, whatever their case. */
static bool folds_together(uint32_t a, uint32_t b)
{
  return (a == 's' && (b == 's' || b == 't')) ||
         (a == 'f' && (b == 'f' || b == 'i' || b == 'l'));
}

static int literal(struct translation *t, uint32_t c)
{
  uint32_t lower = c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (t->caseless && (c >= 0x80 || folds_together(t->letter, lower)))
    return unsupported(t, "this text without case");
  t->letter = lower;
  start_atom(t);
  regex_put_code(t->out, c);
  return 0;
}

/* \w is written out, since Oniguruma's has members of its own. */
static int property_atom(struct translation *t, const struct regex_property *p,
                         bool negated)
{
  static const uint32_t quirks[] = {0xb2, 0xb3, 0xb9, 0xbc, 0xbd, 0xbe};
  struct code_set set = {0};
  start_atom(t);
  if (p->bit != UNICODE_WORD) {
    buf_adds(t->out, negated ? "[^" : "[");
    regex_put_property(t->out, p);
    buf_addc(t->out, ']');
    return 0;
  }
  regex_property_set(p, &set);
  for (int i = 0; i < 6; i++)
    code_set_add(&set, quirks[i], quirks[i]);
  code_set_settle(&set);
  if (negated)
    code_set_invert(&set);
  regex_put_class(t->out, &set);
  code_set_free(&set);
  return 0;
}

static int escape_atom(struct translation *t)
{
  struct regex_property p;
  enum regex_escape kind;
  uint32_t c;
  bool negated;
  t->src.p++;
  if (regex_escape(&t->src, &kind, &c, &p, &negated) < 0)
    return -1;
  if (kind == REGEX_ESCAPE_LITERAL)
    return literal(t, c);
  t->letter = 0;
  if (kind == REGEX_ESCAPE_PROPERTY)
    return property_atom(t, &p, negated);
  if (c == 'A' || c == 'z' || c == 'Z') {
    t->has_atom = false;
    buf_addf(t->out, "\\%c", (char)c);
    return 0;
  }
  if (c == 'h') {
    start_atom(t);
    buf_adds(t->out, "[0-9A-Fa-f]");
    return 0;
  }
  return unsupported(t, (const char[]){'\\', (char)c, '\0'});
}

static int sequence(struct translation *t);

/* (?i) and (?i: ; m is "dot matches line ends", as s elsewhere. */
static int group_options(struct translation *t)
{
  bool on = true, caseless = t->caseless;
  int result;
  buf_adds(t->out, "(?");
  for (; more(t) && *t->src.p != ':' && *t->src.p != ')'; t->src.p++) {
    if (*t->src.p == '-')
      on = false;
    else if (*t->src.p == 'i')
      caseless = on;
    else if (*t->src.p != 'm')
      return unsupported(t, "this (?…)");
    buf_addc(t->out, *t->src.p == 'm' ? 's' : *t->src.p);
  }
  if (at(t, 0) != ':')
    return unsupported(t, "an option without a group");
  t->src.p++;
  buf_addc(t->out, ':');
  on = t->caseless;
  t->caseless = caseless;
  result = sequence(t);
  t->caseless = on;
  return result;
}

/* "(" was passed. Leaves the cursor behind ")". */
static int group(struct translation *t)
{
  static const char *const kinds[] = {"?:", "?=", "?!", "?>", "?<=", "?<!"};
  size_t start = t->out->len;
  const char *kind = NULL;
  int result;
  if (++t->depth > 50)
    return unsupported(t, "such nesting");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (str_starts((struct str){t->src.p, (size_t)(t->src.end - t->src.p)},
                   str_of(kinds[i])))
      kind = kinds[i];
  t->letter = 0;
  if (kind) {
    buf_addf(t->out, "(%s", kind);
    t->src.p += strlen(kind);
    result = sequence(t);
  } else if (at(t, 0) == '?') {
    t->src.p++;
    result = group_options(t);
  } else {
    buf_adds(t->out, "(?:");
    result = sequence(t);
  }
  if (result == 0 && at(t, 0) != ')')
    result = unsupported(t, "a group without an end");
  t->src.p++;
  buf_addc(t->out, ')');
  t->depth--;
  t->letter = 0;
  t->atom = start;
  t->has_atom = true;
  return result;
}

/* {2}, {2,}, {,3}, {2,3}: its length in the pattern, or 0. */
static size_t interval(const struct translation *t, int *lo, int *hi)
{
  size_t i = 1;
  int n[2] = {-1, -1}, k = 0;
  for (; at(t, i) != '}'; i++) {
    char c = at(t, i);
    if (c == ',' && k == 0)
      k = 1;
    else if (c < '0' || c > '9' || n[k] > 9999)
      return 0;
    else
      n[k] = (n[k] < 0 ? 0 : n[k] * 10) + (c - '0');
  }
  if (n[0] < 0 && n[1] < 0)
    return 0;
  *lo = n[0] < 0 ? 0 : n[0];
  *hi = k ? n[1] : *lo;
  return i + 1;
}

static void wrap_atom(struct translation *t)
{
  struct buf atom = {0};
  buf_add(&atom, t->out->p + t->atom, t->out->len - t->atom);
  t->out->len = t->atom;
  buf_addf(t->out, "(?:%.*s)", (int)atom.len, atom.p);
  buf_free(&atom);
}

/* This character, if it comes. */
static void pass(struct translation *t, char c)
{
  if (at(t, 0) != c)
    return;
  buf_addc(t->out, c);
  t->src.p++;
}

/* What repeats the atom, if anything does. In Ruby {1,3}+ is a repetition
 * of the repetition; ++ is possessive as everywhere. */
static int repeat(struct translation *t)
{
  char c = at(t, 0);
  int lo, hi;
  size_t n = c == '{' ? interval(t, &lo, &hi) : 0;
  if (n == 0 && c != '?' && c != '*' && c != '+')
    return 0;
  if (!t->has_atom)
    return unsupported(t, "repeating nothing");
  t->letter = 0;
  t->src.p += n ? n : 1;
  if (!n)
    buf_addc(t->out, c);
  else if (hi >= 0)
    buf_addf(t->out, "{%d,%d}", lo, hi);
  else
    buf_addf(t->out, "{%d,}", lo);
  if (n && at(t, 0) == '?' && lo == hi)
    return unsupported(t, "{n}?");
  if (n && at(t, 0) == '+')
    wrap_atom(t);
  pass(t, '+');
  pass(t, '?');
  t->has_atom = false;
  c = at(t, 0);
  if (c == '?' || c == '*' || c == '+' || (c == '{' && interval(t, &lo, &hi)))
    return unsupported(t, "repeating a repetition");
  return 0;
}

static int atom(struct translation *t)
{
  switch (*t->src.p) {
  case '\\': return escape_atom(t);
  case '[': return class_atom(t);
  case '(': t->src.p++; return group(t);
  case '.':
    start_atom(t);
    t->letter = 0;
    buf_addc(t->out, *t->src.p++);
    return 0;
  case '?':
  case '*':
  case '+': return unsupported(t, "repeating nothing");
  case '^':
  case '$':
    t->has_atom = false;
    t->letter = 0;
    buf_addc(t->out, *t->src.p++);
    return 0;
  default: return literal(t, utf8_next(t->src.p, &t->src.p));
  }
}

/* Up to the end or the ")" that closes a group. */
static int sequence(struct translation *t)
{
  t->has_atom = false;
  while (more(t) && *t->src.p != ')') {
    if (*t->src.p == '|') {
      buf_addc(t->out, *t->src.p++);
      t->has_atom = false;
      t->letter = 0;
      continue;
    }
    if (atom(t) < 0 || repeat(t) < 0)
      return -1;
  }
  return 0;
}

int regex_translate(struct buf *out, struct str pattern, const char *place,
                    struct err *e)
{
  struct translation t = {
      .out = out,
      .src = {.p = pattern.p,
              .end = pattern.p + pattern.len,
              .pattern = pattern,
              .place = place,
              .e = e},
  };
  if (sequence(&t) < 0)
    return -1;
  return more(&t) ? unsupported(&t, "a lone )") : 0;
}
