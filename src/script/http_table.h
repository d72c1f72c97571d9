/* http_table.h -- the table that s:http{} takes, into bytes that can be sent.
 * Wrong types and unknown fields are errors. */
#ifndef STOKE_SCRIPT_HTTP_TABLE_H
#define STOKE_SCRIPT_HTTP_TABLE_H

#include "script/request.h"

struct lua_State;

/* Read the table on top of the stack into *out, which is reset first. `what`
 * names the caller in errors: "s:http". [-0, +0, v] */
void http_table_read(struct lua_State *L, const char *what,
                     struct request *out);

#endif
