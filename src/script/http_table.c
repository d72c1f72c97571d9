#include "script/http_table.h"

#include <ctype.h>
#include <stdio.h>

#include "base/suggest.h"
#include "script/bind_json.h"
#include "script/request_fields.h"

/* ---- fields ---- */

static void read_url(struct reader *r, const struct field *f)
{
  struct str s = check_string(r, f);
  if (!str_istarts(s, STR("http://")) && !str_istarts(s, STR("https://")))
    vm_hook_error(r->L, "%s: url must begin with http:// or https://", r->what);
  check_address(r, f->name, s);
  buf_addstr(&r->out->url, s);
}

static void read_path(struct reader *r, const struct field *f)
{
  struct str s = check_string(r, f);
  if (!str_starts(s, STR("/")))
    vm_hook_error(r->L, "%s: path must begin with /", r->what);
  check_address(r, f->name, s);
  buf_addstr(&r->out->path, s);
}

static void read_method(struct reader *r, const struct field *f)
{
  struct str s = check_string(r, f);
  bool good = s.len > 0 && s.len < sizeof r->out->method;
  for (size_t i = 0; i < s.len; i++)
    good = good && isupper((unsigned char)s.p[i]);
  if (!good)
    vm_hook_error(r->L, "%s: method must be a word such as GET or POST",
                  r->what);
  snprintf(r->out->method, sizeof r->out->method, "%.*s", STR_ARG(s));
}

static void read_name(struct reader *r, const struct field *f)
{
  struct str s = check_string(r, f);
  if (!s.len)
    vm_hook_error(r->L, "%s: name is empty", r->what);
  buf_addstr(&r->out->http, s);
}

/* url, path and body first: headers are checked against the body. */
static const struct field fields[] = {
    {"url", read_url, false},         {"path", read_path, false},
    {"method", read_method, false},   {"body", read_body, false},
    {"headers", read_headers, false}, {"timeout", read_timeout, false},
    {"name", read_name, false},
};

enum { FIELDS = sizeof fields / sizeof *fields };

/* ---- the table ---- */

static void check_names(struct reader *r)
{
  lua_State *L = r->L;
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    struct suggest near = {0};
    struct buf *text = &r->vm->scratch;
    int i = 0;
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING)
      near.typed.p = lua_tolstring(L, -1, &near.typed.len);
    while (i < FIELDS && !str_eq(near.typed, str_of(fields[i].name)))
      suggest_consider(&near, str_of(fields[i++].name));
    if (i < FIELDS)
      continue;
    buf_reset(text);
    suggest_print(&near, "", text);
    vm_hook_error(L, "%s: unknown field '%.*s'%s", r->what, STR_ARG(near.typed),
                  near.n ? buf_cstr(text) : "");
  }
}

static bool has_header(const struct request *q, struct str name)
{
  struct str lines = buf_str(&q->headers);
  while (lines.len) {
    struct str value = str_split(&lines, '\n');
    if (str_ieq(str_split(&value, ':'), name))
      return true;
  }
  return false;
}

/* The path without its query; of a URL with its host. */
static struct str default_name(const struct request *q)
{
  struct str s = buf_str(q->url.len ? &q->url : &q->path);
  return str_split(&s, '?');
}

static bool is_printable(struct str s)
{
  for (size_t i = 0; i < s.len; i++)
    if (s.p[i] <= ' ' || s.p[i] == 0x7f)
      return false;
  return s.len > 0;
}

/* http://user:pw@host:1/a?b to path /a?b and the header Host: host:1 */
static void bring_home(struct request *q)
{
  struct str authority = buf_str(&q->url), path;
  size_t n = 0;
  str_split(&authority, '/');
  str_split(&authority, '/');
  while (n < authority.len && !strchr("/?#", authority.p[n]))
    n++;
  path = str_from(authority, n);
  authority.len = n;
  if (!str_starts(path, STR("/")))
    buf_addc(&q->path, '/');
  buf_addstr(&q->path, path);
  for (size_t i = 0; i < authority.len; i++)
    if (authority.p[i] == '@')
      authority = (struct str){authority.p + i + 1, authority.len - i - 1};
  if (!has_header(q, STR("Host")) && is_printable(authority))
    buf_addf(&q->headers, "Host: %.*s\n", STR_ARG(authority));
  buf_reset(&q->url);
}

void http_table_read(lua_State *L, const char *what, struct request *out)
{
  struct reader r = {.L = L, .vm = vm_of(L), .out = out, .what = what};
  bool encoded = false;
  request_reset(out);
  if (!lua_istable(L, -1))
    vm_hook_error(L, "%s takes a table, not a %s", what, luaL_typename(L, -1));
  check_names(&r);
  for (int i = 0; i < FIELDS; i++) {
    lua_getfield(L, -1, fields[i].name);
    if (!lua_isnil(L, -1))
      fields[i].read(&r, &fields[i]);
    encoded = encoded || (fields[i].read == read_body && lua_istable(L, -1));
    lua_pop(L, 1);
  }
  if (!out->url.len == !out->path.len)
    vm_hook_error(L, "%s: give a url or a path", what);
  if (encoded && !has_header(out, STR("Content-Type")))
    buf_adds(&out->headers, "Content-Type: application/json\n");
  if (!out->method[0])
    snprintf(out->method, sizeof out->method, out->body.len ? "POST" : "GET");
  if (!out->http.len)
    buf_addstr(&out->http, default_name(out));
  if (out->url.len && r.vm->scenario->stays_here)
    bring_home(out);
  out->keep_body = true;
}
