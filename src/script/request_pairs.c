#include <stdio.h>
#include <stdlib.h>

#include "script/request_fields.h"

/* Names and values: headers and tags. */

struct pair {
  struct str name, value; /* value.p NULL: it stands in `text` */
  char text[32];
};

enum { PAIRS_MAX = 64, HEADER_MAX = 64 << 10, TAG_MAX = 256 };

static int by_name(const void *a, const void *b)
{
  const struct pair *x = a, *y = b;
  size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
  int c = memcmp(x->name.p, y->name.p, n);
  return c ? c : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

static struct str pair_value(const struct pair *p)
{
  return p->value.p ? p->value : str_of(p->text);
}

static void read_value(struct reader *r, const struct field *f, struct pair *p)
{
  lua_State *L = r->L;
  p->value = (struct str){NULL, 0};
  switch (lua_type(L, -1)) {
  case LUA_TSTRING: p->value.p = lua_tolstring(L, -1, &p->value.len); break;
  case LUA_TNUMBER:
    snprintf(p->text, sizeof p->text, "%.14g", lua_tonumber(L, -1));
    break;
  case LUA_TBOOLEAN:
    snprintf(p->text, sizeof p->text, "%s",
             lua_toboolean(L, -1) ? "true" : "false");
    break;
  default:
    vm_hook_error(L, "%s: %s.%.*s must be a string, not %s", r->what, f->name,
                  STR_ARG(p->name), luaL_typename(L, -1));
  }
}

/* The table on top, sorted by name so that its order on the wire does not
 * depend on the table's. The strings stay alive with the table. */
static size_t read_pairs(struct reader *r, const struct field *f,
                         struct pair pairs[PAIRS_MAX])
{
  lua_State *L = r->L;
  size_t n = 0;
  check_table(r, f);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    struct pair *p = &pairs[n];
    if (lua_type(L, -2) != LUA_TSTRING)
      vm_hook_error(L,
                    "%s: %s must have names as keys: { [\"name\"] = "
                    "\"value\" }",
                    r->what, f->name);
    if (n == PAIRS_MAX)
      vm_hook_error(L, "%s: more than %d %s", r->what, PAIRS_MAX, f->name);
    p->name.p = lua_tolstring(L, -2, &p->name.len);
    read_value(r, f, p);
    lua_pop(L, 1);
    n++;
  }
  qsort(pairs, n, sizeof *pairs, by_name);
  return n;
}

/* RFC 9110's token. */
static bool is_token(struct str s)
{
  for (size_t i = 0; i < s.len; i++)
    if (s.p[i] <= ' ' || s.p[i] > '~' ||
        memchr("\"(),/:;<=>?@[\\]{}", s.p[i], 17))
      return false;
  return s.len > 0;
}

static bool is_field_value(struct str s)
{
  for (size_t i = 0; i < s.len; i++)
    if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 127)
      return false;
  return true;
}

/* How long the body is, and how it is framed, is the transport's business. */
static bool is_framing(struct reader *r, struct str name, struct str value)
{
  char length[24];
  if (str_ieq(name, STR("Transfer-Encoding")))
    vm_hook_error(r->L,
                  "%s: headers: leave Transfer-Encoding out, the body's "
                  "framing is the transport's",
                  r->what);
  if (!str_ieq(name, STR("Content-Length")))
    return false;
  snprintf(length, sizeof length, "%zu", r->out->body.len);
  if (!str_eq(str_trim(value), str_of(length)))
    vm_hook_error(r->L,
                  "%s: headers: Content-Length is %.*s but the body has "
                  "%s bytes; leave it out",
                  r->what, STR_ARG(value), length);
  return true;
}

void read_headers(struct reader *r, const struct field *f)
{
  struct pair pairs[PAIRS_MAX];
  size_t n = read_pairs(r, f, pairs);
  for (size_t i = 0; i < n; i++) {
    struct str name = pairs[i].name, value = pair_value(&pairs[i]);
    if (!is_token(name))
      vm_hook_error(r->L, "%s: headers: '%.*s' is not a header name", r->what,
                    STR_ARG(name));
    if (!is_field_value(value))
      vm_hook_error(r->L,
                    "%s: headers: the value of %.*s has a control "
                    "character",
                    r->what, STR_ARG(name));
    if (value.len > HEADER_MAX)
      vm_hook_error(r->L,
                    "%s: headers: the value of %.*s is longer than %d KiB",
                    r->what, STR_ARG(name), HEADER_MAX >> 10);
    for (size_t j = 0; j < i; j++)
      if (str_ieq(pairs[j].name, name))
        vm_hook_error(r->L, "%s: headers: %.*s stands there twice", r->what,
                      STR_ARG(name));
    if (is_framing(r, name, value))
      continue;
    buf_addstr(&r->out->headers, name);
    buf_adds(&r->out->headers, ": ");
    buf_addstr(&r->out->headers, value);
    buf_addc(&r->out->headers, '\n');
  }
}

/* They become keys of results and of threshold expressions. */
static bool is_tag(struct str s)
{
  if (s.len > TAG_MAX)
    return false;
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.p[i] < ' ' || memchr("=,{}\"", s.p[i], 5))
      return false;
  return s.len > 0;
}

/* The braces of thresholds have words of their own. */
static void check_tag_name(struct reader *r, struct str name)
{
  static const char *const taken[] = {"stage", "turn", "tag"};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (str_eq(name, str_of(taken[i])))
      vm_hook_error(r->L,
                    "%s: tags: '%s' is a word of thresholds, whose figures the "
                    "results have anyway; give the tag another name",
                    r->what, taken[i]);
}

void read_tag_list(struct reader *r, const struct field *f, struct buf *out)
{
  struct pair pairs[PAIRS_MAX];
  size_t n = read_pairs(r, f, pairs);
  for (size_t i = 0; i < n; i++) {
    struct str name = pairs[i].name, value = pair_value(&pairs[i]);
    struct str bad = is_tag(name) ? value : name;
    if (!is_tag(bad))
      vm_hook_error(r->L,
                    "%s: tags: '%.40s' must not be empty or longer than %d "
                    "bytes, nor have one of = , { } \" in it",
                    r->what, bad.len ? bad.p : "", TAG_MAX);
    check_tag_name(r, name);
    if (out->len)
      buf_addc(out, ',');
    buf_addstr(out, name);
    buf_addc(out, '=');
    buf_addstr(out, value);
  }
}

void read_tags(struct reader *r, const struct field *f)
{
  read_tag_list(r, f, &r->out->tags);
}
