/* params_lua.h -- parameters between Lua and C. */
#ifndef STOKE_SCRIPT_PARAMS_LUA_H
#define STOKE_SCRIPT_PARAMS_LUA_H

#include "script/params.h"

struct lua_State;

/* Read the `params` table at index i: names, types, defaults. A message per
 * mistake, each begun with `where`; does not raise. [-0, +0, -] */
int params_read(struct lua_State *L, int i, struct params *out,
                const char *folder, const char *where, struct err *e);
/* Push { name = value } of all that are set. [-0, +1, m] */
void params_push(struct lua_State *L, const struct params *p);

#endif
