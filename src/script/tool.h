/* tool.h -- the tool's own commands that are written in Lua.
 * What `stoke sweep`, `compare` and `trend` do is policy: which run comes
 * next, what a difference means. It lives in lua/stoke/cmd/NAME.lua, on a
 * state of the main thread that has all of Lua, for it is our own code. */
#ifndef STOKE_SCRIPT_TOOL_H
#define STOKE_SCRIPT_TOOL_H

#include "base/buf.h"

/* Run the embedded module stoke.cmd.NAME: a function that gets the host (see
 * tool.c) and `request`, a JSON object, as a table, and returns the exit
 * status, which is returned. A Lua error is shown on stderr; 1 then. */
int tool_run(const char *name, struct str request);

/* A question of the command's Lua that only its C can answer: `question` is
 * a JSON object, and so is what is appended to `answer`. */
typedef void tool_ask_cb(struct str question, struct buf *answer, void *ud);
/* The same, with host.ask(question) for it. */
int tool_run_asking(const char *name, struct str request, tool_ask_cb *ask,
                    void *ud);

#endif
