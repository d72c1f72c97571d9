#include "stats/series.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

void series_init(struct series *s, uint64_t epoch_ns)
{
  *s = (struct series){.epoch_ns = epoch_ns, .width_ns = SERIES_WIDTH_NS};
}

void series_deinit(struct series *s)
{
  mem_free(s->buckets);
  series_init(s, s->epoch_ns);
}

static void bucket_add(struct series_bucket *to,
                       const struct series_bucket *from)
{
  for (int k = 0; k < SERIES_KINDS; k++)
    to->n[k] += from->n[k];
}

/* Neighbours become one; the first of each pair has an even number, so that
 * buckets stay aligned with the epoch. */
static void double_width(struct series *s)
{
  size_t half = (s->len + 1) / 2;
  for (size_t i = 0; i < half; i++) {
    struct series_bucket sum = s->buckets[2 * i];
    if (2 * i + 1 < s->len)
      bucket_add(&sum, &s->buckets[2 * i + 1]);
    s->buckets[i] = sum;
  }
  s->len = half;
  s->width_ns *= 2;
}

void series_coarsen(struct series *s, uint64_t width_ns)
{
  while (s->width_ns < width_ns)
    double_width(s);
}

static void grow(struct series *s, size_t len)
{
  if (len > s->cap) {
    size_t cap = s->cap ? s->cap : 64;
    while (cap < len)
      cap *= 2;
    s->buckets = mem_resize(s->buckets, cap, sizeof *s->buckets);
    s->cap = cap;
  }
  if (len > s->len) {
    memset(s->buckets + s->len, 0, (len - s->len) * sizeof *s->buckets);
    s->len = len;
  }
}

void series_add(struct series *s, enum series_kind kind, uint64_t at_ns,
                uint64_t n)
{
  uint64_t after = ns_since(s->epoch_ns, at_ns), i = after / s->width_ns;
  while (i >= SERIES_MAX) {
    double_width(s);
    i /= 2;
  }
  if (i >= s->len)
    grow(s, i + 1);
  s->buckets[i].n[kind] += n;
}

void series_merge(struct series *into, const struct series *from)
{
  uint64_t ratio;
  assert(into->epoch_ns == from->epoch_ns);
  series_coarsen(into, from->width_ns);
  ratio = into->width_ns / from->width_ns;
  grow(into, (from->len + ratio - 1) / ratio);
  for (size_t i = 0; i < from->len; i++)
    bucket_add(&into->buckets[i / ratio], &from->buckets[i]);
}

/* before[i] = the count in all buckets before i. */
static uint64_t *prefix_sums(const struct series *s, enum series_kind kind)
{
  uint64_t *before = mem_zalloc(s->len + 1, sizeof *before);
  for (size_t i = 0; i < s->len; i++)
    before[i + 1] = before[i] + s->buckets[i].n[kind];
  return before;
}

double series_peak(const struct series *s, enum series_kind kind,
                   uint64_t window_ns)
{
  /* A run of 2w buckets or more falls into two of at least w, one of which
   * has no lower rate: lengths w .. 2w-1 are all there is to try. */
  size_t w = (size_t)((window_ns + s->width_ns - 1) / s->width_ns);
  uint64_t *before;
  double best = 0;
  if (w == 0 || s->len < w)
    return 0;
  before = prefix_sums(s, kind);
  for (size_t n = w; n < 2 * w && n <= s->len; n++) {
    uint64_t most = 0;
    for (size_t i = 0; i + n <= s->len; i++)
      if (before[i + n] - before[i] > most)
        most = before[i + n] - before[i];
    if ((double)most / ns_to_sec(n * s->width_ns) > best)
      best = (double)most / ns_to_sec(n * s->width_ns);
  }
  mem_free(before);
  return best;
}

double series_between(const struct series *s, enum series_kind kind,
                      uint64_t from_ns, uint64_t to_ns)
{
  double sum = 0;
  for (size_t i = 0; i < s->len; i++) {
    uint64_t start = s->epoch_ns + i * s->width_ns, end = start + s->width_ns;
    uint64_t from = start > from_ns ? start : from_ns;
    uint64_t to = end < to_ns ? end : to_ns;
    if (to > from)
      sum += (double)s->buckets[i].n[kind] * (double)(to - from) /
             (double)s->width_ns;
  }
  return sum;
}
