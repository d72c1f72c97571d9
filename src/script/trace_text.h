/* trace_text.h -- text for rows that only say how long theirs was.
 * Words instead of tokens (see words.h): n words for n tokens. */
#ifndef STOKE_SCRIPT_TRACE_TEXT_H
#define STOKE_SCRIPT_TRACE_TEXT_H

#include <stdint.h>

#include "base/buf.h"

/* Append the first n words of the stream (seed, id), a blank in front unless
 * `out` is empty. */
void trace_text(struct buf *out, uint64_t seed, uint64_t id, uint64_t n);
/* Ids of rows without hash ids never meet these. */
#define TRACE_TEXT_ROW(i) (UINT64_C(1) << 63 | (i))

#endif
