#include "data/flac.h"

#include <stdint.h>

/* Behind the mark the block STREAMINFO (kind 0, in the low 7 bits), with 20
 * bits of samples a second, 8 of channels and their depth, 36 of samples. */
enum { MARK = 4, BLOCK = 4, RATE_AT = 10, SIZE = 34 };

double flac_seconds(struct str file)
{
  const unsigned char *b = (const unsigned char *)file.p;
  uint64_t bits = 0, samples;
  uint32_t rate;
  if (file.len < MARK + BLOCK + SIZE || memcmp(file.p, "fLaC", MARK) != 0 ||
      (b[MARK] & 0x7f) != 0)
    return 0;
  for (size_t i = 0; i < 8; i++)
    bits = bits << 8 | b[MARK + BLOCK + RATE_AT + i];
  rate = (uint32_t)(bits >> 44);
  samples = bits & ((UINT64_C(1) << 36) - 1);
  return rate ? (double)samples / rate : 0;
}
