#include "data/order.h"

#include <assert.h>

/* The mixer of splitmix64. */
static uint64_t mix(uint64_t x)
{
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static uint64_t permute(uint64_t seed, unsigned half, uint64_t x)
{
  uint64_t mask = (UINT64_C(1) << half) - 1, left = x >> half, right = x & mask;
  for (uint64_t round = 1; round <= 4; round++) {
    uint64_t next = left ^ (mix(mix(seed + round) ^ right) & mask);
    left = right;
    right = next;
  }
  return left << half | right;
}

uint64_t order_at(uint64_t seed, uint64_t n, uint64_t i)
{
  unsigned half = 1;
  assert(i < n);
  while (half < 31 && n > UINT64_C(1) << 2 * half)
    half++;
  do
    i = permute(seed, half, i);
  while (i >= n);
  return i;
}
