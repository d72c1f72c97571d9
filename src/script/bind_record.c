#include <lauxlib.h>
#include <lua.h>
#include <math.h>

#include "base/clock.h"
#include "base/suggest.h"
#include "script/bindings.h"
#include "script/vm_impl.h"
#include "stats/custom.h"

/* What a script measures by itself; the same functions as methods of ctx, run
 * and s, and as stoke.record and stoke.check where none of them is at hand.
 * record(name[, v])    counter: how many (1); gauge, trend: a number;
 *                      rate: a boolean                     [-0, +0, v]
 * check(name, ok)      -> ok as a boolean                  [-0, +1, v]
 * What is recorded during the warm-up is checked and forgotten. */

/* Upvalue 1 is where the arguments begin. */
static int first_argument(lua_State *L)
{
  return (int)lua_tointeger(L, lua_upvalueindex(1));
}

static struct custom *custom_of(lua_State *L, const char *call)
{
  struct vm *vm = vm_of(L);
  if (!vm->custom || vm->doing)
    luaL_error(L, "%s: nothing can be recorded while the script is loaded",
               call);
  return vm->custom;
}

static struct str check_name(lua_State *L, int i, const char *call)
{
  struct str name;
  if (lua_type(L, i) != LUA_TSTRING || lua_objlen(L, i) == 0)
    luaL_error(L, "%s: the first argument must be a name, not a %s", call,
               luaL_typename(L, i));
  name.p = lua_tolstring(L, i, &name.len);
  return name;
}

static int undeclared(lua_State *L, const struct custom *c, struct str name)
{
  struct suggest near = {.typed = name};
  struct vm *vm = vm_of(L);
  for (size_t i = 0; i < c->n_metrics; i++)
    suggest_consider(&near, str_of(c->metrics[i].name));
  vm_guard(vm);
  buf_reset(&vm->scratch);
  suggest_print(&near, "", &vm->scratch);
  buf_cstr(&vm->scratch);
  vm_unguard(vm);
  return luaL_error(L, "record: '%s' is not declared%s", name.p,
                    near.n ? buf_cstr(&vm->scratch)
                           : "; add it to the scenario's metrics");
}

static double check_value(lua_State *L, int i, const struct custom_metric *m)
{
  static const char *const wanted[] = {"a number", "a number", "a boolean",
                                       "a number"};
  bool is_rate = m->kind == CUSTOM_RATE;
  double x;
  if (m->kind == CUSTOM_COUNTER && lua_isnoneornil(L, i))
    return 1;
  if (lua_type(L, i) != (is_rate ? LUA_TBOOLEAN : LUA_TNUMBER))
    luaL_error(L, "record: '%s' is a %s: it wants %s, not a %s", m->name,
               custom_kind_name(m->kind), wanted[m->kind], luaL_typename(L, i));
  x = is_rate ? lua_toboolean(L, i) : lua_tonumber(L, i);
  if (!isfinite(x))
    luaL_error(L, "record: '%s': the number must be finite", m->name);
  if (m->kind == CUSTOM_COUNTER && x < 0)
    luaL_error(L, "record: '%s' is a counter: it only goes up", m->name);
  return x;
}

static int record_l(lua_State *L)
{
  int i = first_argument(L);
  struct custom *c = custom_of(L, "record");
  struct str name = check_name(L, i, "record");
  struct custom_metric *m = custom_find(c, name);
  struct vm *vm = vm_of(L);
  double x;
  if (!m)
    return undeclared(L, c, name);
  x = check_value(L, i + 1, m);
  if (vm->muted)
    return 0;
  vm_guard(vm);
  custom_record(m, x, m->kind == CUSTOM_GAUGE ? clock_ns() : 0);
  vm_unguard(vm);
  return 0;
}

static int check_l(lua_State *L)
{
  int i = first_argument(L);
  struct custom *c = custom_of(L, "check");
  struct str name = check_name(L, i, "check");
  struct vm *vm = vm_of(L);
  bool passed = lua_toboolean(L, i + 1);
  if (lua_isnone(L, i + 1))
    return luaL_error(L,
                      "check: '%s': the second argument is missing: did "
                      "it pass?",
                      name.p);
  if (!vm->muted) {
    vm_guard(vm);
    custom_check(c, name, passed);
    vm_unguard(vm);
  }
  lua_pushboolean(L, passed);
  return 1;
}

void record_set(lua_State *L, bool methods)
{
  lua_pushinteger(L, methods ? 2 : 1);
  lua_pushcclosure(L, record_l, 1);
  lua_setfield(L, -2, "record");
  lua_pushinteger(L, methods ? 2 : 1);
  lua_pushcclosure(L, check_l, 1);
  lua_setfield(L, -2, "check");
}
