#include "base/log.h"
#include "base/mem.h"
#include "script/bind_json.h"
#include "script/bindings.h"
#include "script/plain.h"
#include "script/request_table.h"
#include "script/vm_impl.h"
#include "script/wrk.h"

/* The hooks of a scenario, one C function each: what goes in, what may come
 * back. Each is a function that vm_call runs, and its arguments. */

/* ---- request ---- */

struct request_call {
  const struct vm_item *item;
  struct request *out;
  bool end;
};

static void set_stage(lua_State *L, struct vm *vm, const char *stage)
{
  if (stage == vm->stage)
    return;
  vm->stage = stage;
  lua_pushstring(L, stage);
  lua_setfield(L, -2, "stage");
}

/* The random stream of the item: its own in the warm-up, so that it warms no
 * prompt of the measurement. */
static void seed_item(struct vm *vm, const struct vm_item *item)
{
  rng_init(vm->request_rng, vm->scenario->seed,
           item->phase == PHASE_WARMUP ? RNG_WARMUP : RNG_REQUEST, item->id);
  vm->rng = vm->request_rng;
}

static int call_request(lua_State *L)
{
  struct vm *vm = vm_of(L);
  struct request_call *c = vm_ud(L);
  seed_item(vm, c->item);
  vm_push_hook(vm, HOOK_REQUEST);
  vm_push_ref(L, REF_CTX);
  lua_pushnumber(L, (lua_Number)c->item->id);
  lua_setfield(L, -2, "id");
  lua_pushboolean(L, c->item->phase == PHASE_WARMUP);
  lua_setfield(L, -2, "warmup");
  set_stage(L, vm, c->item->stage);
  lua_call(L, 1, 2);
  if (lua_isnil(L, 1) && !lua_isnil(L, 2))
    return vm_hook_error(L, "request: %s",
                         lua_isstring(L, 2) ? lua_tostring(L, 2)
                                            : luaL_typename(L, 2));
  c->end = lua_isnil(L, 1);
  if (vm->scenario->wrk_url) {
    vm_guard(vm);
    if (!c->end)
      wrk_read(L, c->out);
    vm_unguard(vm);
    return 0;
  }
  lua_settop(L, 1);
  vm_guard(vm);
  if (!c->end)
    request_table_read(L, "request", c->out);
  vm_unguard(vm);
  return 0;
}

enum vm_result vm_request(struct vm *vm, const struct vm_item *item,
                          struct request *out)
{
  struct request_call c = {item, out, false};
  enum vm_result result;
  vm_set_item(vm, item, LUA_NOREF);
  result = vm_call(vm, HOOK_REQUEST, call_request, &c);
  vm_set_item(vm, &(struct vm_item){.phase = item->phase}, LUA_NOREF);
  vm->rng = &vm->own_rng;
  return result == VM_OK && c.end ? VM_END : result;
}

static int build_sample(lua_State *L)
{
  lua_newtable(L);
  lua_pushliteral(L, "Hello.");
  lua_setfield(L, -2, "prompt");
  lua_pushinteger(L, 8);
  lua_setfield(L, -2, "max_tokens");
  vm_guard(vm_of(L));
  request_table_read(L, "sample", vm_ud(L));
  vm_unguard(vm_of(L));
  return 0;
}

enum vm_result vm_sample(struct vm *vm, const char *stage, struct request *out)
{
  const struct vm_item item = {.id = 1, .phase = PHASE_WARMUP, .stage = stage};
  return scenario_has(vm->scenario, HOOK_REQUEST)
             ? vm_request(vm, &item, out)
             : vm_call(vm, HOOK_SESSION, build_sample, out);
}

/* ---- on_response ---- */

struct response_call {
  const struct vm_item *item;
  const struct response *response;
  struct verdict *verdict;
};

static void keep_reason(struct vm *vm, struct verdict *v, const char *words)
{
  vm_guard(vm);
  v->failed = true;
  buf_adds(&v->reason, words);
  buf_cstr(&v->reason);
  vm_unguard(vm);
}

static int read_verdict(lua_State *L, struct verdict *v)
{
  struct vm *vm = vm_of(L);
  if (lua_isnil(L, 1) || (lua_isboolean(L, 1) && lua_toboolean(L, 1)))
    return 0;
  if (!lua_isboolean(L, 1))
    return vm_hook_error(L,
                         "on_response returned a %s; it may return nothing, "
                         "true, or false and a reason",
                         luaL_typename(L, 1));
  if (!lua_isnil(L, 2) && lua_type(L, 2) != LUA_TSTRING)
    return vm_hook_error(L,
                         "on_response: the reason after false must be a "
                         "string, not a %s",
                         luaL_typename(L, 2));
  keep_reason(vm, v,
              lua_isnil(L, 2) ? "on_response returned false"
                              : lua_tostring(L, 2));
  return 0;
}

static int call_on_response(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const struct response_call *c = vm_ud(L);
  struct response_box *box;
  /* Draws of math.random must not depend on which thread this is. */
  rng_init(&vm->own_rng, vm->scenario->seed, RNG_SETUP, c->item->id + 16);
  vm_push_hook(vm, HOOK_ON_RESPONSE);
  vm_push_ref(L, REF_RESPONSE);
  box = lua_touserdata(L, -1);
  box->response = c->response;
  lua_call(L, 1, 2);
  return read_verdict(L, c->verdict);
}

static void drop_response(struct vm *vm)
{
  struct response_box *box;
  if (vm->dead)
    return;
  vm_push_ref(vm->L, REF_RESPONSE);
  box = lua_touserdata(vm->L, -1);
  box->response = NULL;
  lua_pop(vm->L, 1);
}

enum vm_result vm_on_response(struct vm *vm, const struct vm_item *item,
                              const struct response *r, struct verdict *v)
{
  struct response_call c = {item, r, v};
  enum vm_result result;
  v->failed = false;
  buf_reset(&v->reason);
  if (!scenario_has(vm->scenario, HOOK_ON_RESPONSE))
    return VM_OK;
  result = vm_call(vm, HOOK_ON_RESPONSE, call_on_response, &c);
  drop_response(vm);
  return result;
}

/* ---- load.rate, load.arrivals ---- */

struct load_call {
  double argument, value;
  bool end;
};

static int keep_number(lua_State *L, const char *what, struct load_call *c)
{
  if (lua_type(L, -1) != LUA_TNUMBER)
    return vm_hook_error(L,
                         "%s returned %s; it must return a number of 0 or "
                         "more",
                         what, luaL_typename(L, -1));
  c->value = lua_tonumber(L, -1);
  if (!(c->value >= 0 && c->value < 1e9))
    return vm_hook_error(L,
                         "%s returned %.14g; it must return a number of 0 "
                         "or more%s",
                         what, c->value, c->value > 0 ? ", and below 1e9" : "");
  return 0;
}

static int call_rate(lua_State *L)
{
  struct load_call *c = vm_ud(L);
  vm_push_hook(vm_of(L), HOOK_RATE);
  lua_pushnumber(L, c->argument);
  lua_call(L, 1, 1);
  return keep_number(L, "load.rate", c);
}

enum vm_result vm_rate(struct vm *vm, double t, double *rate)
{
  struct load_call c = {.argument = t};
  enum vm_result result = vm_call(vm, HOOK_RATE, call_rate, &c);
  *rate = c.value;
  return result;
}

static int call_arrivals(lua_State *L)
{
  struct load_call *c = vm_ud(L);
  vm_push_hook(vm_of(L), HOOK_ARRIVALS);
  lua_pushnumber(L, c->argument);
  vm_push_ref(L, REF_RUN);
  lua_getfield(L, -1, "rng");
  lua_remove(L, -2);
  lua_call(L, 2, 1);
  c->end = lua_isnil(L, -1);
  return c->end ? 0 : keep_number(L, "load.arrivals", c);
}

enum vm_result vm_arrival(struct vm *vm, uint64_t i, double *gap)
{
  struct load_call c = {.argument = (double)i};
  enum vm_result result;
  if (i == 1)
    rng_init(vm->run_rng, vm->scenario->seed, RNG_ARRIVAL, 0);
  vm->rng = vm->run_rng;
  result = vm_call(vm, HOOK_ARRIVALS, call_arrivals, &c);
  vm->rng = &vm->own_rng;
  *gap = c.value;
  return result == VM_OK && c.end ? VM_END : result;
}

/* ---- setup, teardown ---- */

/* Leaves two results. */
static int call_run_hook(lua_State *L)
{
  struct vm *vm = vm_of(L);
  vm->rng = vm->run_rng;
  vm_push_hook(vm, vm->hook);
  vm_push_ref(L, REF_RUN);
  lua_call(L, 1, 2);
  return 2;
}

/* What ctx.data and run.data are from now on. */
static void keep_data(lua_State *L)
{
  static const enum vm_ref holders[] = {REF_CTX, REF_RUN};
  for (int i = 0; i < 2; i++) {
    vm_push_ref(L, holders[i]);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "data");
    lua_pop(L, 1);
  }
  lua_settop(L, 1);
  vm_set_ref(L, REF_DATA);
}

struct setup_call {
  struct buf *data;
  struct buf refusal; /* lines: what setup said instead of its data */
};

static void keep_refusal(lua_State *L, struct setup_call *c)
{
  vm_guard(vm_of(L));
  buf_adds(&c->refusal, lua_tostring(L, 2));
  vm_unguard(vm_of(L));
}

static int call_setup(lua_State *L)
{
  struct setup_call *c = vm_ud(L);
  char why[256];
  call_run_hook(L);
  if (lua_isnil(L, 1) && lua_type(L, 2) == LUA_TSTRING) {
    keep_refusal(L, c);
    return 0;
  }
  lua_settop(L, 1);
  if (plain_write(L, 1, c->data, "setup's result", why) < 0)
    return vm_hook_error(L,
                         "%s; plain data is nil, booleans, numbers, strings "
                         "and tables of them",
                         why);
  keep_data(L);
  return 0;
}

/* A hook before the load: the caller shows what went wrong, for it ends the
 * run before it began. */
static int call_early(struct vm *vm, enum hook hook, lua_CFunction fn, void *ud,
                      struct err *e)
{
  enum vm_result result;
  struct script_errors *errors = vm->errors;
  if (!scenario_has(vm->scenario, hook))
    return 0;
  vm->errors = NULL;
  buf_reset(&vm->traceback);
  result = vm_call(vm, hook, fn, ud);
  vm->errors = errors;
  vm->rng = &vm->own_rng;
  if (result == VM_OK)
    return 0;
  return err_add(e, "%s failed: %s%s%s", hook_name(hook), vm_error(vm),
                 vm->traceback.len ? "\n" : "", buf_cstr(&vm->traceback));
}

int vm_setup(struct vm *vm, struct buf *data, struct err *e)
{
  struct setup_call c = {.data = data};
  int status = call_early(vm, HOOK_SETUP, call_setup, &c, e);
  struct str lines = buf_str(&c.refusal);
  while (lines.p && lines.len) {
    struct str line = str_split(&lines, '\n');
    status = err_add(e, "%.*s", STR_ARG(line));
  }
  buf_free(&c.refusal);
  return status;
}

/* ---- init, exit ---- */

static int call_ctx_hook(lua_State *L)
{
  struct vm *vm = vm_of(L);
  vm_push_hook(vm, vm->hook);
  vm_push_ref(L, REF_CTX);
  lua_call(L, 1, 1);
  return 1;
}

static int call_exit(lua_State *L)
{
  char why[256];
  call_ctx_hook(L);
  if (plain_write(L, 1, vm_ud(L), "exit's result", why) < 0)
    return vm_hook_error(L, "%s", why);
  return 0;
}

int vm_init(struct vm *vm, struct err *e)
{
  return call_early(vm, HOOK_INIT, call_ctx_hook, NULL, e);
}

enum vm_result vm_exit(struct vm *vm, struct buf *data)
{
  if (!scenario_has(vm->scenario, HOOK_EXIT))
    return VM_OK;
  return vm_call(vm, HOOK_EXIT, call_exit, data);
}

void vm_figures(struct vm *vm, const struct wrk_figures *f)
{
  vm->figures = f;
}

const char *vm_address(const struct vm *vm)
{
  return vm->address.len ? vm->address.p : NULL;
}

void vm_threads(struct vm *vm, const struct buf *exits, size_t n)
{
  vm->exits = exits;
  vm->n_exits = n;
}

enum vm_result vm_teardown(struct vm *vm)
{
  enum vm_result result;
  if (!scenario_has(vm->scenario, HOOK_TEARDOWN))
    return VM_OK;
  result = vm_call(vm, HOOK_TEARDOWN, call_run_hook, NULL);
  vm->rng = &vm->own_rng;
  return result;
}

/* ---- summary ---- */

struct summary_call {
  struct str results;
  struct buf *custom, *text;
};

/* The file's object. What it has under "stoke" can be reached from its top as
 * well: results.sessions is results.stoke.sessions. */
static void push_results(lua_State *L, struct str text)
{
  if (json_push(L, text, false, NULL) < 0)
    lua_newtable(L);
  lua_newtable(L);
  lua_getfield(L, -2, "stoke");
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

/* results.threads[i]: what exit returned there, or false. */
static void push_threads(lua_State *L)
{
  const struct vm *vm = vm_of(L);
  if (!vm->n_exits)
    return;
  lua_createtable(L, (int)vm->n_exits, 0);
  for (size_t i = 0; i < vm->n_exits; i++) {
    if (vm->exits[i].len)
      plain_push(L, buf_str(&vm->exits[i]));
    else
      lua_pushnil(L);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_pushboolean(L, 0);
    }
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "threads");
}

static int call_summary(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const struct summary_call *c = vm_ud(L);
  char why[256];
  vm_push_hook(vm, HOOK_SUMMARY);
  push_results(L, c->results);
  push_threads(L);
  lua_call(L, 1, 1);
  switch (lua_type(L, 1)) {
  case LUA_TNIL: break;
  case LUA_TSTRING: buf_adds(c->text, lua_tostring(L, 1)); break;
  case LUA_TTABLE:
    if (json_write(L, 1, c->custom, false, "result", why) < 0)
      return vm_hook_error(L, "summary: %s", why);
    if (c->custom->p[0] != '{')
      return vm_hook_error(L, "summary returned a list; its table must have "
                              "names as keys");
    break;
  default:
    return vm_hook_error(L,
                         "summary returned a %s; it may return a table, a "
                         "string or nothing",
                         luaL_typename(L, 1));
  }
  return 0;
}

enum vm_result vm_summary(struct vm *vm, struct str results, struct buf *custom,
                          struct buf *text)
{
  struct summary_call c = {results, custom, text};
  if (!scenario_has(vm->scenario, HOOK_SUMMARY))
    return VM_OK;
  return vm_call(vm, HOOK_SUMMARY, call_summary, &c);
}
