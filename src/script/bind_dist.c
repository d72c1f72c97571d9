#include <lauxlib.h>
#include <lua.h>

#include "script/bind_class.h"
#include "script/bindings.h"

/* d:sample(rng) -> number  [-0, +1, v]
 * What stoke.dist("…") and parameters of type "dist" are. */

#define DIST_MT "stoke.dist"

void dist_push(lua_State *L, const struct dist *d)
{
  struct dist *copy = lua_newuserdata(L, sizeof *copy);
  *copy = *d;
  luaL_getmetatable(L, DIST_MT);
  lua_setmetatable(L, -2);
}

const struct dist *test_dist(lua_State *L, int i)
{
  const struct dist *d = NULL;
  if (lua_getmetatable(L, i)) {
    luaL_getmetatable(L, DIST_MT);
    if (lua_rawequal(L, -1, -2))
      d = lua_touserdata(L, i);
    lua_pop(L, 2);
  }
  return d;
}

static int sample_l(lua_State *L)
{
  const struct dist *d = bind_self(L, 1, DIST_MT);
  lua_pushnumber(L, dist_sample(d, check_rng(L, 2)));
  return 1;
}

void bind_dist(lua_State *L)
{
  static const luaL_Reg methods[] = {{"sample", sample_l}, {NULL, NULL}};
  bind_class(L, &(struct bind_class){.name = DIST_MT, .methods = methods});
}
