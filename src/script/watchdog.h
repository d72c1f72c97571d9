/* watchdog.h -- ends script calls that do not return.
 * One thread for the process looks at every VM four times a second. After
 * `limit_ns` in one call it sends the VM's thread a signal, in whose handler
 * a debug hook is set that raises an error at the next bytecode. Compiled
 * loops and C functions run no hooks; 250 ms later the handler jumps out of
 * the call, and the VM is dead (its memory stays behind: the state may be
 * halfway through anything). */
#ifndef STOKE_SCRIPT_WATCHDOG_H
#define STOKE_SCRIPT_WATCHDOG_H

#include <stdint.h>

struct vm;
struct watchdog;

/* limit_ns 0: 5 s. */
struct watchdog *watchdog_new(uint64_t limit_ns);
/* All VMs must be gone. */
void watchdog_free(struct watchdog *w);

#endif
