#include "script/vm_stream.h"

#include "script/bindings.h"
#include "script/vm_impl.h"

/* The loop over the events of a read. It is Lua because only so it is compiled
 * and the hook with it: a call of a Lua function from C costs more than all
 * else that an event does here. For texts it cuts one string to pieces, which
 * needs no call either, and the fields that say where we are need none.
 *   state[0]     the event it is at, from 1
 *   state[1]     the answer's events before those; -1: the loop isn't running
 *   state[2]     0: there the first text begins
 *   state[2 + i] where the text of event i ends */
static const char loop[] =
    "local on_chunk, r, state, id, field, sub = ...\n"
    "local function index(self, name)\n"
    "  if self == r and state[1] >= 0 then\n"
    "    if name == 'chunks' then return state[1] + state[0] end\n"
    "    if name == 'id' then return id[0] end\n"
    "  end\n"
    "  local value = field(self, name)\n"
    "  return value\n"
    "end\n"
    "if not sub then\n"
    "  return index, function(n)\n"
    "    for i = 1, n do\n"
    "      state[0] = i\n"
    "      local verdict = on_chunk(r)\n"
    "      if verdict ~= nil and verdict ~= true then return verdict end\n"
    "    end\n"
    "  end\n"
    "end\n"
    "return index, function(n, text)\n"
    "  for i = 1, n do\n"
    "    state[0] = i\n"
    "    local verdict = on_chunk(r, sub(text, state[i + 1] + 1, state[i + "
    "2]))\n"
    "    if verdict ~= nil and verdict ~= true then return verdict end\n"
    "  end\n"
    "end\n";
enum { STATE_AT, STATE_BEFORE, STATE_ENDS = 3, STATE_SIZE = 3 + VM_EVENTS_MAX };

/* What vm_stream is about, for run_events. */
struct stream {
  const struct vm_events *events;
  struct response_box *box;
  bool hang_up;
};

/* ---- the loop ---- */

void vm_stream_open(lua_State *L)
{
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "sub");
  vm_set_ref(L, REF_STREAM);
  lua_pop(L, 1);
}

/* Does the function on top take a text? What is not in Lua may. [-0, +0, e] */
static bool takes_text(lua_State *L)
{
  bool takes;
  lua_getfield(L, LUA_REGISTRYINDEX, "_PRELOAD");
  lua_getfield(L, -1, "jit.util");
  lua_call(L, 0, 1);
  lua_getfield(L, -1, "funcinfo");
  lua_pushvalue(L, -4);
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "params");
  lua_getfield(L, -2, "isvararg");
  takes = lua_isnil(L, -2) || lua_tointeger(L, -2) > 1 || lua_toboolean(L, -1);
  lua_pop(L, 5);
  return takes;
}

/* To open it a second time would make what exists already invalid: an unboxed
 * script may have it too. [-0, +1, e] */
static void push_ffi(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "ffi");
  if (lua_isnil(L, -1)) {
    lua_pushcfunction(L, luaopen_ffi);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, "ffi");
    lua_remove(L, -2);
  }
  lua_remove(L, -2);
}

/* An array in whose memory C writes. [-0, +1, e] */
static void *push_array(lua_State *L, const char *type, int n)
{
  push_ffi(L);
  lua_getfield(L, -1, "new");
  lua_pushstring(L, type);
  lua_pushinteger(L, n);
  lua_call(L, 2, 1);
  lua_remove(L, -2);
  return (void *)lua_topointer(L, -1);
}

/* The loop keeps the arrays. [-0, +0, e] */
static void make_loop(lua_State *L, struct vm *vm)
{
  int32_t *state;
  if (luaL_loadbuffer(L, loop, sizeof loop - 1, "=" VM_LOOP) != 0)
    lua_error(L);
  vm_push_hook(vm, HOOK_ON_CHUNK);
  vm->stream_texts = takes_text(L);
  vm_push_ref(L, REF_RESPONSE);
  state = push_array(L, "int32_t[?]", STATE_SIZE);
  vm->stream_id = push_array(L, "double[?]", 1);
  response_push_index(L, 2);
  if (vm->stream_texts)
    vm_push_ref(L, REF_STREAM);
  else
    lua_pushnil(L);
  lua_call(L, 6, 2);
  vm_set_ref(L, REF_STREAM);
  response_set_index(L);
  state[STATE_BEFORE] = -1;
  vm->stream_state = state;
}

/* ---- events ---- */

/* The event that a hook is at. */
static unsigned current(const struct response_box *box)
{
  return box->at ? (unsigned)*box->at - 1 : 0;
}

static void look(struct response_box *box, bool text)
{
  const struct vm_events *e = box->events;
  unsigned i = current(box);
  if (i != box->shown) {
    box->shown = i;
    e->show(i, e->ud);
  }
  if (text)
    e->show_text(i, e->ud);
}

static void call_first(lua_State *L, struct vm *vm)
{
  vm->hook = HOOK_ON_FIRST_TOKEN;
  vm_push_hook(vm, HOOK_ON_FIRST_TOKEN);
  vm_push_ref(L, REF_RESPONSE);
  lua_call(L, 1, 0);
}

/* [-0, +1, m] */
static void push_texts(lua_State *L, struct vm *vm, const struct vm_events *e)
{
  struct vm_texts t;
  if (!vm->stream_texts) {
    lua_pushnil(L);
    return;
  }
  vm_guard(vm);
  t = e->texts(e->ud);
  for (unsigned i = 0; i < e->n; i++)
    vm->stream_state[STATE_ENDS + i] = (int32_t)(t.ends[i] - t.start);
  vm_unguard(vm);
  lua_pushlstring(L, t.all.len ? t.all.p : "", t.all.len);
}

/* A single event needs no loop. [-0, +1, e] */
static void call_once(lua_State *L, struct vm *vm, const struct vm_events *e)
{
  vm_push_hook(vm, HOOK_ON_CHUNK);
  vm_push_ref(L, REF_RESPONSE);
  push_texts(L, vm, e);
  lua_call(L, 2, 1);
}

/* [-0, +1, e] */
static void call_loop(lua_State *L, struct vm *vm, const struct vm_events *e,
                      struct response_box *box)
{
  int32_t *state = vm->stream_state;
  vm_push_ref(L, REF_STREAM);
  lua_pushinteger(L, (lua_Integer)e->n);
  push_texts(L, vm, e);
  state[STATE_AT] = 1;
  state[STATE_BEFORE] = (int32_t)e->before;
  *vm->stream_id = (double)e->response->record->id;
  box->at = &state[STATE_AT];
  lua_call(L, 2, 1);
}

static int run_events(lua_State *L)
{
  struct stream *s = vm_ud(L);
  struct vm *vm = vm_of(L);
  const struct vm_events *e = s->events;
  if (e->before == 0 && scenario_has(vm->scenario, HOOK_ON_FIRST_TOKEN))
    call_first(L, vm);
  if (!scenario_has(vm->scenario, HOOK_ON_CHUNK))
    return 0;
  vm->hook = HOOK_ON_CHUNK;
  if (!vm->stream_state)
    make_loop(L, vm);
  if (e->n == 1)
    call_once(L, vm, e);
  else
    call_loop(L, vm, e, s->box);
  if (lua_isboolean(L, -1))
    s->hang_up = !lua_toboolean(L, -1);
  else if (!lua_isnil(L, -1))
    return vm_hook_error(L,
                         "on_chunk returned a %s; it may return nothing, true, "
                         "or false to hang up",
                         luaL_typename(L, -1));
  return 0;
}

/* Nothing here can raise: the reference exists. */
static struct response_box *response_of(struct vm *vm)
{
  struct response_box *box;
  vm_push_ref(vm->L, REF_RESPONSE);
  box = lua_touserdata(vm->L, -1);
  lua_pop(vm->L, 1);
  return box;
}

enum vm_result vm_stream(struct vm *vm, const struct vm_events *e, unsigned *at)
{
  struct stream s = {.events = e};
  struct response_box *box;
  enum vm_result result;
  *at = 0;
  if (vm->dead)
    return VM_FAILED;
  box = response_of(vm);
  *box = (struct response_box){.response = e->response,
                               .look = look,
                               .events = e,
                               .shown = VM_EVENTS_MAX};
  s.box = box;
  result = vm_call(vm, HOOK_ON_CHUNK, run_events, &s);
  if (vm->stream_state)
    vm->stream_state[STATE_BEFORE] = -1;
  if (vm->dead)
    return VM_FAILED;
  *at = result == VM_OK && !s.hang_up ? e->n - 1 : current(box);
  *box = (struct response_box){.response = NULL};
  return result == VM_OK && s.hang_up ? VM_END : result;
}
