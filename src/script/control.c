#include "script/control.h"

#include <lauxlib.h>
#include <lua.h>

#include "base/mem.h"
#include "script/control_impl.h"
#include "script/vm_impl.h"

static int open_control(lua_State *L)
{
  struct control *c = vm_ud(L);
  c->co = lua_newthread(L);
  c->co_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  vm_push_hook(c->vm, HOOK_CONTROL);
  control_push(L, c);
  lua_xmove(L, c->co, 2);
  return 0;
}

struct control *control_new(struct vm *vm, const struct control_ops *ops)
{
  struct control *c = mem_new(struct control);
  c->vm = vm;
  c->ops = *ops;
  c->co_ref = LUA_NOREF;
  c->n_args = 1;
  if (vm_call(vm, HOOK_CONTROL, open_control, c) == VM_OK)
    return c;
  control_free(c);
  return NULL;
}

void control_free(struct control *c)
{
  if (!c)
    return;
  if (c->box)
    c->box->control = NULL;
  if (!vm_dead(c->vm))
    luaL_unref(c->vm->L, LUA_REGISTRYINDEX, c->co_ref);
  buf_free(&c->reports);
  buf_free(&c->said);
  buf_free(&c->stop);
  buf_free(&c->failure);
  buf_free(&c->label);
  mem_free(c);
}

/* nil and a text: it has given up, and that is no mistake of the script. */
static void take_answer(struct control *c)
{
  if (lua_gettop(c->co) < 2 || lua_toboolean(c->co, 1) ||
      !lua_isstring(c->co, 2))
    return;
  buf_adds(&c->failure, lua_tostring(c->co, 2));
  buf_cstr(&c->failure);
  c->want.wish = CONTROL_FAILED;
}

const struct control_want *control_resume(struct control *c)
{
  int status;
  c->want = (struct control_want){.wish = CONTROL_NOTHING};
  status = vm_resume(c->vm, HOOK_CONTROL, c->co, c->n_args, c->vm->run_rng);
  c->n_args = 0;
  if (status > LUA_YIELD)
    c->want.wish = CONTROL_FAILED;
  else if (status == 0)
    take_answer(c);
  return &c->want;
}

bool control_end(struct control *c)
{
  if (c->want.wish != CONTROL_MEASURE && c->want.wish != CONTROL_SLEEP)
    return false;
  c->over = true;
  vm_mute(c->vm, true);
  control_resume(c);
  vm_mute(c->vm, false);
  return true;
}

struct measured {
  struct control *control;
  struct summary *summary;
  uint64_t in_flight[2];
};

static int hand_measure(lua_State *L)
{
  struct measured *m = vm_ud(L);
  measure_push(L, m->summary, buf_cstr(&m->control->label), m->in_flight);
  lua_xmove(L, m->control->co, 1);
  return 0;
}

const struct control_want *control_measured(struct control *c,
                                            struct summary *s,
                                            uint64_t in_flight_begin,
                                            uint64_t in_flight_end)
{
  struct measured m = {c, s, {in_flight_begin, in_flight_end}};
  if (vm_call(c->vm, HOOK_CONTROL, hand_measure, &m) != VM_OK) {
    c->want.wish = CONTROL_FAILED;
    return &c->want;
  }
  c->n_args = 1;
  return control_resume(c);
}

const struct control_want *control_wanted(const struct control *c)
{
  return &c->want;
}

const char *control_failure(const struct control *c)
{
  return c->failure.len ? c->failure.p : NULL;
}

const char *control_stop_reason(const struct control *c)
{
  return c->stop.len ? c->stop.p : NULL;
}

struct str control_reports(const struct control *c)
{
  return buf_str(&c->reports);
}

struct str control_said(const struct control *c)
{
  return buf_str(&c->said);
}
