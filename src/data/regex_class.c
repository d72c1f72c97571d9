/* regex_class.c -- character classes of a pattern.
 * One that is a plain union keeps PCRE2's \p{…}, which it matches fast, plus
 * the code points that were assigned after PCRE2's Unicode version; all others
 * are worked out as sets and written as ranges. */
#include "data/regex_parts.h"

#include "data/utf8.h"

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
  regex_put_set(
      &c->text,
      &(struct code_set){.range = &(struct code_range){first, last}, .n = 1});
}

static void class_add_property(struct class *c, const struct regex_property *p,
                               bool negated)
{
  struct code_set set = {0};
  regex_property_set(p, &set);
  if (negated) {
    code_set_invert(&set);
    c->plain = false;
  } else {
    regex_put_property(&c->text, p);
  }
  code_set_add_set(&c->set, &set);
  code_set_free(&set);
}

/* One end of a range, or a whole member. 1: a code point in *code. */
static int class_member(struct regex_source *s, struct class *c, uint32_t *code)
{
  struct regex_property p;
  enum regex_escape kind;
  bool negated;
  if (*s->p != '\\') {
    *code = utf8_next(s->p, &s->p);
    return 1;
  }
  s->p++;
  if (regex_at(s, 0) == 'h') { /* a hex digit, in Ruby */
    s->p++;
    class_add(c, '0', '9');
    class_add(c, 'a', 'f');
    class_add(c, 'A', 'F');
    return 0;
  }
  if (regex_escape(s, &kind, code, &p, &negated) < 0)
    return -1;
  if (kind == REGEX_ESCAPE_PROPERTY) {
    class_add_property(c, &p, negated);
    return 0;
  }
  return kind == REGEX_ESCAPE_LITERAL
             ? 1
             : regex_unsupported(s, "this escape in a class");
}

static int class_range(struct regex_source *s, struct class *c)
{
  uint32_t first, last;
  int got = class_member(s, c, &first);
  if (got <= 0)
    return got;
  last = first;
  if (regex_at(s, 0) == '-' && regex_at(s, 1) != ']' &&
      regex_at(s, 1) != '\0') {
    s->p++;
    if (regex_at(s, 0) == '[')
      return regex_unsupported(s, "a class at the end of a range");
    got = class_member(s, c, &last);
    if (got < 0)
      return -1;
    if (got == 0 || last < first)
      return regex_unsupported(s, "this range");
  }
  class_add(c, first, last);
  return 0;
}

static int read_class(struct regex_source *s, struct class *c, unsigned depth);

static int class_nested(struct regex_source *s, struct class *c, unsigned depth)
{
  struct class inner = {.plain = true};
  int result;
  if (regex_at(s, 0) == ':')
    return regex_unsupported(s, "[:…:]");
  result = read_class(s, &inner, depth + 1);
  code_set_add_set(&c->set, &inner.set);
  c->plain = false;
  class_free(&inner);
  return result;
}

/* What stands before an "&&" goes into `left`. */
static void intersect_left(struct class *c, struct code_set *left, bool again)
{
  if (again)
    code_set_intersect(left, &c->set);
  else
    code_set_add_set(left, &c->set);
  code_set_free(&c->set);
  c->plain = false;
}

static void negate_text(struct buf *text)
{
  struct buf old = *text;
  *text = (struct buf){0};
  buf_addc(text, '^');
  buf_addstr(text, buf_str(&old));
  buf_free(&old);
}

/* The opening bracket was passed. `a&&b` is what both have. */
static int read_class(struct regex_source *s, struct class *c, unsigned depth)
{
  struct code_set left = {0};
  bool negated = regex_at(s, 0) == '^', first = true, both = false;
  int result = depth > 20 ? regex_unsupported(s, "such nesting") : 0;
  s->p += negated;
  while (result == 0) {
    if (!regex_more(s)) {
      result = regex_unsupported(s, "a class without an end");
    } else if (*s->p == ']' && !first) {
      break;
    } else if (*s->p == '&' && regex_at(s, 1) == '&') {
      s->p += 2;
      intersect_left(c, &left, both);
      both = true;
    } else if (*s->p == '[') {
      s->p++;
      result = class_nested(s, c, depth);
    } else {
      result = class_range(s, c);
    }
    first = false;
  }
  if (both)
    code_set_intersect(&c->set, &left);
  if (negated)
    code_set_invert(&c->set);
  if (result == 0) {
    s->p++;
    if (negated && c->plain && depth == 0)
      negate_text(&c->text);
  }
  code_set_free(&left);
  return result;
}

void regex_put_class(struct buf *out, const struct code_set *set)
{
  buf_addc(out, '[');
  if (set->n)
    regex_put_set(out, set);
  else
    buf_adds(out, "^\\x{0}-\\x{10ffff}");
  buf_addc(out, ']');
}

int regex_class(struct regex_source *s, struct buf *out)
{
  struct class c = {.plain = true};
  int result = read_class(s, &c, 0);
  if (result == 0 && c.plain) {
    buf_addc(out, '[');
    buf_addstr(out, buf_str(&c.text));
    buf_addc(out, ']');
  } else if (result == 0) {
    code_set_settle(&c.set);
    regex_put_class(out, &c.set);
  }
  class_free(&c);
  return result;
}
