/* regex_translate.c -- from Oniguruma's Ruby syntax to PCRE2's.
 * Character classes are the work. One that is a plain union keeps PCRE2's
 * \p{…}, which it matches fast, plus the code points that were assigned after
 * PCRE2's Unicode version; all others are worked out as sets and written as
 * ranges. */
#include "data/regex.h"

#include "data/code_set.h"
#include "data/utf8.h"

struct translation {
  struct buf *out;
  const char *p, *end;
  struct str pattern;
  const char *place;
  struct err *e;
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
  return err_add(t->e, "%s: the pattern %.*s: %s is not supported", t->place,
                 STR_ARG(t->pattern), what);
}

static bool more(const struct translation *t)
{
  return t->p < t->end;
}

static char at(const struct translation *t, size_t i)
{
  return (size_t)(t->end - t->p) > i ? t->p[i] : '\0';
}

/* ---- properties ---- */

/* A property is a set of categories, a script, or what a bit says. */
struct property {
  uint32_t categories; /* bit 1 << UNICODE_… */
  uint32_t bit;        /* of the record, instead */
  const struct unicode_script *script;
  char name[8]; /* PCRE2's, for categories */
};

static const char category_names[UNICODE_CATEGORIES][3] = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
    "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
    "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};

static bool property_find(struct property *p, struct str name)
{
  *p = (struct property){0};
  if (name.len == 1 || name.len == 2) {
    for (int i = 0; i < UNICODE_CATEGORIES; i++)
      if (str_ieq((struct str){category_names[i], name.len}, name)) {
        p->categories |= 1u << i;
        memcpy(p->name, category_names[i], name.len);
      }
    return p->categories;
  }
  for (p->script = unicode_script; p->script->name; p->script++)
    if (str_ieq(str_of(p->script->name), name))
      return true;
  return false;
}

static void property_set(const struct property *p, struct code_set *set)
{
  for (uint32_t i = 0; i < UNICODE_CATEGORIES; i++)
    if (p->categories >> i & 1)
      code_set_add_records(set, UNICODE_CATEGORY, i);
  if (p->bit)
    code_set_add_records(set, p->bit, p->bit);
  if (p->script)
    for (unsigned i = 0; i < p->script->n; i++)
      code_set_add(set, p->script->range[2 * i], p->script->range[2 * i + 1]);
  code_set_settle(set);
}

/* The part of the property that PCRE2 cannot know of. */
static void young_set(const struct property *p, struct code_set *set)
{
  for (uint32_t i = 0; i < UNICODE_CATEGORIES; i++)
    if (p->categories >> i & 1)
      code_set_add_records(set, UNICODE_CATEGORY | UNICODE_YOUNG,
                           UNICODE_YOUNG | i);
  code_set_settle(set);
}

/* Does PCRE2's property plus the young ones make this one? Not where code
 * points were unassigned before or changed (U+1171E, from Mn to Mc). */
static bool grows_only(const struct property *p)
{
  uint32_t marks = p->categories & (1u << UNICODE_MN | 1u << UNICODE_MC);
  return p->categories && !(p->categories & 1u << UNICODE_CN) &&
         (!marks || marks == (1u << UNICODE_MN | 1u << UNICODE_MC));
}

/* `\p` was passed: {Name}, {^Name}. */
static int read_property(struct translation *t, struct property *p,
                         bool *negated)
{
  const char *close =
      more(t) ? memchr(t->p, '}', (size_t)(t->end - t->p)) : NULL;
  struct str name;
  if (at(t, 0) != '{' || !close)
    return unsupported(t, "\\p without {…}");
  t->p++;
  if (at(t, 0) == '^') {
    *negated = !*negated;
    t->p++;
  }
  name = (struct str){t->p, (size_t)(close - t->p)};
  t->p = close + 1;
  if (!property_find(p, name))
    return err_add(t->e,
                   "%s: the pattern %.*s: the property %.*s is not "
                   "supported",
                   t->place, STR_ARG(t->pattern), STR_ARG(name));
  return 0;
}

/* ---- escapes ---- */

enum escape {
  ESCAPE_LITERAL,  /* a code point */
  ESCAPE_PROPERTY, /* a set of them */
  ESCAPE_OTHER,    /* an assertion: the letter is left to the caller */
};

/* White_Space, digits and so on as properties without a PCRE2 name. */
static bool shorthand(char c, struct property *p, bool *negated)
{
  *p = (struct property){0};
  *negated = c == 'S' || c == 'D' || c == 'W';
  switch (c) {
  case 's':
  case 'S': p->bit = UNICODE_SPACE; return true;
  case 'w':
  case 'W': p->bit = UNICODE_WORD; return true;
  case 'd':
  case 'D': return property_find(p, STR("Nd"));
  default: return false;
  }
}

static int hex_digit(char c)
{
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* At most `most` hex digits; returns how many there were. */
static int read_hex(struct translation *t, int most, uint32_t *out)
{
  int n = 0;
  *out = 0;
  while (n < most && more(t) && hex_digit(*t->p) >= 0) {
    *out = *out * 16 + (uint32_t)hex_digit(*t->p++);
    n++;
  }
  return n;
}

/* \x41, \x{1F600}, \u0041 */
static int read_code(struct translation *t, char kind, uint32_t *out)
{
  int n;
  if (kind == 'x' && at(t, 0) == '{') {
    t->p++;
    n = read_hex(t, 8, out);
    if (n == 0 || at(t, 0) != '}')
      return unsupported(t, "this \\x{…}");
    t->p++;
  } else {
    n = read_hex(t, kind == 'x' ? 2 : 4, out);
    /* \x80 and up would be single bytes of UTF-8. */
    if (n == 0 || (kind == 'u' && n != 4) || (kind == 'x' && *out > 0x7f))
      return unsupported(t, "this \\x or \\u");
  }
  if (*out >= UNICODE_MAX || (*out >= 0xd800 && *out < 0xe000))
    return unsupported(t, "a code point out of range");
  return 0;
}

/* The backslash was passed. */
static int read_escape(struct translation *t, enum escape *kind, uint32_t *code,
                       struct property *p, bool *negated)
{
  static const char names[] = "rntfvae", codes[] = "\r\n\t\f\v\a\x1b";
  const char *known;
  char c = at(t, 0);
  *kind = ESCAPE_LITERAL, *negated = false;
  if (!more(t))
    return unsupported(t, "a backslash at the end");
  if ((unsigned char)c >= 0x80) {
    *code = utf8_next(t->p, &t->p);
    return 0;
  }
  t->p++;
  if (shorthand(c, p, negated)) {
    *kind = ESCAPE_PROPERTY;
    return 0;
  }
  if (c == 'p' || c == 'P') {
    *kind = ESCAPE_PROPERTY;
    *negated = c == 'P';
    return read_property(t, p, negated);
  }
  if (c == 'x' || c == 'u')
    return read_code(t, c, code);
  known = strchr(names, c);
  if (known) {
    *code = (unsigned char)codes[known - names];
    return 0;
  }
  *code = (unsigned char)c;
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
      (c >= 'A' && c <= 'Z'))
    *kind = ESCAPE_OTHER;
  return 0;
}

/* ---- writing ---- */

static void put_code(struct buf *out, uint32_t c)
{
  buf_addf(out, "\\x{%x}", (unsigned)c);
}

static void put_set(struct buf *out, const struct code_set *set)
{
  for (size_t i = 0; i < set->n; i++) {
    struct code_range r = set->range[i];
    /* Surrogates are in no text, and PCRE2 does not want them. */
    if (r.first >= 0xd800 && r.first < 0xe000)
      r.first = 0xe000;
    if (r.last >= 0xd800 && r.last < 0xe000)
      r.last = 0xd7ff;
    if (r.first > r.last)
      continue;
    put_code(out, r.first);
    if (r.last > r.first) {
      buf_addc(out, '-');
      put_code(out, r.last);
    }
  }
}

/* What goes between the brackets of a class for this property. */
static void put_property(struct buf *out, const struct property *p)
{
  struct code_set set = {0};
  if (grows_only(p)) {
    buf_addf(out, "\\p{%s}", p->name);
    young_set(p, &set);
  } else {
    property_set(p, &set);
  }
  put_set(out, &set);
  code_set_free(&set);
}

/* ---- classes ---- */

/* A class under way: its members both as a set and, while it is a plain
 * union, as text. */
struct class
{
  struct code_set set;
  struct buf text;
  bool plain;
};

static void class_free(struct class *c)
{
  code_set_free(&c->set);
  buf_free(&c->text);
}

static void class_add(struct class *c, uint32_t first, uint32_t last)
{
  code_set_add(&c->set, first, last);
  put_set(&c->text, &(struct code_set){
                        .range = &(struct code_range){first, last}, .n = 1});
}

static void class_add_property(struct class *c, const struct property *p,
                               bool negated)
{
  struct code_set set = {0};
  property_set(p, &set);
  if (negated) {
    code_set_invert(&set);
    c->plain = false;
  } else {
    put_property(&c->text, p);
  }
  code_set_add_set(&c->set, &set);
  code_set_free(&set);
}

/* One end of a range, or a whole member. 1: a code point in *code. */
static int class_member(struct translation *t, struct class *c, uint32_t *code)
{
  struct property p;
  enum escape kind;
  bool negated;
  if (*t->p != '\\') {
    *code = utf8_next(t->p, &t->p);
    return 1;
  }
  t->p++;
  if (at(t, 0) == 'h') { /* a hex digit, in Ruby */
    t->p++;
    class_add(c, '0', '9');
    class_add(c, 'a', 'f');
    class_add(c, 'A', 'F');
    return 0;
  }
  if (read_escape(t, &kind, code, &p, &negated) < 0)
    return -1;
  if (kind == ESCAPE_PROPERTY) {
    class_add_property(c, &p, negated);
    return 0;
  }
  return kind == ESCAPE_LITERAL ? 1 : unsupported(t, "this escape in a class");
}

static int class_range(struct translation *t, struct class *c)
{
  uint32_t first, last;
  int got = class_member(t, c, &first);
  if (got <= 0)
    return got;
  last = first;
  if (at(t, 0) == '-' && at(t, 1) != ']' && at(t, 1) != '\0') {
    t->p++;
    if (at(t, 0) == '[')
      return unsupported(t, "a class at the end of a range");
    got = class_member(t, c, &last);
    if (got < 0)
      return -1;
    if (got == 0 || last < first)
      return unsupported(t, "this range");
  }
  class_add(c, first, last);
  return 0;
}

static int read_class(struct translation *t, struct class *c, unsigned depth);

static int class_nested(struct translation *t, struct class *c, unsigned depth)
{
  struct class inner = {.plain = true};
  int result;
  if (at(t, 0) == ':')
    return unsupported(t, "[:…:]");
  result = read_class(t, &inner, depth + 1);
  code_set_add_set(&c->set, &inner.set);
  c->plain = false;
  class_free(&inner);
  return result;
}

/* The opening bracket was passed. `a&&b` is what both have. */
static int read_class(struct translation *t, struct class *c, unsigned depth)
{
  struct code_set left = {0};
  bool negated = at(t, 0) == '^', first = true, both = false;
  int result = depth > 20 ? unsupported(t, "such nesting") : 0;
  t->p += negated;
  while (result == 0) {
    if (!more(t)) {
      result = unsupported(t, "a class without an end");
    } else if (*t->p == ']' && !first) {
      break;
    } else if (*t->p == '&' && at(t, 1) == '&') {
      t->p += 2;
      if (both)
        code_set_intersect(&left, &c->set);
      else
        code_set_add_set(&left, &c->set);
      code_set_free(&c->set);
      both = true;
      c->plain = false;
    } else if (*t->p == '[') {
      t->p++;
      result = class_nested(t, c, depth);
    } else {
      result = class_range(t, c);
    }
    first = false;
  }
  if (both)
    code_set_intersect(&c->set, &left);
  if (negated)
    code_set_invert(&c->set);
  if (result == 0) {
    t->p++;
    if (negated && c->plain && depth == 0) {
      struct buf text = c->text;
      c->text = (struct buf){0};
      buf_addc(&c->text, '^');
      buf_addstr(&c->text, buf_str(&text));
      buf_free(&text);
    }
  }
  code_set_free(&left);
  return result;
}

static void start_atom(struct translation *t)
{
  t->atom = t->out->len;
  t->has_atom = true;
}

/* A set as an atom; the empty one matches nothing. */
static void put_class(struct translation *t, const struct code_set *set)
{
  buf_addc(t->out, '[');
  if (set->n)
    put_set(t->out, set);
  else
    buf_adds(t->out, "^\\x{0}-\\x{10ffff}");
  buf_addc(t->out, ']');
}

static int class_atom(struct translation *t)
{
  struct class c = {.plain = true};
  int result;
  t->p++;
  t->letter = 0;
  result = read_class(t, &c, 0);
  start_atom(t);
  if (result == 0 && c.plain) {
    buf_addc(t->out, '[');
    buf_addstr(t->out, buf_str(&c.text));
    buf_addc(t->out, ']');
  } else if (result == 0) {
    code_set_settle(&c.set);
    put_class(t, &c.set);
  }
  class_free(&c);
  return result;
}

/* ---- the rest ---- */

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
  put_code(t->out, c);
  return 0;
}

static int escape_atom(struct translation *t)
{
  struct property p;
  struct code_set set = {0};
  enum escape kind;
  uint32_t c;
  bool negated;
  t->p++;
  if (read_escape(t, &kind, &c, &p, &negated) < 0)
    return -1;
  if (kind == ESCAPE_LITERAL)
    return literal(t, c);
  t->letter = 0;
  if (kind == ESCAPE_PROPERTY && p.bit != UNICODE_WORD) {
    start_atom(t);
    buf_adds(t->out, negated ? "[^" : "[");
    put_property(t->out, &p);
    buf_addc(t->out, ']');
    return 0;
  }
  if (kind == ESCAPE_PROPERTY) {
    static const uint32_t quirks[] = {0xb2, 0xb3, 0xb9, 0xbc, 0xbd, 0xbe};
    property_set(&p, &set);
    for (int i = 0; i < 6; i++) /* Oniguruma's alone */
      code_set_add(&set, quirks[i], quirks[i]);
    code_set_settle(&set);
    if (negated)
      code_set_invert(&set);
    start_atom(t);
    put_class(t, &set);
    code_set_free(&set);
    return 0;
  }
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
  for (; more(t) && *t->p != ':' && *t->p != ')'; t->p++) {
    if (*t->p == '-')
      on = false;
    else if (*t->p == 'i')
      caseless = on;
    else if (*t->p != 'm')
      return unsupported(t, "this (?…)");
    buf_addc(t->out, *t->p == 'm' ? 's' : *t->p);
  }
  if (at(t, 0) != ':')
    return unsupported(t, "an option without a group");
  t->p++;
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
    if (str_starts((struct str){t->p, (size_t)(t->end - t->p)},
                   str_of(kinds[i])))
      kind = kinds[i];
  t->letter = 0;
  if (kind) {
    buf_addf(t->out, "(%s", kind);
    t->p += strlen(kind);
    result = sequence(t);
  } else if (at(t, 0) == '?') {
    t->p++;
    result = group_options(t);
  } else {
    buf_adds(t->out, "(?:");
    result = sequence(t);
  }
  if (result == 0 && at(t, 0) != ')')
    result = unsupported(t, "a group without an end");
  t->p++;
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
  if (n) {
    t->p += n;
    if (hi >= 0)
      buf_addf(t->out, "{%d,%d}", lo, hi);
    else
      buf_addf(t->out, "{%d,}", lo);
    if (at(t, 0) == '?' && lo == hi)
      return unsupported(t, "{n}?");
    if (at(t, 0) == '+') {
      wrap_atom(t);
      buf_addc(t->out, '+');
      t->p++;
    }
  } else {
    buf_addc(t->out, c);
    t->p++;
    if (at(t, 0) == '+') {
      buf_addc(t->out, '+');
      t->p++;
    }
  }
  if (at(t, 0) == '?') {
    buf_addc(t->out, '?');
    t->p++;
  }
  t->has_atom = false;
  c = at(t, 0);
  if (c == '?' || c == '*' || c == '+' || (c == '{' && interval(t, &lo, &hi)))
    return unsupported(t, "repeating a repetition");
  return 0;
}

static int atom(struct translation *t)
{
  switch (*t->p) {
  case '\\': return escape_atom(t);
  case '[': return class_atom(t);
  case '(': t->p++; return group(t);
  case '.':
    start_atom(t);
    t->letter = 0;
    buf_addc(t->out, *t->p++);
    return 0;
  case '^':
  case '$':
    t->has_atom = false;
    t->letter = 0;
    buf_addc(t->out, *t->p++);
    return 0;
  default: return literal(t, utf8_next(t->p, &t->p));
  }
}

/* Up to the end or the ")" that closes a group. */
static int sequence(struct translation *t)
{
  t->has_atom = false;
  while (more(t) && *t->p != ')') {
    if (*t->p == '|') {
      buf_addc(t->out, *t->p++);
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
      .p = pattern.p,
      .end = pattern.p + pattern.len,
      .pattern = pattern,
      .place = place,
      .e = e,
  };
  if (sequence(&t) < 0)
    return -1;
  return more(&t) ? unsupported(&t, "a lone )") : 0;
}
