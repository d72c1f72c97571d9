/* request_table.h -- the table that request(ctx) and s:request{} take, into
 * bytes that can be sent. Wrong types and unknown fields are errors. */
#ifndef STOKE_SCRIPT_REQUEST_TABLE_H
#define STOKE_SCRIPT_REQUEST_TABLE_H

#include "script/request.h"

struct lua_State;

/* Prepare the lookup of field names, once per VM. [-0, +0, m] */
void request_table_open(struct lua_State *L);
/* Read the table on top of the stack into *out, which is reset first. `what`
 * names the caller in errors: "request". [-0, +0, v] */
void request_table_read(struct lua_State *L, const char *what,
                        struct request *out);

#endif
