/* option_value.h -- one option's text becomes a checked value in its field.
 * The half of options.[ch] that knows the kinds. */
#ifndef STOKE_CLI_OPTION_VALUE_H
#define STOKE_CLI_OPTION_VALUE_H

#include "cli/options.h"

/* Check `value` and store it in the field of `dest` that `row` names. `path`
 * is what stood behind the dot of a JSON row ("a.b"), else empty. `place`
 * says where the value came from, for messages. A list is appended to. On -1
 * the field is unchanged and a message is in *e. */
int option_store(const struct option *row, void *dest, struct str path,
                 const char *value, const char *place, struct err *e);
/* Free what the row owns in `dest` and leave it empty. */
void option_clear(const struct option *row, void *dest);

#endif
