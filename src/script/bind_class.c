#include "script/bind_class.h"

static void set_function(lua_State *L, const char *name, lua_CFunction f)
{
  if (!f)
    return;
  lua_pushcfunction(L, f);
  lua_setfield(L, -2, name);
}

void bind_class(lua_State *L, const struct bind_class *c)
{
  luaL_newmetatable(L, c->name);
  lua_newtable(L);
  luaL_register(L, NULL, c->methods);
  if (c->index)
    lua_pushcclosure(L, c->index, 1);
  lua_setfield(L, -2, "__index");
  set_function(L, "__len", c->len);
  set_function(L, "__gc", c->gc);
  lua_pushstring(L, c->name);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

bool bind_class_method(lua_State *L)
{
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (!lua_isnil(L, -1))
    return true;
  lua_pop(L, 1);
  return false;
}

void *bind_self(lua_State *L, int i, const char *name)
{
  void *self = luaL_testudata(L, i, name);
  if (!self)
    luaL_argerror(L, i,
                  lua_pushfstring(L,
                                  "%s expected, got %s; is it called with "
                                  "a colon, as in x:f(…)?",
                                  name, luaL_typename(L, i)));
  return self;
}
