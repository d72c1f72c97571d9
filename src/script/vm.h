/* vm.h -- one Lua state: that of a worker, or the main thread's.
 * It has a memory cap, the sandbox, the scenario's functions, its parameters
 * and setup's data. Every way from C into Lua is protected: what a script
 * does wrong comes back as -1 and is in the table of script errors (shown
 * once per place); it never ends the process.
 *
 * Time in Lua is measured, and a call that does not return is ended by the
 * watchdog: first with an error at its next bytecode, then, where there is
 * none (compiled loops, pattern matching), by leaving the state behind. Memory
 * past the cap is an error in the script; twice the cap at once leaves the
 * state behind as well. Such a VM is dead: every later call fails, and what
 * the state held is never freed.
 *
 * A VM is used by one thread at a time, whose stack must have 8 MB (see
 * recursion.h) and which must not block the watchdog's signal. Instants are
 * taken by the caller before it gets here: no hook moves its own event's time.
 */
#ifndef STOKE_SCRIPT_VM_H
#define STOKE_SCRIPT_VM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "script/body.h"
#include "script/errors.h"
#include "script/request.h"
#include "script/scenario.h"

struct custom;
struct vm;
struct watchdog;

/* Where run:http goes. */
struct vm_http {
  struct net_config net;
  const char *base_url, *query;
  struct xfer_headers *headers;
  uint64_t timeout_ns;
};

struct vm_config {
  const struct scenario *scenario; /* outlives the VM */
  struct body_defaults body;       /* strings borrowed for the VM's life */
  struct script_errors *errors;    /* shared; outlives the VM */
  struct watchdog *watchdog;       /* or NULL: hooks may take for ever */
  struct custom *custom; /* where record and check go; outlives the VM. NULL:
                          * they are errors */
  struct str data;       /* what vm_setup wrote, or empty; copied into the VM */
  unsigned worker, workers;   /* 0-based; shown as stoke.worker (1-based) */
  const struct vm_http *http; /* of the main thread's; outlives the VM */
  bool main; /* the main thread's: print in the main chunk is heard */
};

/* Loads and runs the script. NULL and a message when it fails here although
 * scenario_open was content. */
struct vm *vm_new(const struct vm_config *c, struct err *e);
void vm_free(struct vm *vm);
/* Time zero, for ctx.now(). */
void vm_start(struct vm *vm, uint64_t t0_ns);
/* What is recorded and checked from now on counts, or (muted: the warm-up, a
 * sample) does not. */
void vm_mute(struct vm *vm, bool muted);
/* Where errors are told and counted from now on; NULL: vm_error alone. */
void vm_set_errors(struct vm *vm, struct script_errors *errors);

/* ---- hooks ---- */

/* Call setup(run), if there is one, and append its result to `data` for the
 * other VMs. 0, or -1 with the reason in *e. On the main thread's VM. */
int vm_setup(struct vm *vm, struct buf *data, struct err *e);

/* init(ctx) and exit(ctx), if there are any: on a worker's VM, before the load
 * and after it. exit's result is appended to `data`, for vm_threads. */
int vm_init(struct vm *vm, struct err *e);
enum vm_result vm_exit(struct vm *vm, struct buf *data);
/* What the exit hooks of all threads returned, for summary(): borrowed until
 * then, on the main thread's VM. */
/* Of a script for wrk: what done() is told (borrowed), and the base URL that
 * setup() gave this thread, or NULL. */
struct wrk_figures;
void vm_figures(struct vm *vm, const struct wrk_figures *f);
const char *vm_address(const struct vm *vm);
void vm_threads(struct vm *vm, const struct buf *exits, size_t n);

struct vm_item {
  uint64_t id;       /* 1, 2, 3 … over the whole run */
  enum phase phase;  /* warm-up draws from a random stream of its own */
  const char *stage; /* label, or NULL */
};

enum vm_result {
  VM_FAILED = -1, /* script error: outcome `script`; see vm_error */
  VM_END = 0,     /* request returned nil: nothing left to send */
  VM_OK = 1,
};

/* request(ctx) -> *out, ready to send. *out is reset first. */
enum vm_result vm_request(struct vm *vm, const struct vm_item *item,
                          struct request *out);
/* A request like those to come, ready to send, for a look at the server
 * before the load: number one, of the stage with this label (or NULL), with
 * random numbers that no measured request has or, as nobody knows what a
 * session will send, a small prompt. */
enum vm_result vm_sample(struct vm *vm, const char *stage, struct request *out);
/* on_response(r), when the scenario has one; *v is filled either way.
 * VM_FAILED: the request's outcome is `script`. */
enum vm_result vm_on_response(struct vm *vm, const struct vm_item *item,
                              const struct response *r, struct verdict *v);
/* load.rate(t): requests a second at `t` seconds. A result that is no rate is
 * an error of the script. */
enum vm_result vm_rate(struct vm *vm, double t, double *rate);
/* load.arrivals(i, rng): seconds from arrival i-1 to arrival i (from 1);
 * VM_END when it returned nil. Call it for i = 1, 2, 3 …: rng goes on. */
enum vm_result vm_arrival(struct vm *vm, uint64_t i, double *gap);
/* teardown(run), if there is one. */
enum vm_result vm_teardown(struct vm *vm);
/* summary(results): `results` is the results file's JSON. What it returns
 * goes to *custom (a JSON object's text) or to *text. */
enum vm_result vm_summary(struct vm *vm, struct str results, struct buf *custom,
                          struct buf *text);

/* The last script error of this VM, one line without traceback: a record's
 * message. Valid until the next call. */
const char *vm_error(const struct vm *vm);
/* The script asked for the end of the run (os.exit, stoke.stop); NULL: no. */
const char *vm_stop_reason(const struct vm *vm);
/* A hook had to be left behind (it did not return, or wanted far more memory
 * than there is); the run must end. */
bool vm_dead(const struct vm *vm);

/* ---- time and memory ---- */

struct vm_stats {
  uint64_t calls;    /* entries into Lua */
  uint64_t total_ns; /* time in Lua, idle collection not included */
  uint64_t worst_ns;
  char worst_place[96];       /* "my.lua:12 (request)" */
  uint64_t slow;              /* calls of more than 5 ms */
  uint64_t gc_ns;             /* idle collection */
  size_t memory, memory_peak; /* bytes of the Lua heap */
};
struct vm_stats vm_stats(const struct vm *vm);
/* What the last way into Lua took. */
uint64_t vm_last_ns(const struct vm *vm);
/* The cap of the Lua heap, in bytes. */
size_t vm_memory_max(const struct vm *vm);
/* Collect garbage in small steps for at most `budget_ns` while there is
 * something worth collecting. True when more is left: call again when the
 * loop is idle. */
bool vm_gc(struct vm *vm, uint64_t budget_ns);

/* ---- for what stands on top of a VM (session*.c, bind_*.c) ---- */

struct lua_State;
struct rng;

struct lua_State *vm_state(struct vm *vm);
/* The run's seed. */
uint64_t vm_seed(const struct vm *vm);
/* The VM that a state, or any of its coroutines, belongs to. */
struct vm *vm_of(struct lua_State *L);
/* Run fn(L) protected, with traceback and time accounting; fn finds `ud` by
 * vm_ud. It starts on an empty stack of its own and its results are dropped.
 * The only way from C into Lua besides vm_resume. */
enum vm_result vm_call(struct vm *vm, enum hook hook,
                       int (*fn)(struct lua_State *L), void *ud);
void *vm_ud(struct lua_State *L);
/* Push the hook's function; inside vm_call only. */
void vm_push_hook(struct vm *vm, enum hook hook);
/* Whose script runs from now on, for what follows the item (d:next); `env`: a
 * reference to a table of the session's own, or LUA_NOREF. id 0: nobody's. */
void vm_set_item(struct vm *vm, const struct vm_item *item, int env);
/* lua_resume with the same protection, for session_coroutine.c and control.c.
 * Returns LUA_YIELD, 0 or an error's code; an error has been counted. Draws
 * of math.random come from `rng` meanwhile. */
int vm_resume(struct vm *vm, enum hook hook, struct lua_State *co, int nargs,
              struct rng *rng);
/* Count what a coroutine did that none may do, as an error where it stands. */
void vm_misused(struct vm *vm, enum hook hook, struct lua_State *co,
                const char *what);
/* A bracket around several calls, so that the clock is read twice for all of
 * them: a per-token hook is too cheap to be timed one by one. */
void vm_enter(struct vm *vm, enum hook hook);
void vm_leave(struct vm *vm);

#endif
