#include <lauxlib.h>
#include <lua.h>
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "script/bind_class.h"
#include "script/bindings.h"
#include "script/http_table.h"
#include "script/request_table.h"
#include "script/session_impl.h"
#include "script/vm_impl.h"

/* The `s` of session(s).
 * s:request{…}          -> response             yields [-0, +1, v]
 * s:http{…}             -> response             yields [-0, +1, v]
 * s:sleep(seconds)                              yields [-0, +0, v]
 * s:think(seconds)      the same, counted apart yields [-0, +0, v]
 * s:parallel{f, g, …}   -> {result of f, …}     yields [-0, +1, v]
 * s:race{f, g, …}       -> result, place | nil  yields [-0, +(1|2), v]
 * s:conversation{…}     -> conversation                [-0, +1, v]
 * s:fail(reason)        never returns           yields [-0, +0, v]
 * s:stop(reason)        ask the run to end             [-0, +0, v]
 * s:plan(n)             turns that are meant to come   [-0, +0, v]
 * s:log(…)              a line on stderr               [-0, +0, v]
 * s:record(name[, v]), s:check(name, ok)    see bind_record.c
 * s.id, .branch, .turn, .params, .data, .args, .stage, .rng, .now
 *                                                      [-0, +1, v] */

#define SESSION_MT "stoke.session"

enum { ENV_BOX = 1, ENV_RNG, ENV_RESULTS };

void session_push(lua_State *L, struct session *s)
{
  struct session_box *box;
  lua_createtable(L, 3, 0);
  box = lua_newuserdata(L, sizeof *box);
  box->session = s;
  box->is_branch = s->branch > 0;
  luaL_getmetatable(L, SESSION_MT);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawseti(L, -3, ENV_BOX);
  s->rng = rng_push(L);
  lua_rawseti(L, -3, ENV_RNG);
  lua_insert(L, -2);
  s->env_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  s->box = box; /* only now is it safe from the collector */
}

static void push_env(lua_State *L, const struct session *s, int slot)
{
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->env_ref);
  lua_rawgeti(L, -1, slot);
  lua_remove(L, -2);
}

void session_keep_result(lua_State *L, struct session *s, uint32_t index)
{
  push_env(L, s, ENV_RESULTS);
  lua_insert(L, -2);
  lua_rawseti(L, -2, (int)index);
  lua_pop(L, 1);
}

int session_push_results(lua_State *L, struct session *s)
{
  push_env(L, s, ENV_RESULTS);
  if (!s->racing)
    return 1;
  lua_rawgeti(L, -1, (int)s->winner);
  lua_remove(L, -2);
  if (!s->winner)
    return 1;
  lua_pushnumber(L, s->winner);
  return 2;
}

static struct session *check_session(lua_State *L)
{
  struct session_box *box = bind_self(L, 1, SESSION_MT);
  if (!box->session)
    luaL_error(L, "this %s is over", box->is_branch ? "branch" : "session");
  return box->session;
}

/* For calls that wait: only the coroutine that is the session may, and only
 * where it can yield. */
static struct session *check_running(lua_State *L, const char *call)
{
  struct session *s = check_session(L);
  if (s->co != L)
    luaL_error(L, "s:%s must be called from the session's own coroutine%s",
               call,
               s->open_branches ? " (a branch has its own s: take it as the "
                                  "function's argument)"
                                : "");
  if (!lua_isyieldable(L))
    luaL_error(L,
               "s:%s waits, and cannot do so in a function that a C function "
               "calls (string.gsub, table.sort)",
               call);
  return s;
}

/* "250ms", "2" or "exp(2s)" */
static bool parse_time(lua_State *L, int i, struct dist *d)
{
  struct err ignored = {0};
  struct str text;
  int status;
  text.p = lua_tolstring(L, i, &text.len);
  vm_guard(vm_of(L));
  status = dist_parse(text, d, "", &ignored);
  err_free(&ignored);
  vm_unguard(vm_of(L));
  return status == 0;
}

static uint64_t check_time(lua_State *L, const struct session *s, int i)
{
  const struct dist *d = test_dist(L, i);
  struct dist own = {.kind = DIST_CONSTANT};
  double seconds;
  if (lua_type(L, i) == LUA_TNUMBER)
    own.a = lua_tonumber(L, i);
  else if (!d && !(lua_type(L, i) == LUA_TSTRING && parse_time(L, i, &own)))
    own.a = INFINITY;
  seconds = dist_sample(d ? d : &own, s->rng);
  luaL_argcheck(L, seconds < 1e9, i,
                "a time is seconds, \"250ms\", or a distribution such as "
                "\"exp(2s)\"");
  /* A drawn time may well come out negative. */
  return seconds > 0 ? (uint64_t)(seconds * 1e9) : 0;
}

/* ---- calls that wait ---- */

static int wait(lua_State *L, struct session *s, enum waiting for_what)
{
  s->waiting = for_what;
  return lua_yield(L, for_what == WAIT_BRANCHES);
}

static int request_l(lua_State *L)
{
  struct session *s = check_running(L, "request");
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  vm_guard(vm_of(L));
  request_table_read(L, "s:request", &s->pool->request);
  vm_unguard(vm_of(L));
  return wait(L, s, WAIT_EXCHANGE);
}

static int http_l(lua_State *L)
{
  struct session *s = check_running(L, "http");
  lua_settop(L, 2);
  vm_guard(vm_of(L));
  http_table_read(L, "s:http", &s->pool->request);
  vm_unguard(vm_of(L));
  return wait(L, s, WAIT_EXCHANGE);
}

static int sleep_l(lua_State *L)
{
  struct session *s = check_running(L, "sleep");
  s->wait_ns = check_time(L, s, 2);
  return wait(L, s, WAIT_ALARM);
}

static int think_l(lua_State *L)
{
  struct session *s = check_running(L, "think");
  s->wait_ns = check_time(L, s, 2);
  return wait(L, s, WAIT_THINK);
}

/* A list of functions? False: an empty one. */
static bool check_branches(lua_State *L, const char *call)
{
  size_t n;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  n = lua_objlen(L, 2);
  for (size_t i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, (int)i);
    if (!lua_isfunction(L, -1))
      return luaL_error(L, "s:%s: number %d is a %s, not a function", call,
                        (int)i, luaL_typename(L, -1));
    lua_pop(L, 1);
  }
  if (n > 0)
    return true;
  lua_pushnil(L);
  if (lua_next(L, 2))
    return luaL_error(L,
                      "s:%s takes a list of functions: { f, g }; what has "
                      "names would not be called",
                      call);
  return false;
}

static int parallel_l(lua_State *L)
{
  struct session *s = check_running(L, "parallel");
  if (check_branches(L, "parallel")) {
    s->racing = false;
    return wait(L, s, WAIT_BRANCHES);
  }
  lua_newtable(L);
  return 1;
}

static int race_l(lua_State *L)
{
  struct session *s = check_running(L, "race");
  if (!check_branches(L, "race")) {
    lua_pushnil(L);
    return 1;
  }
  s->racing = true;
  s->winner = 0;
  return wait(L, s, WAIT_BRANCHES);
}

void session_open_branches(lua_State *L, struct session *s)
{
  int list, n;
  lua_xmove(s->co, L, 1);
  list = lua_gettop(L);
  n = (int)lua_objlen(L, list);
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->env_ref);
  lua_createtable(L, n, 0);
  lua_rawseti(L, -2, ENV_RESULTS);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    session_branch(s, L, (uint32_t)i);
  }
}

/* The rest is Lua: lua/stoke/conversation.lua. Upvalue 1: require. */
static int conversation_l(lua_State *L)
{
  check_session(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushliteral(L, "stoke.conversation");
  lua_call(L, 1, 1);
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

static int fail_l(lua_State *L)
{
  struct session *s = check_running(L, "fail");
  struct str reason;
  reason.p = luaL_optlstring(L, 2, "the scenario failed it", &reason.len);
  vm_guard(vm_of(L));
  buf_reset(&s->pool->reason);
  buf_addstr(&s->pool->reason, reason);
  vm_unguard(vm_of(L));
  return wait(L, s, WAIT_FAIL);
}

/* ---- calls that don't ---- */

static int stop_l(lua_State *L)
{
  check_session(L);
  vm_stop(vm_of(L), luaL_optstring(L, 2, "the scenario stopped the run"));
  return 0;
}

static int plan_l(lua_State *L)
{
  struct session *s = check_session(L);
  double n = luaL_checknumber(L, 2);
  luaL_argcheck(L, n >= 1 && n < 1e9, 2, "a number of turns expected");
  s->root->planned = (uint32_t)n;
  return 0;
}

static int log_l(lua_State *L)
{
  struct session *s = check_session(L);
  struct buf line = {0};
  int n = lua_gettop(L);
  lua_getglobal(L, "tostring");
  lua_pushliteral(L, "");
  for (int i = 2; i <= n; i++) {
    if (i > 2)
      lua_pushliteral(L, "\t");
    lua_pushvalue(L, n + 1);
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    if (!lua_isstring(L, -1))
      return luaL_error(L, "'tostring' must return a string to 's:log'");
    lua_concat(L, i > 2 ? 3 : 2);
  }
  vm_guard(vm_of(L));
  buf_addf(&line, "session %llu: ", (unsigned long long)s->item.id);
  buf_adds(&line, lua_tostring(L, -1));
  log_plain("%s", buf_cstr(&line));
  buf_free(&line);
  vm_unguard(vm_of(L));
  return 0;
}

static int now_l(lua_State *L)
{
  const struct vm *vm = vm_of(L);
  lua_pushnumber(L, ns_to_sec(ns_since(vm->t0_ns, clock_ns())));
  return 1;
}

/* ---- fields ---- */

enum field { F_ID, F_BRANCH, F_TURN, F_PARAMS, F_DATA, F_ARGS, F_STAGE, F_RNG };

static const char *const field_names[] = {"id",   "branch", "turn",  "params",
                                          "data", "args",   "stage", "rng"};

static void push_field(lua_State *L, struct session *s, enum field f)
{
  switch (f) {
  case F_ID: lua_pushnumber(L, (lua_Number)s->item.id); break;
  case F_BRANCH: lua_pushnumber(L, s->branch); break;
  case F_TURN: lua_pushnumber(L, s->root->turns); break;
  case F_PARAMS: vm_push_ref(L, REF_PARAMS); break;
  case F_DATA: vm_push_ref(L, REF_DATA); break;
  case F_ARGS: vm_push_ref(L, REF_ARGS); break;
  case F_STAGE: lua_pushstring(L, s->item.stage_label); break;
  case F_RNG: push_env(L, s, ENV_RNG); break;
  }
}

/* Upvalue 1: name -> method, or the number of a field. */
static int index_l(lua_State *L)
{
  struct session *s = check_session(L);
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (lua_isnil(L, -1))
    return luaL_error(L, "a session has no field '%s'",
                      lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2)
                                                    : luaL_typename(L, 2));
  if (lua_type(L, -1) == LUA_TNUMBER)
    push_field(L, s, (enum field)lua_tointeger(L, -1));
  return 1;
}

void bind_session(lua_State *L)
{
  static const luaL_Reg methods[] = {
      {"request", request_l}, {"http", http_l},         {"sleep", sleep_l},
      {"think", think_l},     {"parallel", parallel_l}, {"race", race_l},
      {"fail", fail_l},       {"stop", stop_l},         {"plan", plan_l},
      {"log", log_l},         {"now", now_l},           {NULL, NULL},
  };
  luaL_newmetatable(L, SESSION_MT);
  lua_newtable(L);
  luaL_register(L, NULL, methods);
  record_set(L, true);
  lua_getglobal(L, "require");
  lua_pushcclosure(L, conversation_l, 1);
  lua_setfield(L, -2, "conversation");
  for (size_t i = 0; i < sizeof field_names / sizeof *field_names; i++) {
    lua_pushinteger(L, (lua_Integer)i);
    lua_setfield(L, -2, field_names[i]);
  }
  lua_pushcclosure(L, index_l, 1);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, SESSION_MT);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}
