/* errors.h -- what went wrong in scripts, once per place.
 * One table for a run, shared by all VMs: a mistake in request() happens on
 * every thread and must be shown once. It has a lock, which is taken only
 * when a script failed and when a run ends. */
#ifndef STOKE_SCRIPT_ERRORS_H
#define STOKE_SCRIPT_ERRORS_H

#include <stdint.h>

#include "base/buf.h"

struct script_errors;

struct script_errors *script_errors_new(void);
void script_errors_free(struct script_errors *t);
/* Counts one. True when its place (the hook's name, where the message has
 * none) is new: the caller then shows it. */
bool script_errors_add(struct script_errors *t, const char *hook,
                       const char *message);
/* The "my.lua:12" that a message begins with, or {NULL, 0}. */
struct str script_error_place(struct str message);
/* A VM is dead (see vm.h): the run has to end, and not as a success. */
void script_errors_give_up(struct script_errors *t);
bool script_errors_gave_up(struct script_errors *t);
/* All of them, over all threads; compare with --max-script-errors. */
uint64_t script_errors_total(struct script_errors *t);

#endif
