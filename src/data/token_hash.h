/* token_hash.h -- hashes of short byte strings, pairs and files (header only).
 * Built on the 64 x 64 -> 128 bit product, as wyhash is. They only have to
 * spread: nobody who chooses the bytes gains more than a slow table. */
#ifndef STOKE_DATA_TOKEN_HASH_H
#define STOKE_DATA_TOKEN_HASH_H

#include <stdint.h>
#include <string.h>

#define TOKEN_HASH_A UINT64_C(0x9e3779b97f4a7c15)
#define TOKEN_HASH_B UINT64_C(0xe7037ed1a0b428db)

__extension__ typedef unsigned __int128 token_u128;

static inline uint64_t token_mix(uint64_t a, uint64_t b)
{
  token_u128 m = (token_u128)a * b;
  return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t token_read(const char *p, size_t n)
{
  uint64_t x = 0;
  memcpy(&x, p, n);
  return x;
}

static inline uint64_t token_hash(const char *p, size_t len)
{
  uint64_t h = TOKEN_HASH_A ^ len;
  while (len > 16) {
    h = token_mix(token_read(p, 8) ^ TOKEN_HASH_B, token_read(p + 8, 8) ^ h);
    p += 16, len -= 16;
  }
  if (len >= 8)
    return token_mix(token_read(p, 8) ^ TOKEN_HASH_B,
                     token_read(p + len - 8, 8) ^ h);
  if (len >= 4)
    return token_mix(token_read(p, 4) ^ TOKEN_HASH_B,
                     token_read(p + len - 4, 4) ^ h);
  if (len == 0)
    return token_mix(TOKEN_HASH_B, h);
  return token_mix((uint64_t)(unsigned char)p[0] << 16 |
                       (uint64_t)(unsigned char)p[len >> 1] << 8 |
                       (unsigned char)p[len - 1] | TOKEN_HASH_B << 24,
                   h);
}

static inline uint64_t token_pair_hash(uint32_t left, uint32_t right)
{
  return token_mix(((uint64_t)left << 32 | right) ^ TOKEN_HASH_A, TOKEN_HASH_B);
}

/* 128 bits over a whole file. */
void token_file_hash(const void *p, size_t len, uint64_t out[2]);

#endif
