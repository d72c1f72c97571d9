#include "script/config_lua.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "script/vm_impl.h"
#include "script/watchdog.h"

enum { DEEPEST = 64, MAX_BYTES = 4 << 20 };

/* It has nothing to wait for. */
static const uint64_t limit_ns = 5 * NS_PER_SEC;

static void write_value(lua_State *L, struct json_writer *w, int depth);

static void write_object(lua_State *L, struct json_writer *w, int depth)
{
  json_begin_object(w);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "a key must be a string");
    json_key(w, lua_tostring(L, -2));
    write_value(L, w, depth + 1);
    lua_pop(L, 1);
  }
  json_end_object(w);
}

static void write_array(lua_State *L, struct json_writer *w, int depth)
{
  json_begin_array(w);
  for (int i = 1; i <= (int)lua_objlen(L, -1); i++) {
    lua_rawgeti(L, -1, i);
    write_value(L, w, depth + 1);
    lua_pop(L, 1);
  }
  json_end_array(w);
}

/* The value on top. A table may hold another twice, so that a small one is
 * written as an endless one. */
static void write_value(lua_State *L, struct json_writer *w, int depth)
{
  struct str s;
  luaL_checkstack(L, 4, "nested too deep");
  if (depth > DEEPEST)
    luaL_error(L, "nested too deep");
  if (w->out->len > MAX_BYTES)
    luaL_error(L, "too large for a configuration");
  switch (lua_type(L, -1)) {
  case LUA_TBOOLEAN: json_boolean(w, lua_toboolean(L, -1)); break;
  case LUA_TSTRING:
    s.p = lua_tolstring(L, -1, &s.len);
    json_string(w, s);
    break;
  case LUA_TNUMBER:
    /* math.huge is a rate; JSON has no word for it but a string. */
    if (lua_tonumber(L, -1) > 1e308)
      json_string(w, STR("inf"));
    else
      json_number(w, lua_tonumber(L, -1));
    break;
  case LUA_TTABLE:
    if (lua_objlen(L, -1) > 0)
      write_array(L, w, depth);
    else
      write_object(L, w, depth);
    break;
  default: luaL_error(L, "a %s is no value of an option", luaL_typename(L, -1));
  }
}

static int getenv_l(lua_State *L)
{
  lua_pushstring(L, getenv(luaL_checkstring(L, 1)));
  return 1;
}

/* A scenario's box without what belongs to a run, but with the environment. */
static void open_libraries(lua_State *L)
{
  static const char *const gone[] = {"load", "loadstring", "require"};
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
    lua_pushnil(L);
    lua_setglobal(L, gone[i]);
  }
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, getenv_l);
  lua_setfield(L, -2, "getenv");
  lua_setglobal(L, "os");
}

struct reading {
  struct str text;
  struct json_writer w;
};

static int read_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  struct reading *r = vm_ud(L);
  open_libraries(L);
  lua_pushfstring(L, "@%s", vm->scenario->path);
  if (luaL_loadbufferx(L, r->text.p, r->text.len, lua_tostring(L, -1), "t") !=
      0)
    return lua_error(L);
  lua_call(L, 0, 1);
  if (!lua_istable(L, -1))
    return luaL_error(L, "must return a table");
  vm_guard(vm);
  write_value(L, &r->w, 0);
  vm_unguard(vm);
  return 0;
}

int config_lua_read(struct str text, const char *place, struct buf *out,
                    struct err *e)
{
  const struct scenario s = {.path = (char *)place};
  struct reading r = {text, {.out = out}};
  struct watchdog *w = watchdog_new(limit_ns / WATCHDOG_PATIENCE);
  struct vm *vm = vm_bare(&s, NULL);
  int status = 0;
  vm_watch(vm, w);
  vm_enter(vm, HOOK_SETUP);
  if (vm_protected(vm, read_l, &r) != 0)
    status = err_add(e, "%s", vm_error(vm));
  vm_leave(vm);
  vm_free(vm);
  watchdog_free(w);
  return status;
}
