/* bind_json.h -- Lua values as JSON and back; stoke.json in scripts.
 *
 * Out, deterministic: keys sorted by their bytes, no blanks, whole numbers
 * without a point. A table whose keys are 1..n is an array, one with string
 * keys an object; holes and mixtures are errors. An empty table is `{}`,
 * unless stoke.json.array made it or json_write was told otherwise.
 * stoke.json.null is null. NaN and infinity are errors, as JSON has neither.
 * In: arrays are marked as such, so that an empty one stays an array. */
#ifndef STOKE_SCRIPT_BIND_JSON_H
#define STOKE_SCRIPT_BIND_JSON_H

#include "base/buf.h"

struct lua_State;

/* Append the value at index i. 0, or -1 with place and reason in `why`.
 * `array`: an empty table at the top is `[]`. Does not raise. */
int json_write(struct lua_State *L, int i, struct buf *out, bool array,
               const char *name, char why[256]);
/* Push the document; -1 and nothing pushed when it is not JSON, the offset of
 * the trouble in *at. `nulls`: null is stoke.json.null, else it is nil.
 * [-0, +(0|1), m] */
int json_push(struct lua_State *L, struct str text, bool nulls, size_t *at);
/* Is the value at i a stoke.json.list? Its elements without brackets, and how
 * many they are; borrowed until it changes. [-0, +0, -] */
bool json_list_items(struct lua_State *L, int i, struct str *items, size_t *n);
/* Push stoke.json.list. */
void bind_json_list(struct lua_State *L);
/* Push the table stoke.json. */
void bind_json(struct lua_State *L);

#endif
