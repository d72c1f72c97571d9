#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/version.h"
#include "data/base64.h"
#include "data/foreign.h"
#include "script/bind_json.h"
#include "script/bindings.h"
#include "script/digest.h"
#include "script/files.h"
#include "script/reach.h"
#include "script/vm_impl.h"

/* The global `stoke`:
 * stoke.version, stoke.worker, stoke.workers
 * stoke.json, .data, .tokenizer  see bind_json.c, bind_data.c,
 *                                bind_tokenizer.c
 * stoke.duration(text | number)  -> seconds              [-0, +1, v]
 * stoke.rng(n)                   -> random stream        [-0, +1, v]
 * stoke.dist(text | number)      -> distribution         [-0, +1, v]
 * stoke.read(path)               -> text | nil, err      [-0, +(1|2), m]
 * stoke.lines(path)              -> list | nil, err      [-0, +(1|2), m]
 * stoke.base64(bytes)            -> text                 [-0, +1, m]
 * stoke.hex(bytes)               -> text                 [-0, +1, m]
 * stoke.sha256(bytes)            -> bytes                [-0, +1, m]
 * stoke.hmac(key, bytes)         -> bytes                [-0, +1, m]
 * stoke.stop([reason])           ask the run to end      [-0, +0, m]
 * stoke.record, stoke.check      see bind_record.c */

static int duration_l(lua_State *L)
{
  struct str s;
  uint64_t ns;
  luaL_argcheck(L, lua_isnumber(L, 1) || lua_isstring(L, 1), 1,
                "a duration is a number of seconds or text such as \"250ms\"");
  s.p = lua_tolstring(L, 1, &s.len);
  if (units_duration(s, &ns) < 0)
    return luaL_error(L,
                      "'%s' is not a duration; say for example 30s, 1.5m "
                      "or 250ms",
                      s.p);
  lua_pushnumber(L, ns_to_sec(ns));
  return 1;
}

/* A stream for what many users share, such as document number n: the same on
 * every thread, whoever asks first. */
static int rng_l(lua_State *L)
{
  lua_Number n = luaL_checknumber(L, 1);
  luaL_argcheck(L, n >= 0 && n <= 0x1p53, 1, "a number from 0 up");
  rng_init(rng_push(L), vm_seed(vm_of(L)), RNG_SHARED, (uint64_t)n);
  return 1;
}

static int dist_l(lua_State *L)
{
  struct dist d;
  struct err e = {0};
  struct str s;
  char why[256];
  int status;
  s.p = luaL_checklstring(L, 1, &s.len);
  vm_guard(vm_of(L));
  status = dist_parse(s, &d, "stoke.dist", &e);
  snprintf(why, sizeof why, "%.*s", STR_ARG(str_trim(str_of(err_text(&e)))));
  err_free(&e);
  vm_unguard(vm_of(L));
  if (status < 0)
    return luaL_error(L, "%s", why);
  dist_push(L, &d);
  return 1;
}

/* Into the VM's scratch. */
static int read_file(struct vm *vm, const char *path, char why[128])
{
  char *real = reach(vm, path, why);
  int status = -1;
  buf_reset(&vm->scratch);
  if (real)
    status = files_read(real, &vm->scratch, why);
  mem_free(real);
  return status;
}

/* True with the text in the VM's scratch, or nil and the reason pushed. */
static bool read_argument(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const char *path = reach_path(L, 1);
  char why[128] = "";
  int status;
  vm_guard(vm);
  status = read_file(vm, path, why);
  vm_unguard(vm);
  if (status == 0)
    return true;
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", path, why);
  return false;
}

static int read_l(lua_State *L)
{
  struct str text;
  if (!read_argument(L))
    return 2;
  text = buf_str(&vm_of(L)->scratch);
  lua_pushlstring(L, text.p ? text.p : "", text.len);
  return 1;
}

/* Without their ends (LF or CRLF); a last line needs none. */
static int lines_l(lua_State *L)
{
  const char *why;
  struct str rest;
  int n = 0;
  if (!read_argument(L))
    return 2;
  rest = buf_str(&vm_of(L)->scratch);
  if ((why = foreign_file(rest)) || (why = foreign_lines(rest))) {
    lua_pushnil(L);
    lua_pushfstring(L, "%s: %s", lua_tostring(L, 1), why);
    return 2;
  }
  rest = str_without_bom(rest); /* any file may begin with one */
  lua_newtable(L);
  while (rest.p && rest.len) {
    struct str line = str_split(&rest, '\n');
    if (line.len && line.p[line.len - 1] == '\r')
      line.len--;
    lua_pushlstring(L, line.p, line.len);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

static struct str check_bytes(lua_State *L, int i)
{
  struct str s;
  s.p = luaL_checklstring(L, i, &s.len);
  return s;
}

static int base64_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  struct str bytes = check_bytes(L, 1), text;
  vm_guard(vm);
  buf_reset(&vm->scratch);
  base64_encode(&vm->scratch, bytes);
  vm_unguard(vm);
  text = buf_str(&vm->scratch);
  lua_pushlstring(L, text.p ? text.p : "", text.len);
  return 1;
}

static int hex_l(lua_State *L)
{
  static const char digits[] = "0123456789abcdef";
  struct str bytes = check_bytes(L, 1);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < bytes.len; i++) {
    luaL_addchar(&b, digits[(unsigned char)bytes.p[i] >> 4]);
    luaL_addchar(&b, digits[bytes.p[i] & 15]);
  }
  luaL_pushresult(&b);
  return 1;
}

static int sha256_l(lua_State *L)
{
  unsigned char digest[DIGEST_BYTES];
  digest_raw(check_bytes(L, 1), digest);
  lua_pushlstring(L, (const char *)digest, sizeof digest);
  return 1;
}

static int hmac_l(lua_State *L)
{
  unsigned char digest[DIGEST_BYTES];
  digest_hmac(check_bytes(L, 1), check_bytes(L, 2), digest);
  lua_pushlstring(L, (const char *)digest, sizeof digest);
  return 1;
}

static int stop_l(lua_State *L)
{
  vm_stop(vm_of(L), luaL_optstring(L, 1, "the scenario stopped the run"));
  return 0;
}

void bind_stoke(lua_State *L)
{
  static const luaL_Reg functions[] = {
      {"duration", duration_l}, {"dist", dist_l},     {"rng", rng_l},
      {"read", read_l},         {"lines", lines_l},   {"base64", base64_l},
      {"hex", hex_l},           {"sha256", sha256_l}, {"hmac", hmac_l},
      {"stop", stop_l},         {NULL, NULL},
  };
  const struct vm *vm = vm_of(L);
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  record_set(L, false);
  lua_pushstring(L, stoke_version);
  lua_setfield(L, -2, "version");
  if (vm->workers) {
    lua_pushinteger(L, (lua_Integer)vm->worker + 1);
    lua_setfield(L, -2, "worker");
    lua_pushinteger(L, (lua_Integer)vm->workers);
    lua_setfield(L, -2, "workers");
  }
  bind_json(L);
  lua_setfield(L, -2, "json");
  bind_data(L);
  lua_setfield(L, -2, "data");
  bind_image(L);
  lua_setfield(L, -2, "noise_image");
  bind_tokenizer(L);
  lua_setfield(L, -2, "tokenizer");
}

void bindings_open(lua_State *L)
{
  bind_rng(L);
  bind_dist(L);
  bind_response(L);
  bind_session(L);
  bind_run(L);
  bind_measure(L);
  bind_stoke(L);
  vm_push_ref(L, REF_LOADED);
  lua_getfield(L, -2, "json");
  lua_setfield(L, -2, "stoke.json");
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "stoke");
  lua_pop(L, 1);
  lua_setglobal(L, "stoke");
}
