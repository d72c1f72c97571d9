#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "script/bind_json.h"
#include "script/bindings.h"
#include "script/files.h"
#include "script/modules.h"
#include "script/params_lua.h"
#include "script/plain.h"
#include "script/request_table.h"
#include "script/sandbox.h"
#include "script/vm_impl.h"
#include "script/watchdog.h"
#include "script/wrk.h"

/* How a VM comes to be: the box, the script, what the run gives it. */

static const size_t default_memory = (size_t)512 << 20,
                    least_memory = (size_t)4 << 20;
static const char doing_parse[] = "parsing", doing_run[] = "the main chunk",
                  doing_check[] = "loading";

void vm_set_ref(lua_State *L, enum vm_ref ref)
{
  struct vm *vm = vm_of(L);
  luaL_unref(L, LUA_REGISTRYINDEX, vm->refs[ref]);
  vm->refs[ref] = luaL_ref(L, LUA_REGISTRYINDEX);
}

void vm_push_ref(lua_State *L, enum vm_ref ref)
{
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm_of(L)->refs[ref]);
}

void vm_push_hook(struct vm *vm, enum hook hook)
{
  lua_rawgeti(vm->L, LUA_REGISTRYINDEX, vm->hooks[hook]);
}

/* ---- the box ---- */

static int open_box(lua_State *L)
{
  const struct vm *vm = vm_of(L);
  sandbox_open(L, vm->scenario->unsafe);
  modules_open(L, vm->scenario->unsafe);
  sandbox_modules(L);
  bindings_open(L);
  vm_stream_open(L);
  request_table_open(L);
  return 0;
}

/* The allocator that LuaJIT made is needed at the end, or it would not give
 * its memory back; and ours before, for finalizers find the VM by it. The
 * oldest userdata is finalized last. */
static int give_allocator_back(lua_State *L)
{
  struct vm *vm = *(struct vm **)lua_touserdata(L, 1);
  lua_setallocf(L, vm->allocator, vm->allocator_ud);
  return 0;
}

static void make_oldest(struct vm *vm)
{
  *(struct vm **)lua_newuserdata(vm->L, sizeof(struct vm *)) = vm;
  lua_createtable(vm->L, 0, 1);
  lua_pushcfunction(vm->L, give_allocator_back);
  lua_setfield(vm->L, -2, "__gc");
  lua_setmetatable(vm->L, -2);
  lua_setfield(vm->L, LUA_REGISTRYINDEX, "stoke.oldest");
}

/* least_memory is enough for all that happens unprotected here. */
static void new_state(struct vm *vm)
{
  vm->L = luaL_newstate();
  if (!vm->L) {
    log_line("out of memory: no Lua state");
    exit(1);
  }
  vm->allocator = lua_getallocf(vm->L, &vm->allocator_ud);
  vm->memory = (size_t)lua_gc(vm->L, LUA_GCCOUNT, 0) << 10;
  vm->ask_at = vm->memory_max;
  lua_setallocf(vm->L, vm_allocate, vm);
  make_oldest(vm);
}

struct vm *vm_bare(const struct scenario *s, const struct vm_config *c)
{
  struct vm *vm = mem_new(struct vm);
  vm->scenario = s;
  vm->memory_max = s->memory ? s->memory : default_memory;
  if (vm->memory_max < least_memory)
    vm->memory_max = least_memory;
  vm->doing = doing_check;
  for (int i = 0; i < REF_COUNT; i++)
    vm->refs[i] = LUA_NOREF;
  rng_init(&vm->own_rng, s->seed, RNG_SETUP, 0);
  vm->rng = &vm->own_rng;
  if (c) {
    vm->errors = c->errors;
    vm->custom = c->custom;
    vm->endpoint = c->body.endpoint;
    vm->backend = backends_of_endpoint(&s->backends, vm->endpoint);
    vm->max_tokens = c->body.max_tokens;
    vm->worker = c->worker;
    vm->workers = c->main ? 0 : c->workers;
    vm->threads = c->workers;
    vm->http = c->http;
    /* What the main chunk prints was printed when the scenario was opened. */
    vm->quiet = true;
  }
  new_state(vm);
  lua_pushcfunction(vm->L, vm_on_error);
  lua_pushcfunction(vm->L, vm_trampoline);
  if (c && c->watchdog)
    vm_watch(vm, c->watchdog);
  vm_protected(vm, open_box, NULL);
  return vm;
}

void vm_watch(struct vm *vm, struct watchdog *w)
{
  vm->watchdog = w;
  vm->hang_ns = watchdog_limit_ns(w);
  watchdog_add(w, vm);
}

/* ---- the script ---- */

static int run_script(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const struct scenario *s = vm->scenario;
  lua_pushfstring(L, "@%s", s->path);
  if (luaL_loadbufferx(L, s->source, s->source_len, lua_tostring(L, -1),
                       s->unsafe ? "bt" : "t") != 0)
    return lua_error(L);
  vm->doing = doing_run;
  if (s->wrk_url) {
    wrk_push(L);
    lua_call(L, 2, 1);
  } else {
    lua_pushstring(L, s->name);
    lua_call(L, 1, 1);
  }
  vm->doing = doing_check;
  if (!lua_istable(L, -1))
    return luaL_error(L,
                      "the script returned %s; a scenario returns a table "
                      "such as { request = function(ctx) … end }",
                      lua_isnil(L, -1) ? "nothing" : luaL_typename(L, -1));
  vm_set_ref(L, REF_SCENARIO);
  return 0;
}

/* Each kind of trouble has words of its own. */
int vm_load(struct vm *vm, struct err *e)
{
  const char *path = vm->scenario->path, *doing;
  int status;
  vm->doing = doing_parse;
  buf_reset(&vm->traceback);
  vm_enter(vm, HOOK_SETUP);
  status = vm_protected(vm, run_script, NULL);
  vm_leave(vm);
  doing = vm->doing;
  vm->doing = doing_check;
  if (status == 0)
    return 0;
  if (doing == doing_parse)
    return err_add(e, "%s is not valid Lua: %s", path, vm_error(vm));
  if (doing == doing_run)
    return err_add(e, "%s failed while it was loaded: %s\n%s", path,
                   vm_error(vm), buf_cstr(&vm->traceback));
  return err_add(e, "%s", vm_error(vm));
}

void vm_settle_load(lua_State *L, const struct params *p)
{
  int top = lua_gettop(L);
  vm_push_ref(L, REF_SCENARIO);
  lua_getfield(L, -1, "load");
  if (lua_isfunction(L, -1)) {
    params_push(L, p);
    lua_call(L, 1, 1);
    if (!lua_istable(L, -1) && !lua_isnil(L, -1))
      luaL_error(L, "load(params) returned a %s; it must be a table",
                 luaL_typename(L, -1));
    lua_setfield(L, -2, "load");
  }
  lua_settop(L, top);
}

/* ---- what the run gives it ---- */

/* Where a function stands: the place of errors that it causes elsewhere. */
static void note_place(struct vm *vm, enum hook h)
{
  lua_Debug ar;
  lua_pushvalue(vm->L, -1);
  lua_getinfo(vm->L, ">S", &ar);
  snprintf(vm->places[h], sizeof vm->places[h], "%s:%d", ar.short_src,
           ar.linedefined);
}

/* What drives the load in place of the scenario. */
static void push_driver(lua_State *L, const struct scenario *s)
{
  lua_getglobal(L, "require");
  lua_pushstring(L, s->driver);
  lua_call(L, 1, 1);
  json_push(L, str_of(s->driver_options), false, NULL);
  lua_call(L, 1, 1);
}

static void push_function(lua_State *L, const struct scenario *s, enum hook h,
                          const char *table)
{
  if (h == HOOK_CONTROL && s->driver) {
    push_driver(L, s);
    return;
  }
  vm_push_ref(L, REF_SCENARIO);
  if (*table)
    lua_getfield(L, -1, table);
  lua_getfield(L, -1, hook_name(h));
}

static void keep_hook(struct vm *vm, enum hook h, const char *table)
{
  push_function(vm->L, vm->scenario, h, table);
  note_place(vm, h);
  vm->hooks[h] = luaL_ref(vm->L, LUA_REGISTRYINDEX);
}

static void keep_hooks(struct vm *vm)
{
  static const char *const tables[] = {
#define X(ENUM, name, table) table,
      HOOK_LIST(X)
#undef X
  };
  for (int h = 0; h < HOOK_COUNT; h++) {
    vm->hooks[h] = LUA_NOREF;
    if (scenario_has(vm->scenario, (enum hook)h))
      keep_hook(vm, (enum hook)h, tables[h]);
    lua_settop(vm->L, 0);
  }
}

/* now() -> seconds since the run began  [-0, +1, -] */
static int now_l(lua_State *L)
{
  const struct vm *vm = vm_of(L);
  lua_pushnumber(L, vm->t0_ns ? ns_to_sec(ns_since(vm->t0_ns, clock_ns())) : 0);
  return 1;
}

/* What ctx and run have in common; [-0, +1, m]. */
static void push_context(lua_State *L)
{
  const struct vm *vm = vm_of(L);
  lua_newtable(L);
  vm_push_ref(L, REF_PARAMS);
  lua_setfield(L, -2, "params");
  vm_push_ref(L, REF_ARGS);
  lua_setfield(L, -2, "args");
  vm_push_ref(L, REF_DATA);
  lua_setfield(L, -2, "data");
  lua_pushcfunction(L, now_l);
  lua_setfield(L, -2, "now");
  lua_pushstring(L, vm->backend ? vm->backend->name : vm->endpoint);
  lua_setfield(L, -2, "endpoint");
  lua_pushstring(L, body_default_model(vm->body));
  lua_setfield(L, -2, "model");
  record_set(L, true);
}

static int install(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const struct scenario *s = vm->scenario;
  const struct str *data = vm_ud(L);
  vm_settle_load(L, &s->params);
  params_push(L, &s->params);
  vm_set_ref(L, REF_PARAMS);
  lua_createtable(L, (int)s->n_args, 0);
  for (size_t i = 0; i < s->n_args; i++) {
    lua_pushstring(L, s->args[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  vm_set_ref(L, REF_ARGS);
  if (data->len)
    plain_push(L, *data);
  else
    lua_pushnil(L);
  vm_set_ref(L, REF_DATA);
  push_context(L);
  vm->request_rng = rng_push(L);
  lua_setfield(L, -2, "rng");
  vm_set_ref(L, REF_CTX);
  push_context(L);
  vm->run_rng = rng_push(L);
  rng_init(vm->run_rng, s->seed, RNG_SETUP, 1);
  lua_setfield(L, -2, "rng");
  lua_pushnumber(L, (lua_Number)s->seed);
  lua_setfield(L, -2, "seed");
  run_http_set(L);
  vm_set_ref(L, REF_RUN);
  backends_keep(L);
  lua_settop(L, 0);
  keep_hooks(vm);
  lua_gc(L, LUA_GCCOLLECT, 0);
  vm->gc_base = vm->memory;
  return 0;
}

static int install_watched(struct vm *vm, struct str *data)
{
  int status;
  vm_enter(vm, HOOK_SETUP);
  status = vm_protected(vm, install, data);
  vm_leave(vm);
  return status;
}

struct vm *vm_new(const struct vm_config *c, struct err *e)
{
  struct vm *vm = vm_bare(c->scenario, c);
  struct str data = c->data;
  vm->body = body_new(&c->body, e);
  if (!vm->body || vm_load(vm, e) < 0) {
    vm_free(vm);
    return NULL;
  }
  if (install_watched(vm, &data) != 0) {
    err_add(e, "%s", vm_error(vm));
    vm_free(vm);
    return NULL;
  }
  vm->quiet = false;
  vm->doing = NULL;
  vm->stats = (struct vm_stats){0}; /* loading is no hook */
  return vm;
}

void vm_start(struct vm *vm, uint64_t t0_ns)
{
  vm->t0_ns = t0_ns;
  /* This thread may have been started with all signals blocked. */
  watchdog_unblock();
}

void vm_set_errors(struct vm *vm, struct script_errors *errors)
{
  vm->errors = errors;
}

void vm_mute(struct vm *vm, bool muted)
{
  vm->muted = muted;
}

void vm_free(struct vm *vm)
{
  if (!vm)
    return;
  if (vm->watchdog)
    watchdog_remove(vm->watchdog, vm);
  /* A dead state must never be entered again, not even to free it. */
  if (!vm->dead)
    lua_close(vm->L);
  for (size_t i = 0; i < vm->n_files; i++) {
    mem_free(vm->files[i].path);
    mem_free(vm->files[i].name);
    mem_free(vm->files[i].sha256);
  }
  mem_free(vm->files);
  body_free(vm->body);
  request_free(&vm->http_request);
  buf_free(&vm->scratch);
  buf_free(&vm->extra);
  buf_free(&vm->error);
  buf_free(&vm->traceback);
  buf_free(&vm->stop);
  buf_free(&vm->address);
  mem_free(vm);
}
