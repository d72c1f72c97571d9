/* config_lua.h -- a configuration file in Lua, as JSON. */
#ifndef STOKE_SCRIPT_CONFIG_LUA_H
#define STOKE_SCRIPT_CONFIG_LUA_H

#include "base/buf.h"
#include "base/err.h"

/* Run `text`, which returns a table of plain values, in the box of a scenario
 * (see sandbox.h) with os.getenv and without require, and append the table as
 * JSON. It has five seconds and the memory of a scenario. 0, or -1 and a
 * message that names `place`. */
int config_lua_read(struct str text, const char *place, struct buf *out,
                    struct err *e);

#endif
