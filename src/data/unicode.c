#include "data/unicode.h"

#include <string.h>

#include <utf8proc.h>

#include "base/mem.h"

/* Blocks that hold one record only are by far the most: they are shared. */
void unicode_init(struct unicode *u)
{
  enum { BLOCKS = UNICODE_MAX / 128 };
  uint8_t block[128];
  unsigned used = 0, range = 0;
  uint16_t uniform[UNICODE_RECORDS];
  u->cell = mem_alloc(BLOCKS * sizeof block / 4);
  memset(uniform, 0xff, sizeof uniform);
  for (uint32_t b = 0; b < BLOCKS; b++) {
    bool same = true;
    for (uint32_t i = 0; i < 128; i++) {
      while (range + 1 < UNICODE_RANGES &&
             unicode_range[range + 1] >> 8 <= b * 128 + i)
        range++;
      block[i] = (uint8_t)unicode_range[range];
      same = same && block[i] == block[0];
    }
    if (same && uniform[block[0]] != UINT16_MAX) {
      u->block[b] = uniform[block[0]];
      continue;
    }
    if (same)
      uniform[block[0]] = (uint16_t)used;
    memcpy(u->cell + used * sizeof block, block, sizeof block);
    u->block[b] = (uint16_t)used++;
  }
  u->cell = mem_resize(u->cell, used, sizeof block);
}

void unicode_deinit(struct unicode *u)
{
  mem_free(u->cell);
  u->cell = NULL;
}

/* Pairs that came with Unicode 16 and 17, behind the library's back. */
static uint32_t lower_young(uint32_t c)
{
  static const uint32_t pairs[][2] = {
      {0xa7cb, 0x264},  {0xa7cc, 0xa7cd}, {0xa7ce, 0xa7cf}, {0xa7d2, 0xa7d3},
      {0xa7d4, 0xa7d5}, {0xa7da, 0xa7db}, {0xa7dc, 0x19b},  {0x1c89, 0x1c8a},
  };
  if (c >= 0x10d50 && c <= 0x10d65)
    return c + 0x20;
  if (c >= 0x16ea0 && c <= 0x16eb8)
    return c + 0x1b;
  for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (pairs[i][0] == c)
      return pairs[i][1];
  return 0;
}

unsigned unicode_lower(uint32_t c, uint32_t out[2])
{
  uint32_t young;
  if (c == 0x130) { /* the one that grows: I with a dot */
    out[0] = 'i', out[1] = 0x307;
    return 2;
  }
  young = lower_young(c);
  out[0] = young ? young : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
  return 1;
}
