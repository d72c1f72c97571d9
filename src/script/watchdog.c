#include "script/watchdog.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "script/vm_impl.h"

static const uint64_t default_limit_ns = 5 * NS_PER_SEC,
                      look_every_ns = 250 * NS_PER_MS,
                      press_every_ns = 10 * NS_PER_MS,
                      grace_ns = 250 * NS_PER_MS, belief_ns = 5 * NS_PER_SEC;

struct watchdog {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  uint64_t limit_ns;
  bool running, stop;
  struct vm *vms;
};

/* A real-time signal: it carries a pointer, and nobody else uses it. */
static int signal_number(void)
{
  return SIGRTMIN + 3;
}

/* ---- in the thread that hangs ---- */

/* Everything here is safe in a signal handler: atomics, clock_gettime,
 * lua_sethook (made for that: luajit's own does it on ^C) and siglongjmp,
 * which leaves no lock behind as long as no guard is up. Where one is, its end
 * is where the call is left (vm_unguard). A guard that stays up was abandoned
 * by an error in between, so it is not believed for ever. */
static void on_signal(int number, siginfo_t *info, void *context)
{
  struct vm *vm = info->si_value.sival_ptr;
  uint64_t entered = atomic_load(&vm->entered_ns), limit = vm->limit_ns, past;
  (void)number;
  (void)context;
  if (!entered || vm->thread != pthread_self())
    return;
  past = ns_since(entered + limit, clock_ns());
  if (!past)
    return;
  if (!vm->alarmed) {
    vm->alarmed = 1;
    lua_sethook(vm->L, vm_on_hook, LUA_MASKCOUNT, 1);
  } else if (vm->escape && past > grace_ns) {
    vm->overdue = 1;
    if (!vm->guard || past > grace_ns + limit + belief_ns)
      siglongjmp(*vm->escape, VM_BURIED_HANG);
  }
}

void watchdog_unblock(void)
{
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number());
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- the watching thread ---- */

/* True when one is overdue: then look again soon. */
static bool look(struct watchdog *w)
{
  uint64_t now = clock_ns();
  bool overdue = false;
  for (struct vm *vm = w->vms; vm; vm = vm->next_watched) {
    uint64_t entered =
        atomic_load_explicit(&vm->entered_ns, memory_order_acquire);
    if (!entered || now < entered + vm->limit_ns)
      continue;
    overdue = true;
    pthread_sigqueue(vm->thread, signal_number(),
                     (union sigval){.sival_ptr = vm});
  }
  return overdue;
}

static void *watch(void *ud)
{
  struct watchdog *w = ud;
  pthread_mutex_lock(&w->lock);
  while (!w->stop) {
    uint64_t at = clock_ns() + (look(w) ? press_every_ns : look_every_ns);
    struct timespec until = {.tv_sec = (time_t)(at / NS_PER_SEC),
                             .tv_nsec = (long)(at % NS_PER_SEC)};
    pthread_cond_timedwait(&w->wake, &w->lock, &until);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

struct watchdog *watchdog_new(uint64_t limit_ns)
{
  struct watchdog *w = mem_new(struct watchdog);
  struct sigaction action = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_RESTART};
  pthread_condattr_t monotonic;
  sigset_t all, before;
  w->limit_ns = limit_ns ? limit_ns : default_limit_ns;
  sigaction(signal_number(), &action, NULL);
  pthread_mutex_init(&w->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&w->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  /* The process's other signals are not for this thread. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  w->running = pthread_create(&w->thread, NULL, watch, w) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!w->running)
    log_line("no thread for the watchdog: scripts that hang are not ended");
  return w;
}

void watchdog_free(struct watchdog *w)
{
  if (!w)
    return;
  pthread_mutex_lock(&w->lock);
  w->stop = true;
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->lock);
  if (w->running)
    pthread_join(w->thread, NULL);
  pthread_cond_destroy(&w->wake);
  pthread_mutex_destroy(&w->lock);
  mem_free(w);
}

uint64_t watchdog_limit_ns(const struct watchdog *w)
{
  return w ? w->limit_ns : 0;
}

void watchdog_add(struct watchdog *w, struct vm *vm)
{
  pthread_mutex_lock(&w->lock);
  vm->next_watched = w->vms;
  w->vms = vm;
  pthread_mutex_unlock(&w->lock);
}

void watchdog_remove(struct watchdog *w, struct vm *vm)
{
  struct vm **at = &w->vms;
  pthread_mutex_lock(&w->lock);
  while (*at != vm)
    at = &(*at)->next_watched;
  *at = vm->next_watched;
  pthread_mutex_unlock(&w->lock);
}
