/* regex_escape.c -- properties and escapes of a pattern. */
#include "data/regex_parts.h"

#include "data/utf8.h"

int regex_unsupported(struct regex_source *s, const char *what)
{
  return err_add(s->e, "%s: the pattern %.*s: %s is not supported", s->place,
                 STR_ARG(regex_shown(s->pattern)), what);
}

/* ---- properties ---- */

static const char category_names[UNICODE_CATEGORIES][3] = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
    "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
    "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};

static bool property_find(struct regex_property *p, struct str name)
{
  *p = (struct regex_property){0};
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

void regex_property_set(const struct regex_property *p, struct code_set *set)
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
static void young_set(const struct regex_property *p, struct code_set *set)
{
  for (uint32_t i = 0; i < UNICODE_CATEGORIES; i++)
    if (p->categories >> i & 1)
      code_set_add_records(set, UNICODE_CATEGORY | UNICODE_YOUNG,
                           UNICODE_YOUNG | i);
  code_set_settle(set);
}

/* Does PCRE2's property plus the young ones make this one? Not where code
 * points were unassigned before or changed (U+1171E, from Mn to Mc). */
static bool grows_only(const struct regex_property *p)
{
  uint32_t marks = p->categories & (1u << UNICODE_MN | 1u << UNICODE_MC);
  return p->categories && !(p->categories & 1u << UNICODE_CN) &&
         (!marks || marks == (1u << UNICODE_MN | 1u << UNICODE_MC));
}

/* `\p` was passed: {Name}, {^Name}. */
static int read_property(struct regex_source *s, struct regex_property *p,
                         bool *negated)
{
  const char *close =
      regex_more(s) ? memchr(s->p, '}', (size_t)(s->end - s->p)) : NULL;
  struct str name;
  if (regex_at(s, 0) != '{' || !close)
    return regex_unsupported(s, "\\p without {…}");
  s->p++;
  if (regex_at(s, 0) == '^') {
    *negated = !*negated;
    s->p++;
  }
  name = (struct str){s->p, (size_t)(close - s->p)};
  s->p = close + 1;
  if (!property_find(p, name))
    return err_add(s->e,
                   "%s: the pattern %.*s: the property %.*s is not "
                   "supported",
                   s->place, STR_ARG(regex_shown(s->pattern)),
                   STR_ARG(regex_shown(name)));
  return 0;
}

/* ---- escapes ---- */

/* White_Space, digits and so on as properties without a PCRE2 name. */
static bool shorthand(char c, struct regex_property *p, bool *negated)
{
  *p = (struct regex_property){0};
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
static int read_hex(struct regex_source *s, int most, uint32_t *out)
{
  int n = 0;
  *out = 0;
  while (n < most && regex_more(s) && hex_digit(*s->p) >= 0) {
    *out = *out * 16 + (uint32_t)hex_digit(*s->p++);
    n++;
  }
  return n;
}

/* \x41, \x{1F600}, \u0041 */
static int read_code(struct regex_source *s, char kind, uint32_t *out)
{
  int n;
  if (kind == 'x' && regex_at(s, 0) == '{') {
    s->p++;
    n = read_hex(s, 8, out);
    if (n == 0 || regex_at(s, 0) != '}')
      return regex_unsupported(s, "this \\x{…}");
    s->p++;
  } else {
    n = read_hex(s, kind == 'x' ? 2 : 4, out);
    /* \x80 and up would be single bytes of UTF-8. */
    if (n == 0 || (kind == 'u' && n != 4) || (kind == 'x' && *out > 0x7f))
      return regex_unsupported(s, "this \\x or \\u");
  }
  if (*out >= UNICODE_MAX || (*out >= 0xd800 && *out < 0xe000))
    return regex_unsupported(s, "a code point out of range");
  return 0;
}

/* The backslash was passed. */
int regex_escape(struct regex_source *s, enum regex_escape *kind,
                 uint32_t *code, struct regex_property *p, bool *negated)
{
  static const char names[] = "rntfvae", codes[] = "\r\n\t\f\v\a\x1b";
  const char *known;
  char c = regex_at(s, 0);
  *kind = REGEX_ESCAPE_LITERAL, *negated = false;
  if (!regex_more(s))
    return regex_unsupported(s, "a backslash at the end");
  if ((unsigned char)c >= 0x80) {
    *code = utf8_next(s->p, &s->p);
    return 0;
  }
  s->p++;
  if (shorthand(c, p, negated)) {
    *kind = REGEX_ESCAPE_PROPERTY;
    return 0;
  }
  if (c == 'p' || c == 'P') {
    *kind = REGEX_ESCAPE_PROPERTY;
    *negated = c == 'P';
    return read_property(s, p, negated);
  }
  if (c == 'x' || c == 'u')
    return read_code(s, c, code);
  known = strchr(names, c);
  if (known) {
    *code = (unsigned char)codes[known - names];
    return 0;
  }
  *code = (unsigned char)c;
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
      (c >= 'A' && c <= 'Z'))
    *kind = REGEX_ESCAPE_OTHER;
  return 0;
}

/* ---- writing ---- */

void regex_put_code(struct buf *out, uint32_t c)
{
  buf_addf(out, "\\x{%x}", (unsigned)c);
}

void regex_put_set(struct buf *out, const struct code_set *set)
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
    regex_put_code(out, r.first);
    if (r.last > r.first) {
      buf_addc(out, '-');
      regex_put_code(out, r.last);
    }
  }
}

/* What goes between the brackets of a class for this property. */
void regex_put_property(struct buf *out, const struct regex_property *p)
{
  struct code_set set = {0};
  if (grows_only(p)) {
    buf_addf(out, "\\p{%s}", p->name);
    young_set(p, &set);
  } else {
    regex_property_set(p, &set);
  }
  regex_put_set(out, &set);
  code_set_free(&set);
}
