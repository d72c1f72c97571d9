/* flaws.h -- what no request may carry: bytes that are not UTF-8, and halves
 * of surrogate pairs. All of it becomes U+FFFD, and is counted. */
#ifndef STOKE_DATA_FLAWS_H
#define STOKE_DATA_FLAWS_H

#include <stdint.h>

#include "base/buf.h"

/* Bytes that belong to no UTF-8 sequence. */
uint64_t flaws_bytes(struct str s);
/* Escapes of lone surrogates in JSON text: "\ud800" without its other half. */
uint64_t flaws_escapes(struct str json);
/* The same, overwritten by "\ufffd". */
void flaws_mend_escapes(char *json, size_t len);
/* Append `s` with U+FFFD for what is not UTF-8 (see utf8_repair), and for
 * NUL. */
void flaws_clean(struct buf *out, struct str s);

#endif
