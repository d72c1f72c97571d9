/* base64.h -- RFC 4648 base64. */
#ifndef STOKE_DATA_BASE64_H
#define STOKE_DATA_BASE64_H

#include "base/buf.h"

/* Appends the decoded bytes. Padding may be left out. 0, or -1 at the first
 * character that is none of base64's (what came before is kept). */
int base64_decode(struct buf *out, struct str text);
/* Appends the bytes in base64, padded. */
void base64_encode(struct buf *out, struct str bytes);

#endif
