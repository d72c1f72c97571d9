/* bind_class.h -- how scripts see an object of ours: methods, fields, length
 * and end, and a metatable that they cannot get at. */
#ifndef STOKE_SCRIPT_BIND_CLASS_H
#define STOKE_SCRIPT_BIND_CLASS_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>

struct bind_class {
  const char *name;        /* in the registry; what getmetatable returns */
  const luaL_Reg *methods; /* ends with {NULL, NULL} */
  /* NULL: fields are the methods alone. Else finds them, with the table of
   * methods as its first upvalue. */
  lua_CFunction index;
  lua_CFunction len, gc; /* NULL: none */
};

/* Register the metatable under its name. [-0, +0, m] */
void bind_class(lua_State *L, const struct bind_class *c);
/* The object of class `name` that a method got as argument `i`, where most of
 * those who call with a dot are caught. [-0, +0, v] */
void *bind_self(lua_State *L, int i, const char *name);
/* Within `index`: push the method that the key at 2 names; false, and
 * nothing, when it names none. [-0, +(0|1), -] */
bool bind_class_method(lua_State *L);

#endif
