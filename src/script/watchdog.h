/* watchdog.h -- ends script calls that do not return.
 * One thread for the process looks at every VM four times a second. After
 * `limit_ns` in one call it sends the VM's thread a signal, in whose handler
 * a debug hook is set that raises an error at the next bytecode. Compiled
 * loops and C functions run no hooks: if the call is still there 250 ms later
 * the handler jumps out of it, and the VM is dead. Its memory stays behind,
 * as the state may be halfway through anything. */
#ifndef STOKE_SCRIPT_WATCHDOG_H
#define STOKE_SCRIPT_WATCHDOG_H

#include <stdint.h>

struct vm;
struct watchdog;

/* limit_ns 0: 5 s. What happens before and after the load (the main chunk,
 * setup, teardown, summary) has WATCHDOG_PATIENCE times that, control too. */
enum { WATCHDOG_PATIENCE = 120 };
struct watchdog *watchdog_new(uint64_t limit_ns);
/* All VMs must be gone. */
void watchdog_free(struct watchdog *w);

/* For vm.c. */
uint64_t watchdog_limit_ns(const struct watchdog *w); /* NULL: 0 */
void watchdog_add(struct watchdog *w, struct vm *vm);
void watchdog_remove(struct watchdog *w, struct vm *vm);
/* After the jump: the signal is blocked as long as its handler has not
 * returned, which it never will. */
void watchdog_unblock(void);

#endif
