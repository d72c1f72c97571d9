#include "script/bind_json.h"

#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "script/place.h"
#include "script/vm_impl.h"

/* stoke.json.encode(value) -> text          [-0, +1, v]
 * stoke.json.decode(text) -> value | nil, e  [-0, +(1|2), m]
 * stoke.json.array([t]) -> t                 [-0, +1, m]
 * stoke.json.null */

/* ---- out ---- */

struct encoder {
  lua_State *L;
  const struct vm *vm;
  struct json_writer w;
  struct place at;
};

static int write_value(struct encoder *e, bool array);

static void write_number(struct json_writer *w, double x)
{
  if (x == floor(x) && fabs(x) < 0x1p53)
    json_integer(w, (int64_t)x);
  else
    json_number(w, x);
}

/* The value on top is a table that was marked as an array. */
static bool marked(lua_State *L)
{
  bool is;
  if (!lua_getmetatable(L, -1))
    return false;
  vm_push_ref(L, REF_ARRAY);
  is = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is;
}

static int write_array(struct encoder *e, size_t n)
{
  lua_State *L = e->L;
  json_begin_array(&e->w);
  for (size_t i = 1; i <= n; i++) {
    place_index(&e->at, (double)i);
    lua_rawgeti(L, -1, (int)i);
    if (write_value(e, false) < 0)
      return -1;
    lua_pop(L, 1);
    place_leave(&e->at);
  }
  json_end_array(&e->w);
  return 0;
}

struct key {
  const char *p;
  size_t len;
};

static int compare_keys(const void *a, const void *b)
{
  const struct key *x = a, *y = b;
  size_t n = x->len < y->len ? x->len : y->len;
  int c = memcmp(x->p, y->p, n);
  return c ? c : (x->len > y->len) - (x->len < y->len);
}

/* The keys of the table on top, all of which are strings; they stay there,
 * so the pointers hold. */
static void collect_keys(lua_State *L, struct key *keys)
{
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    keys->p = lua_tolstring(L, -1, &keys->len);
    keys++;
  }
}

static int write_member(struct encoder *e, const struct key *k)
{
  lua_State *L = e->L;
  lua_pushlstring(L, k->p, k->len);
  place_key(&e->at, k->p);
  json_key_str(&e->w, (struct str){k->p, k->len});
  lua_rawget(L, -2);
  if (write_value(e, false) < 0)
    return -1;
  lua_pop(L, 1);
  place_leave(&e->at);
  return 0;
}

static int write_object(struct encoder *e, size_t n)
{
  struct key few[32], *keys = n <= 32 ? few : mem_zalloc(n, sizeof *keys);
  int status = 0;
  collect_keys(e->L, keys);
  qsort(keys, n, sizeof *keys, compare_keys);
  json_begin_object(&e->w);
  for (size_t i = 0; i < n && status == 0; i++)
    status = write_member(e, &keys[i]);
  json_end_object(&e->w);
  if (keys != few)
    mem_free(keys);
  return status;
}

/* How many keys of each kind the table on top has. -1 for a key that JSON
 * cannot have. */
static int count_keys(struct encoder *e, size_t *strings, size_t *indexes,
                      double *highest)
{
  lua_State *L = e->L;
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
      ++*strings;
    } else {
      double x = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
      if (!(x >= 1 && x == floor(x))) {
        int status = lua_type(L, -1) == LUA_TNUMBER
                         ? place_error(&e->at,
                                       "has the key %.14g; JSON has strings, "
                                       "or 1..n for an array",
                                       x)
                         : place_error(&e->at, "has a key that is a %s",
                                       luaL_typename(L, -1));
        lua_pop(L, 1);
        return status;
      }
      ++*indexes;
      if (x > *highest)
        *highest = x;
    }
  }
  return 0;
}

static int write_table(struct encoder *e, bool array)
{
  size_t strings = 0, indexes = 0;
  double highest = 0;
  if (e->at.depth == PLACE_MAX || !lua_checkstack(e->L, 6))
    return place_error(&e->at, "is nested too deeply (or holds itself)");
  if (count_keys(e, &strings, &indexes, &highest) < 0)
    return -1;
  if (strings && indexes)
    return place_error(&e->at, "has both string keys and array items");
  if (highest > (double)indexes)
    return place_error(&e->at,
                       "is an array with holes (%zu items, the last "
                       "at %.14g)",
                       indexes, highest);
  if (indexes || (!strings && (array || marked(e->L))))
    return write_array(e, indexes);
  return write_object(e, strings);
}

static int write_value(struct encoder *e, bool array)
{
  lua_State *L = e->L;
  struct str s;
  if (place_overflows(&e->at, e->vm, e->w.out))
    return -1;
  switch (lua_type(L, -1)) {
  case LUA_TSTRING:
    s.p = lua_tolstring(L, -1, &s.len);
    json_string(&e->w, s);
    return 0;
  case LUA_TNUMBER:
    if (!isfinite(lua_tonumber(L, -1)))
      return place_error(&e->at, "is %s, which JSON cannot say",
                         isnan(lua_tonumber(L, -1)) ? "not a number"
                                                    : "infinite");
    write_number(&e->w, lua_tonumber(L, -1));
    return 0;
  case LUA_TBOOLEAN: json_boolean(&e->w, lua_toboolean(L, -1)); return 0;
  case LUA_TTABLE: return write_table(e, array);
  case LUA_TLIGHTUSERDATA: /* stoke.json.null is the only one there is */
    json_null(&e->w);
    return 0;
  default: return place_error(&e->at, "is a %s", luaL_typename(L, -1));
  }
}

int json_write(lua_State *L, int i, struct buf *out, bool array,
               const char *name, char why[256])
{
  struct encoder e = {.L = L,
                      .vm = vm_of(L),
                      .w = {.out = out},
                      .at = {.name = name, .why = why}};
  int top = lua_gettop(L), status;
  vm_guard(vm_of(L));
  lua_pushvalue(L, i);
  status = write_value(&e, array);
  lua_settop(L, top);
  vm_unguard(vm_of(L));
  return status;
}

/* The scratch of the VM: nothing is lost when the string cannot be made. */
static int encode_l(lua_State *L)
{
  struct buf *out = &vm_of(L)->scratch;
  char why[256];
  luaL_checkany(L, 1);
  buf_reset(out);
  if (json_write(L, 1, out, false, "value", why) < 0)
    return luaL_error(L, "stoke.json.encode: %s", why);
  lua_pushlstring(L, out->p, out->len);
  return 1;
}

/* ---- in ---- */

static void push_tree(lua_State *L, const json_value *v, bool nulls);

static void push_array(lua_State *L, const json_value *v, bool nulls)
{
  int i = 0;
  lua_newtable(L);
  for (const json_value *item = json_first(v); item; item = json_next(item)) {
    push_tree(L, item, nulls);
    lua_rawseti(L, -2, ++i);
  }
  vm_push_ref(L, REF_ARRAY);
  lua_setmetatable(L, -2);
}

static void push_object(lua_State *L, const json_value *v, bool nulls)
{
  lua_newtable(L);
  for (const json_value *item = json_first(v); item; item = json_next(item)) {
    lua_pushstring(L, json_name(item));
    push_tree(L, item, nulls);
    lua_rawset(L, -3);
  }
}

static void push_tree(lua_State *L, const json_value *v, bool nulls)
{
  luaL_checkstack(L, 4, "JSON is nested too deeply");
  if (json_is_object(v))
    push_object(L, v, nulls);
  else if (json_is_array(v))
    push_array(L, v, nulls);
  else if (json_is_string(v))
    lua_pushstring(L, json_text(v));
  else if (json_is_number(v))
    lua_pushnumber(L, json_double(v, 0));
  else if (json_is_boolean(v))
    lua_pushboolean(L, json_true(v));
  else if (nulls)
    lua_pushlightuserdata(L, NULL);
  else
    lua_pushnil(L);
}

static int push_tree_l(lua_State *L)
{
  push_tree(L, lua_touserdata(L, 1), lua_toboolean(L, 2));
  return 1;
}

/* A tree is not in the Lua heap, and a text of "[1,1,1…" makes one of thirty
 * times its size. */
static void check_size(lua_State *L, struct str text)
{
  const struct vm *vm = vm_of(L);
  size_t nodes = 0;
  if (text.len < vm->memory_max / 64)
    return;
  for (size_t i = 0; i < text.len; i++)
    nodes += text.p[i] == ',' || text.p[i] == '[' || text.p[i] == '{';
  if (text.len + 64 * nodes > 2 * vm->memory_max)
    luaL_error(L,
               "JSON of %d MiB: not enough memory (the cap is %d MiB; see "
               "--lua-memory)",
               (int)(text.len >> 20), (int)(vm->memory_max >> 20));
}

int json_push(lua_State *L, struct str text, bool nulls, size_t *at)
{
  json_value *v;
  int status;
  check_size(L, text);
  vm_guard(vm_of(L));
  v = json_parse(text, at);
  vm_unguard(vm_of(L));
  if (!v)
    return -1;
  /* Protected, so that the tree is freed when memory runs out half-way. */
  lua_pushcfunction(L, push_tree_l);
  lua_pushlightuserdata(L, v);
  lua_pushboolean(L, nulls);
  status = lua_pcall(L, 2, 1, 0);
  vm_guard(vm_of(L));
  json_free(v);
  vm_unguard(vm_of(L));
  return status == 0 ? 0 : lua_error(L);
}

static int decode_l(lua_State *L)
{
  struct str text;
  size_t at = 0;
  text.p = luaL_checklstring(L, 1, &text.len);
  if (json_push(L, text, true, &at) == 0)
    return 1;
  lua_pushnil(L);
  lua_pushfstring(L, "not valid JSON (at byte %d)", (int)at + 1);
  return 2;
}

static int array_l(lua_State *L)
{
  if (lua_isnoneornil(L, 1))
    lua_newtable(L);
  else
    luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  vm_push_ref(L, REF_ARRAY);
  lua_setmetatable(L, 1);
  return 1;
}

void bind_json(lua_State *L)
{
  static const luaL_Reg functions[] = {
      {"encode", encode_l},
      {"decode", decode_l},
      {"array", array_l},
      {NULL, NULL},
  };
  lua_newtable(L);
  vm_set_ref(L, REF_ARRAY);
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  bind_json_list(L);
  lua_setfield(L, -2, "list");
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
}
