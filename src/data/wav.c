#include "data/wav.h"

#include <stdint.h>

enum { HEAD = 12, CHUNK = 8, FORMAT_MIN = 16, BYTE_RATE_AT = 8 };

static uint32_t little32(const char *p)
{
  const unsigned char *b = (const unsigned char *)p;
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
         (uint32_t)b[3] << 24;
}

double wav_seconds(struct str file)
{
  uint32_t byte_rate = 0;
  if (file.len < HEAD || memcmp(file.p, "RIFF", 4) != 0 ||
      memcmp(file.p + 8, "WAVE", 4) != 0)
    return 0;
  for (size_t at = HEAD; file.len - at >= CHUNK;) {
    const char *chunk = file.p + at;
    size_t left = file.len - at - CHUNK, size = little32(chunk + 4);
    if (memcmp(chunk, "data", 4) == 0) {
      if (size == 0 || size > left)
        size = left;
      return byte_rate ? (double)size / byte_rate : 0;
    }
    if (size > left)
      return 0;
    if (memcmp(chunk, "fmt ", 4) == 0 && size >= FORMAT_MIN)
      byte_rate = little32(chunk + CHUNK + BYTE_RATE_AT);
    size += size < left ? size & 1 : 0; /* chunks begin at even places */
    at += CHUNK + size;
  }
  return 0;
}
