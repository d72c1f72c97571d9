/* near.h -- "did you mean …?" for Lua code that checks names. */
#ifndef STOKE_SCRIPT_NEAR_H
#define STOKE_SCRIPT_NEAR_H

struct lua_State;

/* near(name, names) -> "; did you mean …?" or ""  [-0, +1, v] */
int near_l(struct lua_State *L);

#endif
