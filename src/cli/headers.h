/* headers.h -- header lines and keys as people hand them over.
 * Copied from web pages, read from files with a newline at their end, quoted
 * twice. What is harmless is put right with a notice; what would split or
 * spoil a request is refused. No message ever shows a value. */
#ifndef STOKE_CLI_HEADERS_H
#define STOKE_CLI_HEADERS_H

#include "base/buf.h"
#include "base/err.h"

/* One -H: "Name: value" or "Name=value", whichever sign comes first, appended
 * to `lines` as "Name: value\n". 0, or -1 with a message. */
int headers_add(struct buf *lines, const char *line, struct err *e);
/* Is there a line with this name? */
bool headers_have(const struct buf *lines, struct str name);
/* An API key, cleaned: NULL when it is empty (then no header is sent), or
 * when it is bad and a message was added. `place` names its origin ("the
 * variable OPENAI_API_KEY"). Notices are lines. Owned by the caller. */
char *headers_key(const char *text, const char *place, struct buf *notices,
                  struct err *e);

#endif
