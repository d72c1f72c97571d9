#include "stats/sample.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

static void insertion_sort(uint64_t *a, size_t n)
{
  for (size_t i = 1; i < n; i++) {
    uint64_t x = a[i];
    size_t j = i;
    for (; j > 0 && a[j - 1] > x; j--)
      a[j] = a[j - 1];
    a[j] = x;
  }
}

/* One pass of a radix sort by the byte at `shift`, from a to b. Returns false,
 * and leaves b alone, when that byte is the same everywhere. */
static bool radix_pass(const uint64_t *a, uint64_t *b, size_t n, unsigned shift)
{
  size_t start[256] = {0}, sum = 0;
  for (size_t i = 0; i < n; i++)
    start[a[i] >> shift & 255]++;
  if (start[a[0] >> shift & 255] == n)
    return false;
  for (int d = 0; d < 256; d++) {
    size_t count = start[d];
    start[d] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++)
    b[start[a[i] >> shift & 255]++] = a[i];
  return true;
}

static void radix_sort(uint64_t *a, size_t n)
{
  uint64_t *other = mem_alloc(n * sizeof *a), *from = a, *to = other;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if (radix_pass(from, to, n, shift)) {
      uint64_t *swap = from;
      from = to;
      to = swap;
    }
  }
  if (from != a)
    memcpy(a, from, n * sizeof *a);
  mem_free(other);
}

/* The bits of doubles >= 0 are in the order of their values (IEEE 754). */
void sample_sort(double *x, size_t n)
{
  uint64_t *bits = mem_alloc(n * sizeof *bits);
  if (n)
    memcpy(bits, x, n * sizeof *bits);
  if (n < 64)
    insertion_sort(bits, n);
  else
    radix_sort(bits, n);
  if (n)
    memcpy(x, bits, n * sizeof *bits);
  mem_free(bits);
}

double sample_percentile(const double *x, size_t n, double p)
{
  double rank, low, high, part;
  if (n == 0)
    return NAN;
  assert(p >= 0 && p <= 100);
  rank = p / 100 * (double)(n - 1);
  low = x[(size_t)floor(rank)];
  high = x[(size_t)ceil(rank)];
  part = rank - floor(rank);
  /* numpy's way to meet both neighbours exactly. */
  return part < 0.5 ? low + (high - low) * part
                    : high - (high - low) * (1 - part);
}

double sample_mean(const double *x, size_t n)
{
  long double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  return n ? (double)(sum / n) : NAN;
}

double sample_std(const double *x, size_t n)
{
  long double mean = sample_mean(x, n), sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (x[i] - mean) * (x[i] - mean);
  return n ? (double)sqrtl(sum / n) : NAN;
}
