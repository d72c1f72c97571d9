/* sandbox.h -- what of Lua a scenario gets.
 * Scenarios are shared between teams, so they run boxed: the language, string,
 * table, math, coroutine, bit and a little of os and jit; `load` takes text
 * only. No file, process, environment, debug library, C module or bytecode.
 * The box is a list of what is let in, never of what is kept out. */
#ifndef STOKE_SCRIPT_SANDBOX_H
#define STOKE_SCRIPT_SANDBOX_H

#include <stdbool.h>

struct lua_State;

/* Fill the globals of a fresh state; `unsafe` opens all libraries. In both
 * cases print writes whole lines, math.random draws from the run's random
 * numbers and os.exit asks the run to stop. [-0, +0, m] */
void sandbox_open(struct lua_State *L, bool unsafe);
/* After modules_open: what `require` gives for the standard libraries. */
void sandbox_modules(struct lua_State *L);

#endif
