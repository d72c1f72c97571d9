/* plain.h -- plain Lua data as bytes, to carry setup's result from the main
 * thread's VM into the others.
 * Plain is: nil, booleans, numbers, strings, and tables of these. Not JSON,
 * because every number, byte and kind of key has to arrive as it was. */
#ifndef STOKE_SCRIPT_PLAIN_H
#define STOKE_SCRIPT_PLAIN_H

#include "base/buf.h"

struct lua_State;

/* Append the value at index `i`. 0, or -1 with the place and the reason in
 * `why` ("data.users[3] is a function"); `name` is what the place begins
 * with. Does not raise. */
int plain_write(struct lua_State *L, int i, struct buf *out, const char *name,
                char why[256]);
/* Push what plain_write wrote. [-0, +1, m] */
void plain_push(struct lua_State *L, struct str data);

#endif
