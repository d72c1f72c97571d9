#include "data/unicode.h"

#include <string.h>

#include <utf8proc.h>

#include "base/mem.h"

/* Where run i ends. */
static uint32_t run_end(unsigned i)
{
  return i + 1 < UNICODE_RANGES ? unicode_range[i + 1] >> 8 : UNICODE_MAX;
}

/* The block from `start` on; its first run is `run`. */
static void fill(uint8_t block[128], uint32_t start, unsigned run)
{
  for (uint32_t at = start; at < start + 128; run++) {
    uint32_t end = run_end(run) < start + 128 ? run_end(run) : start + 128;
    memset(block + (at - start), (uint8_t)unicode_range[run], end - at);
    at = end;
  }
}

/* Blocks that hold one record only are by far the most: they are shared. */
void unicode_init(struct unicode *u)
{
  unsigned used = 0, run = 0, cap = 0;
  uint16_t uniform[UNICODE_RECORDS];
  u->cell = NULL;
  memset(uniform, 0xff, sizeof uniform);
  for (uint32_t start = 0; start < UNICODE_MAX; start += 128) {
    uint8_t first = (uint8_t)unicode_range[run];
    bool same = run_end(run) >= start + 128;
    uint16_t block = same ? uniform[first] : UINT16_MAX;
    if (block == UINT16_MAX) {
      if (used == cap)
        u->cell = mem_resize(u->cell, cap = cap * 2 + 256, 128);
      fill(u->cell + 128 * used, start, run);
      block = (uint16_t)used++;
    }
    if (same)
      uniform[first] = block;
    u->block[start / 128] = block;
    while (run < UNICODE_RANGES && run_end(run) <= start + 128)
      run++;
  }
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
