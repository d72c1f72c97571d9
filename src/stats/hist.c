#include "stats/hist.h"

#include <math.h>

#include "base/mem.h"

#define SUBS (UINT64_C(1) << HIST_BITS)

struct place {
  unsigned octave;
  uint64_t sub;
};

/* Octave 0 holds 0 .. 2^BITS - 1, one value a bucket; octave k >= 1 holds
 * 2^(BITS+k-1) .. 2^(BITS+k) - 1, 2^(k-1) values a bucket. */
static struct place place_of(uint64_t ns)
{
  unsigned top;
  if (ns < SUBS)
    return (struct place){0, ns};
  top = 63 - (unsigned)__builtin_clzll(ns);
  return (struct place){top - HIST_BITS + 1,
                        ns >> (top - HIST_BITS) & (SUBS - 1)};
}

static uint64_t width_of(unsigned octave)
{
  return octave ? UINT64_C(1) << (octave - 1) : 1;
}

static uint64_t lower_of(unsigned octave, uint64_t sub)
{
  return octave ? (SUBS + sub) * width_of(octave) : sub;
}

void hist_deinit(struct hist *h)
{
  for (unsigned k = 0; k < HIST_OCTAVES; k++)
    mem_free(h->octave[k]);
  *h = (struct hist){0};
}

static uint64_t *octave_of(struct hist *h, unsigned k)
{
  if (!h->octave[k])
    h->octave[k] = mem_zalloc(SUBS, sizeof **h->octave);
  return h->octave[k];
}

void hist_add(struct hist *h, uint64_t ns)
{
  if (h->count == 0 || ns < h->min)
    h->min = ns;
  if (ns > h->max)
    h->max = ns;
  h->count++;
  h->sum += ns;
  h->sum2 += (unsigned __int128)ns * ns;
  if (ns >= HIST_LIMIT_NS) {
    h->overflow++;
  } else {
    struct place p = place_of(ns);
    octave_of(h, p.octave)[p.sub]++;
  }
}

void hist_merge(struct hist *into, const struct hist *from)
{
  if (from->count == 0)
    return;
  if (into->count == 0 || from->min < into->min)
    into->min = from->min;
  if (from->max > into->max)
    into->max = from->max;
  into->count += from->count;
  into->overflow += from->overflow;
  into->sum += from->sum;
  into->sum2 += from->sum2;
  for (unsigned k = 0; k < HIST_OCTAVES; k++) {
    uint64_t *to;
    if (!from->octave[k])
      continue;
    to = octave_of(into, k);
    for (uint64_t i = 0; i < SUBS; i++)
      to[i] += from->octave[k][i];
  }
}

/* The middle of a bucket, but never outside of what was seen. */
static double middle(const struct hist *h, unsigned k, uint64_t sub)
{
  double x = (double)lower_of(k, sub) + (double)(width_of(k) - 1) / 2;
  return fmin(fmax(x, (double)h->min), (double)h->max);
}

/* The sample of this rank, 0 the smallest. */
static double at_rank(const struct hist *h, uint64_t rank)
{
  uint64_t seen = 0;
  if (rank == 0)
    return (double)h->min;
  if (rank == h->count - 1)
    return (double)h->max;
  for (unsigned k = 0; k < HIST_OCTAVES; k++) {
    for (uint64_t i = 0; h->octave[k] && i < SUBS; i++) {
      seen += h->octave[k][i];
      if (seen > rank)
        return middle(h, k, i);
    }
  }
  return (double)h->max;
}

double hist_percentile(const struct hist *h, double p)
{
  double rank, low, high;
  if (h->count == 0)
    return NAN;
  rank = p / 100 * (double)(h->count - 1);
  low = at_rank(h, (uint64_t)floor(rank));
  high = at_rank(h, (uint64_t)ceil(rank));
  return low + (high - low) * (rank - floor(rank));
}

double hist_excess(const struct hist *h, uint64_t above_ns, uint64_t spared)
{
  double sum = 0;
  uint64_t left = spared;
  for (unsigned k = HIST_OCTAVES; k-- > 0;) {
    for (uint64_t i = SUBS; h->octave[k] && i-- > 0;) {
      uint64_t n = h->octave[k][i], off = n < left ? n : left;
      double x = middle(h, k, i) - (double)above_ns;
      left -= off;
      if (x > 0)
        sum += x * (double)(n - off);
    }
  }
  return sum;
}

double hist_mean(const struct hist *h)
{
  return h->count ? (double)((long double)h->sum / h->count) : NAN;
}

double hist_std(const struct hist *h)
{
  long double mean, variance;
  if (h->count == 0)
    return NAN;
  mean = (long double)h->sum / h->count;
  variance = (long double)h->sum2 / h->count - mean * mean;
  return variance > 0 ? (double)sqrtl(variance) : 0;
}

static void write_bucket(struct json_writer *w, unsigned k, uint64_t sub,
                         uint64_t count)
{
  json_begin_array(w);
  json_integer(w, (int64_t)lower_of(k, sub));
  json_integer(w, (int64_t)width_of(k));
  json_integer(w, (int64_t)count);
  json_end_array(w);
}

static void write_or_null(struct json_writer *w, const char *key, bool some,
                          uint64_t x)
{
  json_key(w, key);
  if (some)
    json_integer(w, (int64_t)x);
  else
    json_null(w);
}

void hist_write(const struct hist *h, struct json_writer *w)
{
  json_begin_object(w);
  json_key(w, "unit");
  json_string(w, STR("ns"));
  json_key(w, "bits");
  json_integer(w, HIST_BITS);
  write_or_null(w, "count", true, h->count);
  json_key(w, "sum");
  json_number(w, (double)h->sum);
  write_or_null(w, "min", h->count > 0, h->min);
  write_or_null(w, "max", h->count > 0, h->max);
  write_or_null(w, "overflow", true, h->overflow);
  json_key(w, "buckets");
  json_begin_array(w);
  for (unsigned k = 0; k < HIST_OCTAVES; k++)
    for (uint64_t i = 0; h->octave[k] && i < SUBS; i++)
      if (h->octave[k][i])
        write_bucket(w, k, i, h->octave[k][i]);
  json_end_array(w);
  json_end_object(w);
}
