#include "script/digest.h"

#include <errno.h>
#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <unistd.h>

#include "script/files.h"

static void finish(struct sha256_ctx *ctx, char out[65])
{
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_digest(ctx, sizeof digest, digest);
  base16_encode_update(out, sizeof digest, digest);
  out[64] = '\0';
}

void digest_raw(struct str data, unsigned char out[DIGEST_BYTES])
{
  struct sha256_ctx ctx;
  sha256_init(&ctx);
  sha256_update(&ctx, data.len, (const uint8_t *)data.p);
  sha256_digest(&ctx, DIGEST_BYTES, out);
}

void digest_hmac(struct str key, struct str data,
                 unsigned char out[DIGEST_BYTES])
{
  struct hmac_sha256_ctx ctx;
  hmac_sha256_set_key(&ctx, key.len, (const uint8_t *)key.p);
  hmac_sha256_update(&ctx, data.len, (const uint8_t *)data.p);
  hmac_sha256_digest(&ctx, DIGEST_BYTES, out);
}

void digest_sha256(struct str data, char out[65])
{
  struct sha256_ctx ctx;
  sha256_init(&ctx);
  sha256_update(&ctx, data.len, (const uint8_t *)data.p);
  finish(&ctx, out);
}

int digest_fd(int fd, char out[65], uint64_t *bytes, char why[128])
{
  struct sha256_ctx ctx;
  uint8_t piece[32768];
  ssize_t n;
  *bytes = 0;
  sha256_init(&ctx);
  while ((n = read(fd, piece, sizeof piece)) > 0) {
    sha256_update(&ctx, (size_t)n, piece);
    *bytes += (uint64_t)n;
  }
  if (n < 0)
    snprintf(why, 128, "%s", strerror(errno));
  finish(&ctx, out);
  return n < 0 ? -1 : 0;
}

int digest_file(const char *path, char out[65], uint64_t *bytes, char why[128])
{
  int fd = files_open(path, why), status;
  if (fd < 0)
    return -1;
  status = digest_fd(fd, out, bytes, why);
  close(fd);
  return status;
}
