/* mask.h -- no secret in anything that is shown or saved.
 * Command lines go into results and messages into logs; keys, passwords and
 * cookies in them become "***". */
#ifndef STOKE_CLI_MASK_H
#define STOKE_CLI_MASK_H

#include "cli/options.h"

#define MASK "***"

/* Does a header of this name carry a secret? (Authorization, cookies, and
 * whatever has key, token, secret or password in its name.) */
bool mask_is_secret_header(struct str name);
/* Append a URL with its user and password, and the values of query fields
 * that are named like secrets, replaced. */
void mask_url(struct buf *out, struct str url);
/* Append the value of a row as it may be shown: all of a secret one, what is
 * secret in a header (row "header") and in a URL replaced. row may be NULL: an
 * argument of its own. */
void mask_value(struct buf *out, const struct option *row, const char *value);
/* Replace every appearance of these secrets. One of less than six bytes is
 * left alone, for it would be found inside words. */
void mask_known(struct buf *text, const struct option_list *secrets);
/* A command line as a shell would take it, secrets masked: values of secret
 * rows, of secret headers (row "header"), in URLs, and the known ones wherever
 * they appear. `argv` is what stood behind `program`. Owned by the caller. */
char *mask_command(const struct options_spec *spec, int argc,
                   char *const argv[], const struct option_list *secrets);

#endif
