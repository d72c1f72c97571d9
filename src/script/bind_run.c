#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/units.h"
#include "script/bind_class.h"
#include "script/bind_json.h"
#include "script/bindings.h"
#include "script/control_impl.h"
#include "script/merge.h"
#include "script/vm_impl.h"

/* The `run` of control(run).
 * run:set{ request_rate = …, … }   the load from now on       [-0, +0, v]
 * run:measure{ label, settle, duration, num_requests }
 *             -> figures (bind_measure.c); nil: the run ends  [-0, +1, v]
 * run:sleep(seconds)                                    yields [-0, +0, v]
 * run:report(name, value)  into the results' custom section   [-0, +0, v]
 * run:say(text)            a line under the result table       [-0, +0, v]
 * run:stop(reason)         end the run after the drain        [-0, +0, v]
 * run.params, .data, .args, .rng, .seed, .now as in setup(run) */

#define CONTROL_MT "stoke.control"

void control_push(lua_State *L, struct control *c)
{
  c->box = lua_newuserdata(L, sizeof *c->box);
  c->box->control = c;
  luaL_getmetatable(L, CONTROL_MT);
  lua_setmetatable(L, -2);
}

static struct control *check_control(lua_State *L)
{
  struct control_box *box = bind_self(L, 1, CONTROL_MT);
  if (!box->control)
    luaL_error(L, "this run is over");
  return box->control;
}

static struct control *check_running(lua_State *L, const char *call)
{
  struct control *c = check_control(L);
  if (c->co != L)
    luaL_error(L, "run:%s must be called from control's own coroutine", call);
  return c;
}

/* ---- set ---- */

static int set_l(lua_State *L)
{
  struct control *c = check_control(L);
  struct vm *vm = vm_of(L);
  struct err e = {0};
  json_value *load = NULL;
  char why[512] = "";
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  if (c->over)
    return 0;
  vm_guard(vm);
  buf_reset(&vm->scratch);
  if (json_write(L, 2, &vm->scratch, false, "load", why) == 0) {
    load = json_parse(buf_str(&vm->scratch), NULL);
    if (c->ops.set(load, &e, c->ops.ud) < 0)
      snprintf(why, sizeof why, "%.*s",
               STR_ARG(str_trim(str_of(err_text(&e)))));
    json_free(load);
  }
  err_free(&e);
  vm_unguard(vm);
  if (why[0])
    return luaL_error(L, "run:set: %s", why);
  return 0;
}

/* ---- measure, sleep ---- */

static uint64_t check_time(lua_State *L, int i, const char *call,
                           const char *name)
{
  struct str text;
  uint64_t ns;
  if (lua_type(L, i) == LUA_TNUMBER && lua_tonumber(L, i) >= 0 &&
      lua_tonumber(L, i) < 1e9)
    return (uint64_t)(lua_tonumber(L, i) * 1e9);
  if (lua_type(L, i) == LUA_TSTRING) {
    text.p = lua_tolstring(L, i, &text.len);
    if (units_duration(text, &ns) == 0)
      return ns;
  }
  luaL_error(L, "run:%s: %s must be seconds, or text such as \"20s\"", call,
             name);
  return 0;
}

static void read_measure(lua_State *L, struct control *c)
{
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    const char *name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a number";
    if (strcmp(name, "label") == 0 && lua_isstring(L, -1)) {
      buf_reset(&c->label);
      buf_adds(&c->label, lua_tostring(L, -1));
    } else if (strcmp(name, "settle") == 0)
      c->want.settle_ns = check_time(L, -1, "measure", name);
    else if (strcmp(name, "duration") == 0)
      c->want.duration_ns = check_time(L, -1, "measure", name);
    else if (strcmp(name, "num_requests") == 0 && lua_isnumber(L, -1))
      c->want.num_requests = (uint64_t)lua_tonumber(L, -1);
    else
      luaL_error(L,
                 "run:measure has the field '%s'; it takes label, settle, "
                 "duration and num_requests",
                 name);
    lua_pop(L, 1);
  }
}

static int measure_l(lua_State *L)
{
  struct control *c = check_running(L, "measure");
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  buf_reset(&c->label);
  c->want = (struct control_want){.wish = CONTROL_NOTHING};
  read_measure(L, c);
  if (!c->want.duration_ns && !c->want.num_requests)
    return luaL_error(L, "run:measure needs a duration or num_requests");
  c->want.wish = CONTROL_MEASURE;
  c->want.label = buf_cstr(&c->label);
  return lua_yield(L, 0);
}

static int sleep_l(lua_State *L)
{
  struct control *c = check_running(L, "sleep");
  c->want = (struct control_want){
      .wish = CONTROL_SLEEP, .settle_ns = check_time(L, 2, "sleep", "time")};
  return lua_yield(L, 0);
}

/* ---- report, stop ---- */

/* {"name": value} on top of what was reported before. */
static void add_report(struct control *c, struct str name, struct str value)
{
  struct buf one = {0}, merged = {0};
  buf_adds(&one, "{\"");
  json_escape(&one, name);
  buf_adds(&one, "\":");
  buf_addstr(&one, value);
  buf_addc(&one, '}');
  merge_objects(&merged, c->reports.len ? buf_str(&c->reports) : STR("{}"),
                buf_str(&one));
  buf_free(&c->reports);
  buf_free(&one);
  c->reports = merged;
}

/* What control says and reports is kept for the results. */
enum { WORDS_MAX = 1 << 20, REPORTS_MAX = 16 << 20 };

static int report_l(lua_State *L)
{
  struct control *c = check_control(L);
  struct vm *vm = vm_of(L);
  struct str name;
  char why[256] = "";
  name.p = luaL_checklstring(L, 2, &name.len);
  luaL_checkany(L, 3);
  lua_settop(L, 3);
  if (c->reports.len > REPORTS_MAX)
    return luaL_error(L, "run:report: there are %d MiB of reports already",
                      REPORTS_MAX >> 20);
  vm_guard(vm);
  buf_reset(&vm->scratch);
  if (json_write(L, 3, &vm->scratch, false, "value", why) == 0)
    add_report(c, name, buf_str(&vm->scratch));
  vm_unguard(vm);
  if (why[0])
    return luaL_error(L, "run:report: %s", why);
  return 0;
}

static int say_l(lua_State *L)
{
  struct control *c = check_control(L);
  struct str text;
  text.p = luaL_checklstring(L, 2, &text.len);
  if (c->said.len + text.len > WORDS_MAX)
    return luaL_error(L, "run:say: more than %d MiB was said", WORDS_MAX >> 20);
  vm_guard(vm_of(L));
  buf_addstr(&c->said, text);
  buf_addc(&c->said, '\n');
  vm_unguard(vm_of(L));
  return 0;
}

static int stop_l(lua_State *L)
{
  struct control *c = check_control(L);
  const char *why = luaL_optstring(L, 2, "control stopped the run");
  buf_reset(&c->stop);
  buf_adds(&c->stop, why);
  buf_cstr(&c->stop);
  return 0;
}

/* Upvalue 1: the methods; what they lack is in setup's run. */
static int index_l(lua_State *L)
{
  check_control(L);
  if (bind_class_method(L))
    return 1;
  vm_push_ref(L, REF_RUN);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

void bind_run(lua_State *L)
{
  static const luaL_Reg methods[] = {
      {"set", set_l},       {"measure", measure_l}, {"sleep", sleep_l},
      {"report", report_l}, {"say", say_l},         {"stop", stop_l},
      {NULL, NULL},
  };
  bind_class(L, &(struct bind_class){
                    .name = CONTROL_MT, .methods = methods, .index = index_l});
}
