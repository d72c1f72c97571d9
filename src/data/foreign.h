/* foreign.h -- files that are no UTF-8 text with lines, by their first bytes.
 * Read as text they would be nonsense that nobody notices. */
#ifndef STOKE_DATA_FOREIGN_H
#define STOKE_DATA_FOREIGN_H

#include <stdbool.h>

#include "base/str.h"

/* What the file is and what to do about it ("is UTF-16 …: save it as UTF-8"),
 * or NULL: as far as it can be seen it is UTF-8. `head` as it stands in the
 * file, with its mark of encoding. */
const char *foreign_file(struct str head);

/* The same of text whose lines end in CR alone, as far as `head` goes: all of
 * it would be one line. */
const char *foreign_lines(struct str head);

#endif
