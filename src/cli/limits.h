/* limits.h -- what this process may open.
 * A load generator needs a file descriptor per connection; the usual limit of
 * 1,024 is soft, and a run that hits it measures the limit. */
#ifndef STOKE_CLI_LIMITS_H
#define STOKE_CLI_LIMITS_H

#include <stdint.h>

#include "base/err.h"

/* Raise the soft limit of open files to the hard one. Returns what is then
 * allowed. */
uint64_t limits_raise_files(void);
/* About how many are open now: the number that the next one would get. */
uint64_t limits_open_files(void);
/* Would so many connections fit? `place` is what asks for them. 0, or -1 and
 * a message that says what to do. */
int limits_check_files(uint64_t connections, unsigned threads, uint64_t allowed,
                       const char *place, struct err *e);

#endif
