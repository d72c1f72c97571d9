#include "script/sandbox.h"

#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "script/recursion.h"
#include "script/vm_impl.h"

/* print(...)                      [-0, +0, e]  a line on stderr
 * load(text | f [, name [, mode [, env]]]), loadstring(text [, name])
 *                                 -> function | nil, err  [-0, +(1|2), m]
 * collectgarbage([opt])           [-0, +1, e]
 * math.random([m [, n]])          [-0, +1, e]
 * math.randomseed()               [-0, +0, e]  always an error
 * string.rep(s, n [, sep])        [-0, +1, e]
 * os.date, os.time                as they are
 * os.exit([code])                 [-0, +0, e]  ends the run */

struct names {
  const char *library; /* "" for the globals */
  const char *const *list;
};

static const char *const base_names[] = {
    "_G",       "_VERSION", "assert",     "error",        "getmetatable",
    "ipairs",   "next",     "pairs",      "pcall",        "rawequal",
    "rawget",   "rawset",   "select",     "setmetatable", "tonumber",
    "tostring", "type",     "unpack",     "xpcall",       "coroutine",
    "string",   "table",    "math",       "bit",          "jit",
    "os",       "load",     "loadstring", "print",        "collectgarbage",
    NULL};
static const char *const string_names[] = {
    "byte",  "char",  "find", "format",  "gmatch", "gsub",  "len",
    "lower", "match", "rep",  "reverse", "sub",    "upper", NULL};
static const char *const table_names[] = {
    "concat", "foreach", "foreachi", "getn", "insert", "maxn",
    "move",   "pack",    "remove",   "sort", "unpack", NULL};
static const char *const os_names[] = {"clock", "date", "difftime",
                                       "exit",  "time", NULL};
static const char *const jit_names[] = {"arch",    "flush",       "off",
                                        "on",      "os",          "status",
                                        "version", "version_num", NULL};

/* ---- what replaces a standard function ---- */

/* In pieces, so that a line never tears; arguments as the real one has them,
 * through tostring and its metamethods. */
static int print_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  int n = lua_gettop(L);
  luaL_Buffer b;
  size_t len;
  const char *text;
  if (vm->quiet)
    return 0;
  recursion_check(L);
  lua_getglobal(L, "tostring");
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, n + 1);
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    if (!lua_isstring(L, -1))
      return luaL_error(L, "'tostring' must return a string to 'print'");
    lua_replace(L, i);
  }
  lua_settop(L, n);
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    if (i > 1)
      luaL_addchar(&b, '\t');
    text = lua_tolstring(L, i, &len);
    luaL_addlstring(&b, text, len);
  }
  luaL_pushresult(&b);
  vm_guard(vm);
  log_plain("%s", lua_tostring(L, -1));
  vm_unguard(vm);
  return 0;
}

/* The pieces that a reader function returns, joined. [-1, +1, e] */
static int join_pieces(lua_State *L)
{
  int n = 0;
  recursion_check(L);
  lua_newtable(L);
  for (;;) {
    lua_pushvalue(L, 1);
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1))
      break;
    if (!lua_isstring(L, -1))
      return luaL_error(L, "load: the reader must return strings");
    if (lua_objlen(L, -1) == 0)
      break;
    lua_rawseti(L, -2, ++n);
  }
  lua_pop(L, 1);
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "concat");
  lua_pushvalue(L, -3);
  lua_call(L, 1, 1);
  return 1;
}

/* Bytecode is not checked by LuaJIT and could do anything. */
static int load_l(lua_State *L)
{
  const char *text, *name;
  size_t len;
  bool env = lua_gettop(L) >= 4;
  lua_settop(L, 4);
  if (lua_isfunction(L, 1)) {
    name = luaL_optstring(L, 2, "=(load)");
    lua_pushcfunction(L, join_pieces);
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 1, 1, 0) != 0) {
      lua_pushnil(L);
      lua_insert(L, -2);
      return 2;
    }
    lua_replace(L, 1);
  } else {
    luaL_checkstring(L, 1);
    name = luaL_optstring(L, 2, lua_tostring(L, 1));
  }
  text = luaL_checklstring(L, 1, &len);
  if (luaL_loadbufferx(L, text, len, name, "t") != 0) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  if (env) {
    lua_pushvalue(L, 4);
    lua_setfenv(L, -2);
  }
  return 1;
}

static int collectgarbage_l(lua_State *L)
{
  static const char *const options[] = {"collect", "count", "step", NULL};
  switch (luaL_checkoption(L, 1, "collect", options)) {
  case 0: lua_gc(L, LUA_GCCOLLECT, 0); break;
  case 1: lua_pushnumber(L, (lua_Number)vm_of(L)->memory / 1024); return 1;
  default: lua_pushboolean(L, lua_gc(L, LUA_GCSTEP, 0)); return 1;
  }
  lua_pushinteger(L, 0);
  return 1;
}

static int random_l(lua_State *L)
{
  struct rng *r = vm_of(L)->rng;
  lua_Number lo = 1, hi;
  switch (lua_gettop(L)) {
  case 0: lua_pushnumber(L, rng_double(r)); return 1;
  case 1: hi = floor(luaL_checknumber(L, 1)); break;
  default:
    lo = floor(luaL_checknumber(L, 1));
    hi = floor(luaL_checknumber(L, 2));
  }
  luaL_argcheck(L, lo <= hi && lo >= -0x1p53 && hi <= 0x1p53, lua_gettop(L),
                "interval is empty");
  lua_pushnumber(L, (lua_Number)rng_int(r, (int64_t)lo, (int64_t)hi));
  return 1;
}

static int randomseed_l(lua_State *L)
{
  return luaL_error(L, "math.randomseed is refused: random numbers come from "
                       "the run's --seed and the request's id, so that a run "
                       "can be repeated");
}

/* Upvalue 1: the function of the library. What cannot fit is refused before
 * LuaJIT raises its own error for it, which it does wrongly from compiled
 * code (see vm.c). */
static int rep_l(lua_State *L)
{
  size_t len, separator = 0;
  double n;
  luaL_checklstring(L, 1, &len);
  n = luaL_checknumber(L, 2);
  if (!lua_isnoneornil(L, 3))
    luaL_checklstring(L, 3, &separator);
  if (n * (double)(len + separator) > (double)vm_of(L)->memory_max)
    return luaL_error(L,
                      "not enough memory (the cap is %d MiB; see "
                      "--lua-memory)",
                      (int)(vm_of(L)->memory_max >> 20));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

static void replace_rep(lua_State *L)
{
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "rep");
  lua_pushcclosure(L, rep_l, 1);
  lua_setfield(L, -2, "rep");
  lua_pop(L, 1);
}

/* Upvalue 1: the function of the library. C's time zones have a lock, which a
 * thread that the watchdog takes out of a call must not keep. */
static int guarded_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  vm_guard(vm);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  vm_unguard(vm);
  return lua_gettop(L);
}

static void guard_os(lua_State *L, const char *name)
{
  lua_getglobal(L, "os");
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, guarded_l, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

static int exit_l(lua_State *L)
{
  char reason[256];
  luaL_where(L, 1);
  snprintf(reason, sizeof reason, "%sos.exit was called", lua_tostring(L, -1));
  vm_stop(vm_of(L), reason);
  return luaL_error(L, "os.exit: the run is asked to stop");
}

static const luaL_Reg replacements[] = {
    {"print", print_l},
    {NULL, NULL},
};
static const luaL_Reg boxed_replacements[] = {
    {"load", load_l},
    {"loadstring", load_l},
    {"collectgarbage", collectgarbage_l},
    {NULL, NULL},
};
static const luaL_Reg math_replacements[] = {
    {"random", random_l},
    {"randomseed", randomseed_l},
    {NULL, NULL},
};

/* ---- the box ---- */

/* Set the functions in the global table `name` ("_G" for the globals). */
static void replace(lua_State *L, const char *name, const luaL_Reg *list)
{
  lua_getglobal(L, name);
  for (; list->name; list++) {
    lua_pushcfunction(L, list->func);
    lua_setfield(L, -2, list->name);
  }
  lua_pop(L, 1);
}

static bool listed(const char *const *list, const char *name)
{
  while (*list && strcmp(*list, name) != 0)
    list++;
  return *list != NULL;
}

/* Remove every field of the global table `name` that is not on the list. */
static void keep_only(lua_State *L, const char *name, const char *const *list)
{
  lua_getglobal(L, name);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING && !listed(list, lua_tostring(L, -1))) {
      lua_pushvalue(L, -1);
      lua_pushnil(L);
      lua_rawset(L, -4);
    }
  }
  lua_pop(L, 1);
}

static void open_library(lua_State *L, const char *name, lua_CFunction open)
{
  lua_pushcfunction(L, open);
  lua_pushstring(L, name);
  lua_call(L, 1, 0);
}

static void open_boxed(lua_State *L)
{
  open_library(L, "", luaopen_base);
  open_library(L, LUA_TABLIBNAME, luaopen_table);
  open_library(L, LUA_STRLIBNAME, luaopen_string);
  open_library(L, LUA_MATHLIBNAME, luaopen_math);
  open_library(L, LUA_BITLIBNAME, luaopen_bit);
  open_library(L, LUA_OSLIBNAME, luaopen_os);
  open_library(L, LUA_JITLIBNAME, luaopen_jit);
  keep_only(L, "_G", base_names);
  keep_only(L, "string", string_names);
  keep_only(L, "table", table_names);
  keep_only(L, "os", os_names);
  keep_only(L, "jit", jit_names);
  replace(L, "_G", boxed_replacements);
  /* getmetatable("") would give the table behind every string. */
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_pushliteral(L, "string");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 2);
}

void sandbox_open(lua_State *L, bool unsafe)
{
  static const luaL_Reg os_replacements[] = {{"exit", exit_l}, {NULL, NULL}};
  if (unsafe)
    luaL_openlibs(L);
  else
    open_boxed(L);
  recursion_open(L);
  replace_rep(L);
  guard_os(L, "date");
  guard_os(L, "time");
  replace(L, "_G", replacements);
  replace(L, "math", math_replacements);
  replace(L, "os", os_replacements);
}

/* "table.new" and "table.clear" hide among the modules to preload. */
static void add_preloaded(lua_State *L, const char *name)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_PRELOAD");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, name);
    if (lua_isfunction(L, -1)) {
      lua_pushstring(L, name);
      lua_call(L, 1, 1);
      lua_setfield(L, -3, name);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

void sandbox_modules(lua_State *L)
{
  static const char *const libraries[] = {
      "_G", "string", "table", "math", "bit", "os", "jit", "coroutine", NULL};
  vm_push_ref(L, REF_LOADED);
  for (const char *const *name = libraries; *name; name++) {
    lua_getglobal(L, *name);
    lua_setfield(L, -2, *name);
  }
  add_preloaded(L, "table.new");
  add_preloaded(L, "table.clear");
  lua_pop(L, 1);
}
