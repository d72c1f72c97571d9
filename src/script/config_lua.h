/* config_lua.h -- a configuration file in Lua, as JSON. */
#ifndef STOKE_SCRIPT_CONFIG_LUA_H
#define STOKE_SCRIPT_CONFIG_LUA_H

#include "base/buf.h"
#include "base/err.h"

/* Run `text`, which returns a table of plain values, with Lua's base, string,
 * table and math libraries and os.getenv, and append the table as JSON. 0, or
 * -1 and a message that names `place`. */
int config_lua_read(struct str text, const char *place, struct buf *out,
                    struct err *e);

#endif
