/* vm_stream.h -- the hooks that run while an answer streams in.
 * They run per token, so all that a call into Lua costs besides is paid once
 * for all the events of one read: vm_stream enters Lua, protected, and runs
 * the C function that reads them; in there the hooks are a few pushes and a
 * call away. Nothing else may enter Lua meanwhile. */
#ifndef STOKE_SCRIPT_VM_STREAM_H
#define STOKE_SCRIPT_VM_STREAM_H

#include "script/vm.h"

/* Run feed(ud) where the two hooks can be called. Returns what it returned,
 * or -1 when that could not be done (vm_error says why). The time that the
 * events take to be read counts as the script's. */
int vm_stream(struct vm *vm, int (*feed)(void *ud), void *ud);
/* on_first_token(r). VM_FAILED: the request's outcome is `script`. */
enum vm_result vm_on_first_token(struct vm *vm, const struct response *r);
/* on_chunk(r, text). VM_END: it returned false, hang up. */
enum vm_result vm_on_chunk(struct vm *vm, const struct response *r,
                           struct str text);

#endif
