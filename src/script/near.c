#include "script/near.h"

#include "base/suggest.h"
#include "script/vm_impl.h"

int near_l(lua_State *L)
{
  struct suggest near = {.typed = str_of(luaL_checkstring(L, 1))};
  struct buf *text = &vm_of(L)->scratch;
  for (size_t i = 1; i <= lua_objlen(L, 2); i++) {
    lua_rawgeti(L, 2, (int)i);
    /* Borrowed from the list, which keeps them alive. */
    if (lua_type(L, -1) == LUA_TSTRING)
      suggest_consider(&near, str_of(lua_tostring(L, -1)));
    lua_pop(L, 1);
  }
  buf_reset(text);
  suggest_print(&near, "", text);
  lua_pushlstring(L, text->p ? text->p : "", text->len);
  return 1;
}
