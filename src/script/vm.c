#include "script/vm.h"

#include <stdio.h>
#include <stdlib.h>

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

/* LuaJIT has no emergency collection: past the cap an allocation fails,
 * garbage or not. So the collector is pressed beforehand, at three quarters
 * of the cap and again each time that half of the room behind has gone: with
 * a step multiplier of 0 it runs a whole cycle at the next opportunity. Both
 * calls only set fields, so they are safe in the middle of an allocation. */
static void press_collector(struct vm *vm)
{
  lua_gc(vm->L, LUA_GCSETSTEPMUL, 0);
  lua_gc(vm->L, LUA_GCRESTART, 0);
  vm->pressed = true;
}

/* Where to press next: half-way to the cap, at three quarters at least. */
static size_t next_press(const struct vm *vm)
{
  size_t soft = vm->memory_max / 4 * 3, half;
  if (vm->memory >= vm->memory_max)
    return vm->memory_max;
  half = vm->memory + (vm->memory_max - vm->memory) / 2;
  return half > soft ? half : soft;
}

/* The script may catch the error, and what it allocates next would fail too
 * before the collector has had its turn: so each failure opens a sixteenth
 * more, four times at most, until the heap is below the cap again. */
static void refuse(struct vm *vm)
{
  size_t part = vm->memory_max / 16;
  press_collector(vm);
  if (vm->ceiling < vm->memory_max + 4 * part)
    vm->ceiling += part;
}

/* LuaJIT's own allocator, which belongs to the state and takes no lock, with
 * a cap around it. */
void *vm_allocate(void *ud, void *p, size_t old, size_t size)
{
  struct vm *vm = ud;
  void *q;
  if (size > old && vm->memory + (size - old) > vm->ceiling) {
    refuse(vm);
    return NULL;
  }
  q = vm->allocator(vm->allocator_ud, p, old, size);
  if (size != 0 && !q)
    return NULL;
  vm->memory += size - old;
  if (vm->memory > vm->memory_peak)
    vm->memory_peak = vm->memory;
  if (vm->memory < vm->memory_max)
    vm->ceiling = vm->memory_max;
  if (vm->memory > vm->press_at) {
    press_collector(vm);
    vm->press_at = next_press(vm);
  } else if (vm->pressed && next_press(vm) < vm->press_at) {
    vm->press_at = next_press(vm);
  }
  return q;
}

/* Back to small steps, which delay nobody. */
static void release_collector(struct vm *vm)
{
  if (vm->memory > vm->memory_max / 2)
    return;
  lua_gc(vm->L, LUA_GCSETSTEPMUL, 200);
  vm->pressed = false;
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

uint64_t vm_seed(const struct vm *vm)
{
  return vm->scenario->seed;
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

/* Hooks before and after the load may take long: 120 times the limit, which
 * is ten minutes. */
static uint64_t patience(enum hook h)
{
  switch (h) {
  case HOOK_SETUP:
  case HOOK_TEARDOWN:
  case HOOK_SUMMARY:
  case HOOK_CONTROL: return 120;
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
  atomic_store_explicit(&vm->limit_ns, patience(hook) * vm->hang_ns,
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
  if (vm->alarmed) {
    vm->alarmed = 0;
    if (!vm->dead)
      lua_sethook(vm->L, NULL, 0, 0);
  }
  if (vm->pressed && !vm->dead)
    release_collector(vm);
  s->calls++;
  s->total_ns += ns;
  s->slow += ns > slow_ns;
  if (ns > s->worst_ns)
    note_worst(vm, ns);
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

/* After an allocation failed everything that can go has to go, or the next
 * call fails as well. */
static int collect(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}

/* Only what is on the stack already may be touched here: everything that
 * allocates could raise, and nobody would catch it. */
int vm_protected(struct vm *vm, lua_CFunction fn, void *ud)
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
  if (status == LUA_ERRMEM) {
    vm->fn = collect;
    lua_pushvalue(L, VM_TRAMPOLINE);
    lua_pcall(L, 0, 0, 0);
    lua_settop(L, VM_TRAMPOLINE);
  }
  return status;
}

/* The watchdog's handler jumped out of Lua. */
static void bury(struct vm *vm)
{
  vm->dead = true;
  watchdog_unblock();
  buf_reset(&vm->traceback);
  buf_reset(&vm->error);
  buf_addf(&vm->error, "%s: %s did not return and had to be ended",
           vm_place(vm), vm_doing(vm));
}

/* The frame that the watchdog's last resort comes back to. */
static int call_or_bury(struct vm *vm, lua_CFunction fn, void *ud)
{
  sigjmp_buf here;
  vm->escape = &here;
  if (sigsetjmp(here, 0) != 0) {
    bury(vm);
    return LUA_ERRRUN;
  }
  return vm_protected(vm, fn, ud);
}

enum vm_result vm_call(struct vm *vm, enum hook hook, lua_CFunction fn,
                       void *ud)
{
  int status;
  if (vm->dead)
    return VM_FAILED;
  vm_enter(vm, hook);
  status = call_or_bury(vm, fn, ud);
  vm->escape = NULL;
  vm_leave(vm);
  if (status == 0)
    return VM_OK;
  vm_report_error(vm);
  return VM_FAILED;
}

static int traceback_of(lua_State *L)
{
  struct vm *vm = vm_of(L);
  luaL_traceback(L, vm_ud(L), NULL, 0);
  vm_keep_traceback(vm, lua_tostring(L, -1));
  return 0;
}

static int resume_or_bury(struct vm *vm, lua_State *co, int nargs)
{
  sigjmp_buf here;
  vm->escape = &here;
  if (sigsetjmp(here, 0) != 0) {
    bury(vm);
    return LUA_ERRRUN;
  }
  vm->stack_base = (uintptr_t)__builtin_frame_address(0);
  return lua_resume(co, nargs);
}

int vm_resume(struct vm *vm, enum hook hook, lua_State *co, int nargs,
              struct rng *rng)
{
  int status;
  if (vm->dead)
    return LUA_ERRRUN;
  vm_enter(vm, hook);
  vm->rng = rng;
  status = resume_or_bury(vm, co, nargs);
  vm->rng = &vm->own_rng;
  vm->escape = NULL;
  if (status > LUA_YIELD && !vm->dead) {
    vm_protected(vm, traceback_of, co);
    vm_keep_error(vm, co, status);
  }
  vm_leave(vm);
  if (status > LUA_YIELD)
    vm_report_error(vm);
  return status;
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
