/* config_file.h -- options from a file, and all of them printed.
 * A file is a flat table of option names, in either spelling; what is a list
 * on the command line may be an array (stage, header) or an object (param). */
#ifndef STOKE_CLI_CONFIG_FILE_H
#define STOKE_CLI_CONFIG_FILE_H

#include "cli/options.h"

/* Read `path` (.json, .yaml, .yml or .lua) into the rows that nothing
 * stronger has set. "scenario" becomes the positional argument when there is
 * none. 0, or -1 and every mistake in *e. */
int config_file_read(struct options *o, const char *path, struct err *e);

/* Append a YAML line "key: value # source" for each row: such a file can be
 * read again. Defaults are comments. Secrets are masked. */
void config_file_print(const struct options *o, struct buf *out);

#endif
