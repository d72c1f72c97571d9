/* modules.h -- `require`, and the source of everything that scripts load.
 * A name is looked for among stoke's own modules ("stoke.…"), the standard
 * libraries that the box has, under the scenario's folder and in each folder
 * of STOKE_PATH. Only text is loaded, and no link leads out of a folder. */
#ifndef STOKE_SCRIPT_MODULES_H
#define STOKE_SCRIPT_MODULES_H

#include <stdbool.h>

struct lua_State;

/* Install require. [-0, +0, m] */
void modules_open(struct lua_State *L, bool unsafe);

#endif
