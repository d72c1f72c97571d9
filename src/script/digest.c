#include "script/digest.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>

void digest_sha256(struct str data, char out[65])
{
  struct sha256_ctx ctx;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&ctx);
  sha256_update(&ctx, data.len, (const uint8_t *)data.p);
  sha256_digest(&ctx, sizeof digest, digest);
  base16_encode_update(out, sizeof digest, digest);
  out[64] = '\0';
}
