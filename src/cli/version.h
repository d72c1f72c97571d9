/* version.h -- the versions of stoke and of every library in it. */
#ifndef STOKE_CLI_VERSION_H
#define STOKE_CLI_VERSION_H

#include "base/buf.h"

/* A line each, the last perhaps a warning about one of them. */
void version_write(struct buf *out);
/* version_write to stdout; the exit status. */
int version_main(void);

#endif
