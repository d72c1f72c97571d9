#include "script/recursion.h"

#include <stdint.h>

#include "script/vm_impl.h"

/* string.gsub(s, pattern, replacement [, n]) -> text, count  [-0, +2, e]
 * coroutine.resume(co, ...) -> true, ... | false, err        [-0, +n, m]
 * coroutine.wrap(f) -> function                              [-0, +1, m]
 * coroutine.running() -> co | nil                            [-0, +1, -] */

enum { DEEPEST = 1 << 20 };

void recursion_check(lua_State *L)
{
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (vm_of(L)->stack_base - here > DEEPEST)
    luaL_error(L, "stack overflow (calls through C are nested too deeply)");
}

/* Upvalue 1: the function of the library. */
static int gsub_l(lua_State *L)
{
  recursion_check(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* ---- coroutines ---- */

/* Why `co` cannot go on, or NULL. */
static const char *obstacle(lua_State *L, lua_State *co)
{
  lua_Debug ar;
  if (co == L)
    return "cannot resume itself";
  if (lua_status(co) == LUA_YIELD)
    return NULL;
  if (lua_status(co) != 0)
    return "cannot resume dead coroutine";
  if (lua_getstack(co, 0, &ar) > 0)
    return "cannot resume non-suspended coroutine";
  return lua_gettop(co) == 0 ? "cannot resume dead coroutine" : NULL;
}

/* Hand the `n` values on top over to `co` and let it run. Returns how many
 * came back, on top, or -1 with an error there. */
static int resume(lua_State *L, lua_State *co, int n)
{
  const char *why;
  int status, results;
  recursion_check(L);
  why = obstacle(L, co);
  if (why || !lua_checkstack(co, n)) {
    lua_pushstring(L, why ? why : "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, n);
  status = lua_resume(co, n);
  if (status != 0 && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  results = lua_gettop(co);
  luaL_checkstack(L, results + 1, "too many results to resume");
  lua_xmove(co, L, results);
  return results;
}

static int resume_l(lua_State *L)
{
  lua_State *co = lua_tothread(L, 1);
  int n;
  luaL_argcheck(L, co, 1, "coroutine expected");
  n = resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, n >= 0);
  lua_insert(L, n >= 0 ? -(n + 1) : -2);
  return n >= 0 ? n + 1 : 2;
}

/* Upvalue 1: the coroutine. */
static int wrapped_l(lua_State *L)
{
  int n = resume(L, lua_tothread(L, lua_upvalueindex(1)), lua_gettop(L));
  return n >= 0 ? n : lua_error(L);
}

static int wrap_l(lua_State *L)
{
  lua_State *co;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, wrapped_l, 1);
  return 1;
}

/* nil in a session and in control: those only C may resume, or an answer would
 * come to somebody who has gone on without it. */
static int running_l(lua_State *L)
{
  if (lua_pushthread(L) || vm_of(L)->resumed == L)
    lua_pushnil(L);
  return 1;
}

void recursion_open(lua_State *L)
{
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "gsub");
  lua_pushcclosure(L, gsub_l, 1);
  lua_setfield(L, -2, "gsub");
  lua_getglobal(L, "coroutine");
  lua_pushcfunction(L, resume_l);
  lua_setfield(L, -2, "resume");
  lua_pushcfunction(L, wrap_l);
  lua_setfield(L, -2, "wrap");
  lua_pushcfunction(L, running_l);
  lua_setfield(L, -2, "running");
  lua_pop(L, 2);
}
