/* luajit.h -- which LuaJIT runs the scripts.
 * Asked from the library itself: the one that was compiled against need not
 * be the one that is loaded. */
#ifndef STOKE_SCRIPT_LUAJIT_H
#define STOKE_SCRIPT_LUAJIT_H

#include <stdbool.h>

/* "LuaJIT 2.1.0-beta3 (GC64)" */
const char *luajit_version(char out[64]);
/* Why this one is a risk (a known crash, a heap of 2 GB), as a sentence, or
 * NULL when it is fine. `version` is what luajit_version said. */
const char *luajit_warning(const char *version);

#endif
