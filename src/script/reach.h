/* reach.h -- which files a script may name.
 * The scenario's folder, and where a path parameter points that the user has
 * set: what the script itself names as a default opens nothing. */
#ifndef STOKE_SCRIPT_REACH_H
#define STOKE_SCRIPT_REACH_H

struct lua_State;
struct vm;

/* Argument `i`, a path; raises when it is none. [-0, +0, v] */
const char *reach_path(struct lua_State *L, int i);
/* The real path of `path` (relative ones start in the scenario's folder),
 * owned by the caller; NULL and the reason, without the path, when there is
 * no such file or the script may not see it. */
char *reach(const struct vm *vm, const char *path, char why[128]);

#endif
