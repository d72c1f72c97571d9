/* digest.h -- SHA-256, as `sha256sum` prints it. */
#ifndef STOKE_SCRIPT_DIGEST_H
#define STOKE_SCRIPT_DIGEST_H

#include "base/str.h"

/* 64 hex digits and a NUL. */
void digest_sha256(struct str data, char out[65]);

#endif
