/* vm_impl.h -- the inside of a VM, for the few files that make one up:
 * vm.c, vm_hooks.c, watchdog.c, sandbox.c, modules.c and the bindings. */
#ifndef STOKE_SCRIPT_VM_IMPL_H
#define STOKE_SCRIPT_VM_IMPL_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/rng.h"
#include "script/vm.h"

/* What vm.c keeps in the registry. */
enum vm_ref {
  REF_SCENARIO, /* the table that the script returned */
  REF_CTX,      /* what request(ctx) gets */
  REF_RUN,      /* what setup(run) and teardown(run) get */
  REF_PARAMS,
  REF_ARGS,
  REF_DATA,     /* setup's result */
  REF_LOADED,   /* modules by name */
  REF_FIELDS,   /* request table: field name -> number; request_table.c */
  REF_ARRAY,    /* metatable of JSON arrays */
  REF_RESPONSE, /* the one response userdata */
  REF_BACKENDS, /* how bodies are made; backend_lua.c */
  REF_STREAM,   /* the loop of vm_stream.c; string.sub before there is one */
  REF_COUNT
};

struct vm {
  lua_State *L; /* its stack: 1 traceback handler, 2 trampoline */
  const struct scenario *scenario;
  struct script_errors *errors; /* NULL while the scenario is opened */
  struct custom *custom;        /* or NULL */
  bool muted;                   /* nothing is recorded */
  struct body *body;
  struct buf scratch, extra;     /* JSON and other text on its way */
  int64_t max_tokens;            /* of the command line, or -1 */
  const char *endpoint;          /* of a request that names none, or NULL */
  const struct backend *backend; /* the same, looked up */
  const char *stage;             /* that ctx shows */
  unsigned worker, workers;
  unsigned threads;                  /* of the run, for scripts of wrk */
  struct buf address;                /* base URL of their own; or empty */
  const struct wrk_figures *figures; /* for their done(); or NULL */
  const struct buf *exits;           /* see vm_threads */
  size_t n_exits;
  bool main, quiet; /* quiet: print says nothing */
  uint64_t t0_ns;
  /* The request or session whose script runs; id 0: none. `env` is where a
   * session keeps what is its own, or LUA_NOREF. */
  struct {
    uint64_t id;
    enum phase phase;
    const char *stage; /* label, or NULL */
    int env;
  } item;

  /* protected calls */
  lua_CFunction fn;
  void *ud;
  enum hook hook;              /* what is running */
  const char *doing;           /* in words, when no hook runs: "loading" */
  char places[HOOK_COUNT][80]; /* where each hook is defined: "my.lua:12" */
  int refs[REF_COUNT], hooks[HOOK_COUNT];
  const struct vm_http *http;  /* or NULL */
  struct request http_request; /* of run:http; reused */
  int32_t *stream_state;       /* of vm_stream.c's loop; NULL: none yet */
  double *stream_id;           /* of the request that is shown there */
  bool stream_texts;           /* on_chunk takes them */
  uintptr_t stack_base;        /* C's stack where Lua was entered */
  lua_State *resumed;          /* by vm_resume, or NULL */
  bool dead;
  struct buf error, traceback;
  struct buf stop; /* reason; empty: none */

  /* random numbers: `rng` is where math.random draws from */
  struct rng *rng, *request_rng, *run_rng, own_rng;

  /* time and memory */
  unsigned depth; /* of vm_enter */
  struct vm_stats stats;
  uint64_t last_ns;    /* from the last vm_enter to its vm_leave */
  lua_Alloc allocator; /* LuaJIT's own */
  void *allocator_ud;
  size_t memory, memory_max, memory_peak;
  size_t ask_at;  /* memory at which room is asked for: at first the cap */
  bool over;      /* past it; the hook is set */
  bool full;      /* what is alive is past it: see vm.c, refuse */
  size_t outside; /* bytes of objects whose memory is not in the heap */
  size_t gc_base; /* heap after the last complete collection */

  /* The script's own files, in the order in which they were loaded. */
  struct scenario_file *files;
  size_t n_files;

  /* ---- shared with the watchdog and its signal handler ---- */
  struct watchdog *watchdog; /* or NULL */
  uint64_t hang_ns;          /* its limit */
  struct vm *next_watched;
  _Atomic pthread_t thread;      /* that is in Lua */
  _Atomic uint64_t entered_ns;   /* 0: not in Lua */
  _Atomic uint64_t limit_ns;     /* of this call */
  sigjmp_buf *escape;            /* out of Lua, as a last resort */
  volatile sig_atomic_t guard;   /* > 0: in malloc or holding a lock */
  volatile sig_atomic_t alarmed; /* the hook is set */
  volatile sig_atomic_t overdue; /* nor was that enough */
};

/* What errors and tracebacks would call the loop of vm_stream.c. */
#define VM_LOOP "(stoke)"

/* Where the two functions are on the stack of vm->L. */
enum { VM_TRACEBACK = 1, VM_TRAMPOLINE = 2 };

/* A VM with the sandbox and the modules, before any script. Never fails. */
struct vm *vm_bare(const struct scenario *s, const struct vm_config *c);
/* From now on `w` ends what does not return; it outlives the VM. */
void vm_watch(struct vm *vm, struct watchdog *w);
/* Run the script's source. 0 with its table in REF_SCENARIO, or -1. */
int vm_load(struct vm *vm, struct err *e);
/* Where the scenario's load is a function of the parameters, put what it
 * returns in its place. [-0, +0, e] */
void vm_settle_load(lua_State *L, const struct params *p);
/* Protected, without accounting and watchdog; returns lua_pcall's code, and
 * the error's words in vm->error. */
int vm_protected(struct vm *vm, lua_CFunction fn, void *ud);

void vm_set_ref(lua_State *L, enum vm_ref ref);  /* [-1, +0, m] */
void vm_push_ref(lua_State *L, enum vm_ref ref); /* [-0, +1, -] */
/* What is jumped to `escape` with. */
enum { VM_BURIED_HANG = 1, VM_BURIED_MEMORY };
/* The count hook: set by the watchdog and past the memory cap. */
void vm_on_hook(lua_State *L, lua_Debug *ar);
/* Objects of a script's that are not in its heap may have as much again. To be
 * called before one grows: collects, and raises if that was not enough.
 * [-0, +0, v] */
void vm_room_outside(lua_State *L);
void *vm_allocate(void *ud, void *p, size_t old, size_t size);
int vm_trampoline(lua_State *L);

/* Before the script can change the string library. [-0, +0, m] */
void vm_stream_open(lua_State *L);

/* vm_error.c */
int vm_on_error(lua_State *L); /* the message handler: [-1, +1, e] */
/* An error that is an object, alone on the stack, becomes text. [-1, +1, e] */
void vm_error_in_words(lua_State *L);
/* The error of a call that ended with `status`, its message on top of `L`, as
 * one text that begins with a place. */
void vm_keep_error(struct vm *vm, lua_State *L, int status);
void vm_keep_traceback(struct vm *vm, const char *text);
/* Count it; the first of a place is shown at once. */
void vm_report_error(struct vm *vm);
const char *vm_place(const struct vm *vm); /* "my.lua:12" */
const char *vm_doing(const struct vm *vm); /* "request", "loading" */
/* Raise an error that points at the line that called us or, when C did, at
 * the running hook's definition. */
int vm_hook_error(lua_State *L, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Ask for the end of the run; the first reason stays. */
void vm_stop(struct vm *vm, const char *reason);

/* Around code that allocates or locks: the watchdog's last resort waits for
 * its end, and is taken there. What raises by vm_hook_error takes the guard
 * down. */
static inline void vm_guard(struct vm *vm)
{
  vm->guard++;
  atomic_signal_fence(memory_order_seq_cst);
}

static inline void vm_unguard(struct vm *vm)
{
  atomic_signal_fence(memory_order_seq_cst);
  vm->guard -= vm->guard > 0;
  if (vm->overdue && !vm->guard && vm->escape)
    siglongjmp(*vm->escape, VM_BURIED_HANG);
}

#endif
