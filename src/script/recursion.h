/* recursion.h -- C functions that call Lua functions, which call them again.
 * LuaJIT bounds the Lua stack but not C's: string.gsub with a function needs
 * 9 KB a level and overflows the stack of a thread, and so do coroutines that
 * resume one another; both end the process. These are replaced by versions
 * that look how deep they are. coroutine.running does not hand out the
 * coroutines that C resumes. What remains (sort, format, foreach) reaches
 * the end of the Lua stack first, within 4 MB: threads that run Lua need a
 * stack of 8 MB. */
#ifndef STOKE_SCRIPT_RECURSION_H
#define STOKE_SCRIPT_RECURSION_H

struct lua_State;

/* Replace string.gsub, coroutine.resume, coroutine.wrap and
 * coroutine.running. [-0, +0, m] */
void recursion_open(struct lua_State *L);
/* Raise "stack overflow" more than 1 MB below vm_call. For every C function
 * that calls what a script gave it. [-0, +0, v] */
void recursion_check(struct lua_State *L);

#endif
