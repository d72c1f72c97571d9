#include "script/config_lua.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/json.h"

enum { DEEPEST = 64 };

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

/* The value on top. */
static void write_value(lua_State *L, struct json_writer *w, int depth)
{
  struct str s;
  luaL_checkstack(L, 4, "nested too deep");
  if (depth > DEEPEST)
    luaL_error(L, "nested too deep");
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

/* Arguments: text, chunk name, writer. [-3, +0, e] */
static int read_l(lua_State *L)
{
  size_t len;
  const char *text = lua_tolstring(L, 1, &len);
  struct json_writer *w = lua_touserdata(L, 3);
  if (luaL_loadbuffer(L, text, len, lua_tostring(L, 2)) != 0)
    return lua_error(L);
  lua_call(L, 0, 1);
  if (!lua_istable(L, -1))
    return luaL_error(L, "%s: must return a table", lua_tostring(L, 2) + 1);
  write_value(L, w, 0);
  return 0;
}

static void open_libraries(lua_State *L)
{
  static const char *const gone[] = {"dofile", "loadfile", "load",
                                     "loadstring"};
  static const lua_CFunction libraries[] = {luaopen_base, luaopen_table,
                                            luaopen_string, luaopen_math};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    lua_pushcfunction(L, libraries[i]);
    lua_call(L, 0, 0);
  }
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
    lua_pushnil(L);
    lua_setglobal(L, gone[i]);
  }
  lua_pushcfunction(L, luaopen_os);
  lua_call(L, 0, 1);
  lua_createtable(L, 0, 1);
  lua_getfield(L, -2, "getenv");
  lua_setfield(L, -2, "getenv");
  lua_setglobal(L, "os");
  lua_pop(L, 1);
}

int config_lua_read(struct str text, const char *place, struct buf *out,
                    struct err *e)
{
  lua_State *L = luaL_newstate();
  struct json_writer w = {.out = out};
  int status = 0;
  if (!L)
    return err_add(e, "%s: no memory to run it", place);
  open_libraries(L);
  lua_pushcfunction(L, read_l);
  lua_pushlstring(L, text.p, text.len);
  lua_pushfstring(L, "@%s", place);
  lua_pushlightuserdata(L, &w);
  if (lua_pcall(L, 3, 0, 0) != 0)
    status = err_add(e, "%s", lua_tostring(L, -1));
  lua_close(L);
  return status;
}
