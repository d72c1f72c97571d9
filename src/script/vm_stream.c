#include "script/vm_stream.h"

#include "script/bindings.h"
#include "script/vm_impl.h"

/* The stack while a read's events are looked at. */
enum { ON_ERROR = 1, ON_CHUNK, RESPONSE };

struct stream {
  int (*feed)(void *ud);
  void *ud;
  int rc;
};

static int run_feed(lua_State *L)
{
  struct stream *s = vm_ud(L);
  struct vm *vm = vm_of(L);
  struct response_box *box;
  lua_pushcfunction(L, vm_on_error);
  vm_push_hook(vm, HOOK_ON_CHUNK);
  vm_push_ref(L, REF_RESPONSE);
  box = vm->shown = lua_touserdata(L, RESPONSE);
  s->rc = s->feed(s->ud);
  box->response = NULL;
  return 0;
}

int vm_stream(struct vm *vm, int (*feed)(void *ud), void *ud)
{
  struct stream s = {.feed = feed, .ud = ud, .rc = -1};
  return vm_call(vm, HOOK_ON_CHUNK, run_feed, &s) == VM_OK ? s.rc : -1;
}

/* The hook and its arguments are on the stack. */
static enum vm_result call(struct vm *vm, enum hook hook, int n_args)
{
  int status;
  vm->hook = hook;
  status = lua_pcall(vm->L, n_args, 1, ON_ERROR);
  if (status == 0)
    return VM_OK;
  vm_keep_error(vm, vm->L, status);
  lua_settop(vm->L, RESPONSE);
  vm_report_error(vm);
  return VM_FAILED;
}

enum vm_result vm_on_first_token(struct vm *vm, const struct response *r)
{
  enum vm_result result;
  vm->shown->response = r;
  vm_push_hook(vm, HOOK_ON_FIRST_TOKEN);
  lua_pushvalue(vm->L, RESPONSE);
  result = call(vm, HOOK_ON_FIRST_TOKEN, 1);
  lua_settop(vm->L, RESPONSE);
  return result;
}

/* What may come back, apart from nothing. */
static enum vm_result judge(struct vm *vm)
{
  lua_State *L = vm->L;
  if (lua_isboolean(L, -1))
    return lua_toboolean(L, -1) ? VM_OK : VM_END;
  vm_guard(vm);
  buf_reset(&vm->traceback);
  buf_reset(&vm->error);
  buf_addf(&vm->error,
           "%s: on_chunk returned a %s; it may return nothing, true, or false "
           "to hang up",
           vm_place(vm), luaL_typename(L, -1));
  buf_cstr(&vm->error);
  vm_unguard(vm);
  vm_report_error(vm);
  return VM_FAILED;
}

enum vm_result vm_on_chunk(struct vm *vm, const struct response *r,
                           struct str text)
{
  lua_State *L = vm->L;
  enum vm_result result;
  vm->shown->response = r;
  lua_pushvalue(L, ON_CHUNK);
  lua_pushvalue(L, RESPONSE);
  lua_pushlstring(L, text.len ? text.p : "", text.len);
  result = call(vm, HOOK_ON_CHUNK, 2);
  if (result == VM_OK && !lua_isnil(L, -1))
    result = judge(vm);
  lua_settop(L, RESPONSE);
  return result;
}
