#include "script/plain.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>
#include <stdio.h>

#include "script/bindings.h"
#include "script/place.h"
#include "script/vm_impl.h"

enum {
  TAG_NIL = 'z',
  TAG_FALSE = 'f',
  TAG_TRUE = 't',
  TAG_NUMBER = 'n',
  TAG_STRING = 's',
  TAG_TABLE = 'T',
  TAG_DATA = 'D',     /* a data file: its view */
  TAG_TOKENIZER = 'K' /* the store's */
};

static void add_size(struct buf *out, size_t n)
{
  uint64_t x = n;
  buf_add(out, &x, sizeof x);
}

static int write_value(lua_State *L, struct buf *out, struct place *at);

/* Key and value are on top. */
static void enter(struct place *at, lua_State *L)
{
  if (lua_type(L, -2) == LUA_TSTRING)
    place_key(at, lua_tostring(L, -2));
  else
    place_index(at, lua_tonumber(L, -2));
}

/* Tag, number of pairs, then key and value of each. */
static int write_table(lua_State *L, struct buf *out, struct place *at)
{
  size_t mark, n = 0;
  if (at->depth == PLACE_MAX || !lua_checkstack(L, 4))
    return place_error(at, "is nested too deeply (or holds itself)");
  buf_addc(out, TAG_TABLE);
  add_size(out, lua_objlen(L, -1));
  mark = out->len;
  add_size(out, 0);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    int status;
    enter(at, L);
    lua_pushvalue(L, -2);
    status = write_value(L, out, at);
    lua_pop(L, 1);
    if (status == 0)
      status = write_value(L, out, at);
    if (status < 0) {
      lua_pop(L, 2);
      return -1;
    }
    place_leave(at);
    lua_pop(L, 1);
    n++;
  }
  if (!out->toobig)
    memcpy(out->p + mark, &(uint64_t){n}, sizeof(uint64_t));
  return 0;
}

/* A data file or a tokenizer: what all VMs may share. */
static int write_shared(lua_State *L, struct buf *out, struct place *at)
{
  const struct data_view *view = data_to_view(L, -1);
  struct stored_tokenizer *tokenizer = tokenizer_to_stored(L, -1);
  if (!view && !tokenizer)
    return place_error(at, "is a %s", luaL_typename(L, -1));
  buf_addc(out, view ? TAG_DATA : TAG_TOKENIZER);
  if (view)
    buf_add(out, view, sizeof *view);
  else
    buf_add(out, &tokenizer, sizeof tokenizer);
  return 0;
}

static int write_value(lua_State *L, struct buf *out, struct place *at)
{
  lua_Number x;
  const char *s;
  size_t len;
  if (place_overflows(at, vm_of(L), out))
    return -1;
  switch (lua_type(L, -1)) {
  case LUA_TNIL: buf_addc(out, TAG_NIL); return 0;
  case LUA_TBOOLEAN:
    buf_addc(out, lua_toboolean(L, -1) ? TAG_TRUE : TAG_FALSE);
    return 0;
  case LUA_TNUMBER:
    x = lua_tonumber(L, -1);
    buf_addc(out, TAG_NUMBER);
    buf_add(out, &x, sizeof x);
    return 0;
  case LUA_TSTRING:
    s = lua_tolstring(L, -1, &len);
    buf_addc(out, TAG_STRING);
    add_size(out, len);
    buf_add(out, s, len);
    return 0;
  case LUA_TTABLE: return write_table(L, out, at);
  case LUA_TUSERDATA: return write_shared(L, out, at);
  default: return place_error(at, "is a %s", luaL_typename(L, -1));
  }
}

int plain_write(lua_State *L, int i, struct buf *out, const char *name,
                char why[256])
{
  struct place at = {.name = name, .why = why};
  int top = lua_gettop(L), status;
  vm_guard(vm_of(L));
  lua_pushvalue(L, i);
  status = write_value(L, out, &at);
  lua_settop(L, top);
  vm_unguard(vm_of(L));
  return status;
}

/* The bytes are our own, so nothing is checked twice. */
static const char *take(struct str *s, size_t n)
{
  const char *p = s->p;
  s->p += n;
  s->len -= n;
  return p;
}

static size_t take_size(struct str *s)
{
  uint64_t n;
  memcpy(&n, take(s, sizeof n), sizeof n);
  return (size_t)n;
}

static void push_value(lua_State *L, struct str *s)
{
  char tag = *take(s, 1);
  lua_Number x;
  struct data_view view;
  struct stored_tokenizer *tokenizer;
  size_t n, length;
  switch (tag) {
  case TAG_NUMBER:
    memcpy(&x, take(s, sizeof x), sizeof x);
    lua_pushnumber(L, x);
    break;
  case TAG_STRING:
    n = take_size(s);
    lua_pushlstring(L, take(s, n), n);
    break;
  case TAG_TABLE:
    luaL_checkstack(L, 4, "plain data");
    length = take_size(s);
    n = take_size(s);
    lua_createtable(L, (int)length, (int)(n > length ? n - length : 0));
    while (n-- > 0) {
      push_value(L, s);
      push_value(L, s);
      lua_rawset(L, -3);
    }
    break;
  case TAG_DATA:
    memcpy(&view, take(s, sizeof view), sizeof view);
    data_push(L, &view);
    break;
  case TAG_TOKENIZER:
    memcpy(&tokenizer, take(s, sizeof tokenizer), sizeof tokenizer);
    tokenizer_push(L, tokenizer);
    break;
  case TAG_NIL: lua_pushnil(L); break;
  default: lua_pushboolean(L, tag == TAG_TRUE); break;
  }
}

void plain_push(lua_State *L, struct str data)
{
  push_value(L, &data);
}
