#include "script/vm.h"

#include <luajit.h>
#include <stdio.h>

#include "base/clock.h"
#include "script/vm_impl.h"
#include "script/watchdog.h"

static const uint64_t slow_ns = 5 * NS_PER_MS;

const char *hook_name(enum hook h)
{
  static const char *const names[] = {
#define X(ENUM, name, table) name,
      HOOK_LIST(X)
#undef X
  };
  return names[h];
}

/* ---- memory ---- */

/* LuaJIT raises its own out-of-memory error wrongly from compiled code (it
 * looks at a stack frame that is not up to date, and crashes), and it has no
 * emergency collection. So an allocation past the cap succeeds, but asks for
 * room: a step multiplier of 0 makes the next collector step a whole cycle,
 * at which compiled code goes back to the interpreter, and there the hook
 * collects and, if that was not enough, raises an error that a script may
 * catch. All three calls only set fields, so they are safe in here. A cycle
 * that was at its end already ends without leaving compiled code, and then
 * the next one would be late: so it is asked again and again. */
static void ask_for_room(struct vm *vm, size_t memory)
{
  vm->over = true;
  vm->ask_at = memory + vm->memory_max / 32;
  lua_gc(vm->L, LUA_GCSETSTEPMUL, 0);
  lua_gc(vm->L, LUA_GCRESTART, 0);
  lua_sethook(vm->L, vm_on_hook, LUA_MASKCOUNT, 1);
}

static void stop_asking(struct vm *vm, lua_State *L)
{
  vm->over = false;
  lua_gc(L, LUA_GCSETSTEPMUL, 200);
  if (!vm->alarmed)
    lua_sethook(L, NULL, 0, 0);
}

/* Collect; compiled traces hold on to functions and what these refer to, so
 * they go if need be. False when what is alive is too much: then the script
 * gets an error, and a little more room to deal with it. */
static bool make_room(struct vm *vm, lua_State *L)
{
  stop_asking(vm, L);
  vm->ask_at = SIZE_MAX;
  lua_gc(L, LUA_GCCOLLECT, 0);
  if (vm->memory > vm->memory_max) {
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_FLUSH);
    lua_gc(L, LUA_GCCOLLECT, 0);
  }
  vm->ask_at = vm->memory_max;
  if (vm->memory <= vm->memory_max)
    return true;
  vm->ask_at = vm->memory + vm->memory_max / 16;
  return false;
}

void vm_on_hook(lua_State *L, lua_Debug *ar)
{
  struct vm *vm = vm_of(L);
  bool room = !vm->over || make_room(vm, L);
  (void)ar;
  if (room && !vm->alarmed)
    return;
  luaL_where(L, 0);
  if (vm->alarmed)
    lua_pushliteral(L, "did not return in time and was ended");
  else
    lua_pushfstring(L,
                    "not enough memory (the cap is %d MiB; see "
                    "--lua-memory)",
                    (int)(vm->memory_max >> 20));
  lua_concat(L, 2);
  lua_error(L);
}

/* LuaJIT's own allocator, which belongs to the state and takes no lock. At
 * twice the cap there is no way on but out of the call. */
void *vm_allocate(void *ud, void *p, size_t old, size_t size)
{
  struct vm *vm = ud;
  size_t after = vm->memory - old + size;
  void *q = NULL;
  if (size <= old || after <= 2 * vm->memory_max)
    q = vm->allocator(vm->allocator_ud, p, old, size);
  if (size != 0 && !q && vm->escape)
    siglongjmp(*vm->escape, VM_BURIED_MEMORY);
  if (size != 0 && !q)
    return NULL;
  vm->memory = after;
  if (after > vm->memory_peak)
    vm->memory_peak = after;
  if (size > old && after > vm->ask_at)
    ask_for_room(vm, after);
  return q;
}

void vm_room_outside(lua_State *L)
{
  const struct vm *vm = vm_of(L);
  if (vm->outside > vm->memory_max)
    lua_gc(L, LUA_GCCOLLECT, 0);
  if (vm->outside > vm->memory_max)
    luaL_error(L,
               "not enough memory for JSON lists and images (the cap is %d "
               "MiB; see --lua-memory)",
               (int)(vm->memory_max >> 20));
}

struct vm *vm_of(lua_State *L)
{
  void *ud;
  lua_getallocf(L, &ud);
  return ud;
}

lua_State *vm_state(struct vm *vm)
{
  return vm->L;
}

size_t vm_memory_max(const struct vm *vm)
{
  return vm->memory_max;
}

uint64_t vm_seed(const struct vm *vm)
{
  return vm->scenario->seed;
}

void vm_set_item(struct vm *vm, const struct vm_item *item, int env)
{
  vm->item.id = item->id;
  vm->item.phase = item->phase;
  vm->item.stage = item->stage;
  vm->item.env = env;
}

/* ---- the end ---- */

void vm_stop(struct vm *vm, const char *reason)
{
  if (vm->stop.len)
    return;
  vm_guard(vm);
  buf_adds(&vm->stop, *reason ? reason : "the scenario stopped the run");
  buf_cstr(&vm->stop);
  vm_unguard(vm);
}

const char *vm_stop_reason(const struct vm *vm)
{
  return vm->stop.len ? vm->stop.p : NULL;
}

bool vm_dead(const struct vm *vm)
{
  return vm->dead;
}

/* ---- accounting ---- */

/* What runs before and after the load may take long: ten minutes. */
static uint64_t patience(const struct vm *vm)
{
  if (vm->doing)
    return WATCHDOG_PATIENCE;
  switch (vm->hook) {
  case HOOK_SETUP:
  case HOOK_INIT:
  case HOOK_EXIT:
  case HOOK_TEARDOWN:
  case HOOK_SUMMARY:
  case HOOK_CONTROL: return WATCHDOG_PATIENCE;
  default: return 1;
  }
}

void vm_enter(struct vm *vm, enum hook hook)
{
  uint64_t now;
  vm->hook = hook;
  if (vm->depth++)
    return;
  now = clock_ns();
  vm->thread = pthread_self();
  atomic_store_explicit(&vm->limit_ns, patience(vm) * vm->hang_ns,
                        memory_order_relaxed);
  atomic_store_explicit(&vm->entered_ns, now, memory_order_release);
}

static void note_worst(struct vm *vm, uint64_t ns)
{
  struct vm_stats *s = &vm->stats;
  s->worst_ns = ns;
  snprintf(s->worst_place, sizeof s->worst_place, "%s (%s)", vm_place(vm),
           vm_doing(vm));
}

void vm_leave(struct vm *vm)
{
  struct vm_stats *s = &vm->stats;
  uint64_t ns;
  if (--vm->depth)
    return;
  ns = ns_since(atomic_load_explicit(&vm->entered_ns, memory_order_relaxed),
                clock_ns());
  atomic_store_explicit(&vm->entered_ns, 0, memory_order_release);
  /* From here on the signal handler leaves us alone. An error may have flown
   * past the end of a guard. */
  vm->guard = 0;
  if (vm->alarmed && !vm->dead)
    lua_sethook(vm->L, NULL, 0, 0);
  vm->alarmed = vm->overdue = 0;
  if (vm->memory > vm->memory_max && !vm->dead)
    vm->full = !make_room(vm, vm->L);
  vm->last_ns = ns;
  s->calls++;
  s->total_ns += ns;
  s->slow += ns > slow_ns;
  if (ns > s->worst_ns)
    note_worst(vm, ns);
}

uint64_t vm_last_ns(const struct vm *vm)
{
  return vm->last_ns;
}

struct vm_stats vm_stats(const struct vm *vm)
{
  struct vm_stats s = vm->stats;
  s.memory = vm->memory;
  s.memory_peak = vm->memory_peak;
  return s;
}

/* ---- calls ---- */

int vm_trampoline(lua_State *L)
{
  return vm_of(L)->fn(L);
}

void *vm_ud(lua_State *L)
{
  return vm_of(L)->ud;
}

/* Only what is on the stack already may be touched here: everything that
 * allocates could raise, and nobody would catch it. */
static int call_trampoline(struct vm *vm, lua_CFunction fn, void *ud)
{
  lua_State *L = vm->L;
  int status;
  vm->fn = fn;
  vm->ud = ud;
  vm->stack_base = (uintptr_t)__builtin_frame_address(0);
  lua_pushvalue(L, VM_TRAMPOLINE);
  status = lua_pcall(L, 0, 0, VM_TRACEBACK);
  if (status != 0)
    vm_keep_error(vm, L, status);
  lua_settop(L, VM_TRAMPOLINE);
  return status;
}

/* Someone jumped out of Lua: the watchdog, or the allocator. */
static int bury(struct vm *vm, int why)
{
  vm->dead = true;
  vm->escape = NULL;
  vm->overdue = 0;
  buf_reset(&vm->traceback);
  buf_reset(&vm->error);
  if (why == VM_BURIED_HANG) {
    watchdog_unblock();
    buf_addf(&vm->error, "%s: %s did not return and had to be ended",
             vm_place(vm), vm_doing(vm));
  } else {
    buf_addf(&vm->error,
             "%s: %s: not enough memory (the cap is %zu MiB; see "
             "--lua-memory)",
             vm_place(vm), vm_doing(vm), vm->memory_max >> 20);
  }
  buf_cstr(&vm->error);
  return LUA_ERRMEM;
}

int vm_protected(struct vm *vm, lua_CFunction fn, void *ud)
{
  sigjmp_buf here;
  int why, status;
  if (vm->dead)
    return LUA_ERRMEM;
  vm->escape = &here;
  why = sigsetjmp(here, 0);
  if (why != 0)
    return bury(vm, why);
  status = call_trampoline(vm, fn, ud);
  vm->escape = NULL;
  return status;
}

/* What is alive was too much when Lua was left, where nobody can be told, and
 * still is: then whoever enters next is refused. */
static bool refuse(struct vm *vm, enum hook hook)
{
  if (!vm->full)
    return false;
  vm->full = vm->memory > vm->memory_max && !make_room(vm, vm->L);
  if (!vm->full)
    return false;
  vm->hook = hook;
  buf_reset(&vm->traceback);
  buf_reset(&vm->error);
  buf_addf(&vm->error,
           "%s: not enough memory (the cap is %zu MiB; see --lua-memory)",
           vm_place(vm), vm->memory_max >> 20);
  buf_cstr(&vm->error);
  vm_report_error(vm);
  return true;
}

enum vm_result vm_call(struct vm *vm, enum hook hook, lua_CFunction fn,
                       void *ud)
{
  int status;
  if (vm->dead || refuse(vm, hook))
    return VM_FAILED;
  vm_enter(vm, hook);
  status = vm_protected(vm, fn, ud);
  vm_leave(vm);
  if (status == 0)
    return VM_OK;
  vm_report_error(vm);
  return VM_FAILED;
}

/* What the message handler does for a call: the traceback of a coroutine that
 * has failed, and its error in words. */
static int explain(lua_State *L)
{
  struct vm *vm = vm_of(L);
  lua_State *co = vm_ud(L);
  luaL_traceback(L, co, NULL, 0);
  vm_keep_traceback(vm, lua_tostring(L, -1));
  lua_settop(L, 0);
  lua_xmove(co, L, 1);
  vm_error_in_words(L);
  lua_xmove(L, co, 1);
  return 0;
}

static int protected_resume(struct vm *vm, lua_State *co, int nargs)
{
  sigjmp_buf here;
  int why, status;
  vm->escape = &here;
  vm->resumed = co;
  why = sigsetjmp(here, 0);
  if (why != 0)
    return bury(vm, why);
  vm->stack_base = (uintptr_t)__builtin_frame_address(0);
  status = lua_resume(co, nargs);
  vm->escape = NULL;
  vm->resumed = NULL;
  return status;
}

int vm_resume(struct vm *vm, enum hook hook, lua_State *co, int nargs,
              struct rng *rng)
{
  int status;
  if (vm->dead)
    return LUA_ERRRUN;
  if (refuse(vm, hook))
    return LUA_ERRMEM;
  vm_enter(vm, hook);
  vm->rng = rng;
  status = protected_resume(vm, co, nargs);
  vm->rng = &vm->own_rng;
  if (status > LUA_YIELD && !vm->dead && vm_protected(vm, explain, co) == 0)
    vm_keep_error(vm, co, status);
  vm_leave(vm);
  if (status > LUA_YIELD)
    vm_report_error(vm);
  return status;
}

struct misuse {
  lua_State *co;
  const char *what;
};

static int tell_misuse(lua_State *L)
{
  const struct misuse *m = vm_ud(L);
  struct vm *vm = vm_of(L);
  lua_Debug at;
  luaL_traceback(L, m->co, NULL, 0);
  vm_keep_traceback(vm, lua_tostring(L, -1));
  if (lua_getstack(m->co, 1, &at) && lua_getinfo(m->co, "Sl", &at) &&
      at.currentline > 0)
    lua_pushfstring(L, "%s:%d: %s", at.short_src, at.currentline, m->what);
  else
    lua_pushstring(L, m->what);
  vm_keep_error(vm, L, LUA_ERRRUN);
  return 0;
}

void vm_misused(struct vm *vm, enum hook hook, lua_State *co, const char *what)
{
  struct misuse m = {.co = co, .what = what};
  if (vm->dead)
    return;
  vm_enter(vm, hook);
  vm_protected(vm, tell_misuse, &m);
  vm_leave(vm);
  vm_report_error(vm);
}

/* ---- idle collection ---- */

static int collect_step(lua_State *L)
{
  struct vm *vm = vm_of(L);
  uint64_t until = *(uint64_t *)vm_ud(L);
  do {
    if (lua_gc(L, LUA_GCSTEP, 0)) {
      vm->gc_base = vm->memory;
      break;
    }
  } while (clock_ns() < until);
  return 0;
}

/* Worth it once the heap has grown by a quarter and a megabyte. */
static bool worth_collecting(const struct vm *vm)
{
  return !vm->dead && vm->memory > vm->gc_base + vm->gc_base / 4 + (1 << 20);
}

bool vm_gc(struct vm *vm, uint64_t budget_ns)
{
  uint64_t start, until;
  if (!worth_collecting(vm))
    return false;
  start = clock_ns();
  until = start + budget_ns;
  vm_protected(vm, collect_step, &until);
  vm->stats.gc_ns += clock_ns() - start;
  return worth_collecting(vm);
}
