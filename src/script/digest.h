/* digest.h -- SHA-256, as `sha256sum` prints it. */
#ifndef STOKE_SCRIPT_DIGEST_H
#define STOKE_SCRIPT_DIGEST_H

#include <stdint.h>

#include "base/str.h"

enum { DIGEST_BYTES = 32 };

/* The bytes themselves. */
void digest_raw(struct str data, unsigned char out[DIGEST_BYTES]);
/* HMAC with SHA-256. */
void digest_hmac(struct str key, struct str data,
                 unsigned char out[DIGEST_BYTES]);
/* 64 hex digits and a NUL. */
void digest_sha256(struct str data, char out[65]);
/* Of a file of any size, read once to its end. 0 with its size in *bytes, or -1
 * and the reason in `why` (without the path). */
int digest_fd(int fd, char out[65], uint64_t *bytes, char why[128]);
int digest_file(const char *path, char out[65], uint64_t *bytes, char why[128]);

#endif
