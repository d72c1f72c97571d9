#include "script/params_lua.h"

#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "base/units.h"
#include "script/bindings.h"

/* ---- declarations, Lua to C ---- */

/* One declaration at the top of the stack, while it is read. */
struct reader {
  lua_State *L;
  struct param *p;
  const char *folder;
  struct buf where; /* "my.lua: params.turns" */
  struct err *e;
};

static int complain(struct reader *r, const char *field, const char *words)
{
  return err_add(r->e, "%s%s%s: %s", buf_cstr(&r->where), *field ? "." : "",
                 field, words);
}

static void check_fields(struct reader *r)
{
  static const char *const names[] = {"default", "type",     "min", "max",
                                      "choices", "required", "help"};
  lua_State *L = r->L;
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    struct suggest near = {0};
    struct buf text = {0};
    bool known = false;
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING)
      near.typed = str_of(lua_tostring(L, -1));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      known |= str_eq(near.typed, str_of(names[i]));
      suggest_consider(&near, str_of(names[i]));
    }
    if (known)
      continue;
    buf_addf(&text, "unknown field '%.*s'", STR_ARG(near.typed));
    suggest_print(&near, "", &text);
    complain(r, "", buf_cstr(&text));
    buf_free(&text);
  }
}

/* What a plain value stands for when no type is said. */
static enum param_type type_of(lua_State *L, int i)
{
  switch (lua_type(L, i)) {
  case LUA_TNUMBER: return PARAM_NUMBER;
  case LUA_TBOOLEAN: return PARAM_BOOLEAN;
  case LUA_TTABLE: return PARAM_LIST;
  default: return PARAM_STRING;
  }
}

static int read_type(struct reader *r)
{
  lua_State *L = r->L;
  int status = 0;
  lua_getfield(L, -1, "type");
  lua_getfield(L, -2, "default");
  r->p->type = type_of(L, -1);
  if (!lua_isnil(L, -2) &&
      (lua_type(L, -2) != LUA_TSTRING ||
       param_type_find(str_of(lua_tostring(L, -2)), &r->p->type) < 0))
    status = complain(r, "type",
                      "choose one of string, number, integer, "
                      "boolean, duration, path, place, dist, list");
  lua_pop(L, 2);
  return status;
}

/* A number, or for durations text. */
static bool read_limit(struct reader *r, const char *field, double *out)
{
  lua_State *L = r->L;
  bool is = true;
  uint64_t ns;
  lua_getfield(L, -1, field);
  if (lua_isnil(L, -1)) {
    is = false;
  } else if (lua_type(L, -1) == LUA_TNUMBER) {
    *out = lua_tonumber(L, -1);
  } else if (r->p->type == PARAM_DURATION && lua_isstring(L, -1) &&
             units_duration(str_of(lua_tostring(L, -1)), &ns) == 0) {
    *out = (double)ns / 1e9;
  } else {
    complain(r, field, "not a number");
    is = false;
  }
  lua_pop(L, 1);
  return is;
}

/* Text of a string, number or boolean; valid as long as `text`. */
static bool scalar(lua_State *L, int i, char text[32], struct str *out)
{
  switch (lua_type(L, i)) {
  case LUA_TSTRING: out->p = lua_tolstring(L, i, &out->len); return true;
  case LUA_TNUMBER:
    snprintf(text, 32, "%.17g", lua_tonumber(L, i));
    *out = str_of(text);
    return true;
  case LUA_TBOOLEAN:
    *out = lua_toboolean(L, i) ? STR("true") : STR("false");
    return true;
  default: return false;
  }
}

static void read_choices(struct reader *r)
{
  lua_State *L = r->L;
  struct param *p = r->p;
  lua_getfield(L, -1, "choices");
  if (lua_istable(L, -1)) {
    size_t n = lua_objlen(L, -1);
    p->choices = mem_zalloc(n, sizeof *p->choices);
    for (size_t i = 1; i <= n; i++) {
      char text[32];
      struct str s;
      lua_rawgeti(L, -1, (int)i);
      if (scalar(L, -1, text, &s))
        p->choices[p->n_choices++] = mem_strndup(s.p, s.len);
      else
        complain(r, "choices", "a list of strings or numbers is wanted");
      lua_pop(L, 1);
    }
  } else if (!lua_isnil(L, -1)) {
    complain(r, "choices", "a list is wanted");
  }
  lua_pop(L, 1);
}

static void read_help(struct reader *r)
{
  lua_State *L = r->L;
  lua_getfield(L, -1, "help");
  if (lua_type(L, -1) == LUA_TSTRING)
    r->p->help = mem_strdup(lua_tostring(L, -1));
  else if (!lua_isnil(L, -1))
    complain(r, "help", "a string is wanted");
  lua_getfield(L, -2, "required");
  r->p->required = lua_toboolean(L, -1);
  lua_pop(L, 2);
}

/* { "a", "b" } or { 1, 2 } */
static void read_list(struct reader *r)
{
  lua_State *L = r->L;
  struct param *p = r->p;
  size_t n = lua_objlen(L, -1);
  p->numeric = n > 0;
  for (size_t i = 1; i <= n; i++) {
    char text[32];
    struct str s;
    lua_rawgeti(L, -1, (int)i);
    p->numeric &= lua_type(L, -1) == LUA_TNUMBER;
    if (scalar(L, -1, text, &s))
      param_add_item(p, s);
    else
      complain(r, "default", "a list of strings or numbers is wanted");
    lua_pop(L, 1);
  }
  p->set = true;
}

static void read_default(struct reader *r)
{
  lua_State *L = r->L;
  char text[32];
  struct str s;
  lua_getfield(L, -1, "default");
  if (!lua_isnil(L, -1) && r->p->required) {
    complain(r, "", "a default and required = true exclude each other");
  } else if (lua_istable(L, -1) && r->p->type == PARAM_LIST) {
    read_list(r);
  } else if (scalar(L, -1, text, &s)) {
    buf_adds(&r->where, ".default");
    param_set(r->p, s, r->folder, buf_cstr(&r->where), r->e);
  } else if (!lua_isnil(L, -1)) {
    buf_addf(&r->where, ".default: a %s cannot be a", luaL_typename(L, -1));
    complain(r, "", param_type_name(r->p->type));
  }
  lua_pop(L, 1);
}

static void read_declaration(struct reader *r)
{
  struct param *p = r->p;
  check_fields(r);
  if (read_type(r) < 0)
    return;
  p->has_min = read_limit(r, "min", &p->min);
  p->has_max = read_limit(r, "max", &p->max);
  read_choices(r);
  read_help(r);
  read_default(r);
}

/* Name at -2, declaration at -1. */
static void read_param(lua_State *L, struct params *out, const char *folder,
                       const char *where, struct err *e)
{
  struct reader r = {.L = L, .folder = folder, .e = e};
  if (lua_type(L, -2) != LUA_TSTRING) {
    err_add(e, "%s: params: names are wanted as keys", where);
    return;
  }
  buf_addf(&r.where, "%s: params.%s", where, lua_tostring(L, -2));
  if (!lua_istable(L, -1)) {
    complain(&r, "", "a table such as { default = 6, help = \"…\" } is wanted");
  } else {
    out->list = mem_resize(out->list, out->len + 1, sizeof *out->list);
    r.p = &out->list[out->len++];
    *r.p = (struct param){.name = mem_strdup(lua_tostring(L, -2))};
    read_declaration(&r);
  }
  buf_free(&r.where);
}

static int by_name(const void *a, const void *b)
{
  return strcmp(((const struct param *)a)->name,
                ((const struct param *)b)->name);
}

int params_read(lua_State *L, int i, struct params *out, const char *folder,
                const char *where, struct err *e)
{
  unsigned before = e->count;
  lua_pushvalue(L, i);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    read_param(L, out, folder, where, e);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  if (out->len)
    qsort(out->list, out->len, sizeof *out->list, by_name);
  return e->count == before ? 0 : -1;
}

/* ---- values, C to Lua ---- */

static void push_list(lua_State *L, const struct param *p)
{
  lua_createtable(L, (int)p->n_items, 0);
  for (size_t i = 0; i < p->n_items; i++) {
    double x;
    if (p->numeric && units_number(str_of(p->items[i]), &x) == 0)
      lua_pushnumber(L, x);
    else
      lua_pushstring(L, p->items[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_value(lua_State *L, const struct param *p)
{
  switch (p->type) {
  case PARAM_STRING:
  case PARAM_PLACE:
  case PARAM_PATH: lua_pushstring(L, p->text); break;
  case PARAM_NUMBER:
  case PARAM_INTEGER:
  case PARAM_DURATION: lua_pushnumber(L, p->number); break;
  case PARAM_BOOLEAN: lua_pushboolean(L, p->boolean); break;
  case PARAM_DIST: dist_push(L, &p->dist); break;
  case PARAM_LIST: push_list(L, p); break;
  }
}

void params_push(lua_State *L, const struct params *p)
{
  lua_createtable(L, 0, (int)p->len);
  for (size_t i = 0; i < p->len; i++) {
    if (!p->list[i].set)
      continue;
    push_value(L, &p->list[i]);
    lua_setfield(L, -2, p->list[i].name);
  }
}
