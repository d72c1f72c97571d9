#include <lauxlib.h>
#include <lua.h>
#include <math.h>

#include "base/clock.h"
#include "base/suggest.h"
#include "script/bindings.h"
#include "script/request_fields.h"
#include "stats/custom.h"

/* What a script measures by itself; the same functions as methods of ctx, run
 * and s, and as stoke.record and stoke.check where none of them is at hand.
 * record(name[, v[, tags]])  counter: how many (1); gauge, trend: a number;
 *                      rate: a boolean; tags as a request's [-0, +0, v]
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

/* Tags of the call, in vm->scratch. */
static void read_call_tags(lua_State *L, int i)
{
  struct vm *vm = vm_of(L);
  static const struct field field = {.name = "tags"};
  struct reader r = {.L = L, .vm = vm, .what = "record"};
  vm_guard(vm);
  buf_reset(&vm->scratch);
  if (!lua_isnoneornil(L, i)) {
    lua_settop(L, i);
    read_tag_list(&r, &field, &vm->scratch);
  }
  vm_unguard(vm);
}

/* The request whose answer a hook has in hand, or NULL. */
static const struct record *record_in_hand(lua_State *L)
{
  const struct response_box *box;
  vm_push_ref(L, REF_RESPONSE);
  box = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return box && box->response ? box->response->record : NULL;
}

/* The stage in which the request or session at hand began; its request's
 * tags, and those of the call. */
static void record_parts(lua_State *L, struct custom *c,
                         const struct custom_metric *m, double x,
                         uint64_t now_ns)
{
  struct vm *vm = vm_of(L);
  const struct record *r = record_in_hand(L);
  const char *stage = vm->item.stage;
  if (r) {
    stage = r->stage < c->stages.n ? c->stages.names[r->stage] : NULL;
    if (r->tags && *r->tags)
      buf_addf(&vm->scratch, "%s%s", vm->scratch.len ? "," : "", r->tags);
  }
  custom_record_parts(c, m, x, now_ns, stage, buf_cstr(&vm->scratch));
}

static int record_l(lua_State *L)
{
  int i = first_argument(L);
  struct custom *c = custom_of(L, "record");
  struct str name = check_name(L, i, "record");
  struct custom_metric *m = custom_find(c, name);
  struct vm *vm = vm_of(L);
  uint64_t now_ns;
  double x;
  if (!m)
    return undeclared(L, c, name);
  x = check_value(L, i + 1, m);
  if (m->parted || !lua_isnoneornil(L, i + 2))
    read_call_tags(L, i + 2);
  if (vm->muted)
    return 0;
  now_ns = m->kind == CUSTOM_GAUGE ? clock_ns() : 0;
  vm_guard(vm);
  custom_record(m, x, now_ns);
  if (m->parted)
    record_parts(L, c, m, x, now_ns);
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
