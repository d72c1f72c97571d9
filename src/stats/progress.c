#include "stats/progress.h"

#include <math.h>

#include "base/clock.h"

/* Microseconds, 32 buckets a power of two: within 1.6 %. Beyond 67 s all fall
 * into the last one, which is enough for a screen. */
#define SUB_BITS 5
#define SUBS     (1u << SUB_BITS)

static unsigned bucket_of(uint64_t ns)
{
  uint64_t us = ns / NS_PER_US;
  unsigned top, bucket;
  if (us < SUBS)
    return (unsigned)us;
  top = 63 - (unsigned)__builtin_clzll(us);
  bucket = (top - SUB_BITS + 1) * SUBS +
           (unsigned)(us >> (top - SUB_BITS) & (SUBS - 1));
  return bucket < PROGRESS_BUCKETS ? bucket : PROGRESS_BUCKETS - 1;
}

static double middle_ms(unsigned bucket)
{
  unsigned octave = bucket / SUBS, sub = bucket % SUBS;
  double width = octave ? ldexp(1, (int)octave - 1) : 1;
  double lower = octave ? (SUBS + sub) * width : sub;
  return (lower + width / 2) / 1e3;
}

void progress_ended(struct progress *p, const struct record *r)
{
  uint64_t ttft;
  if (r->phase == PHASE_WARMUP)
    return;
  if (r->outcome == OUTCOME_OK)
    p->done++;
  else if (r->outcome == OUTCOME_CANCELLED)
    p->cancelled++;
  else
    p->failed++;
  if (record_ttft(r, &ttft))
    p->ttft[bucket_of(ttft)]++;
}

void progress_merge(struct progress *into, const struct progress *from)
{
  into->sent += from->sent;
  into->tokens += from->tokens;
  into->done += from->done;
  into->failed += from->failed;
  into->cancelled += from->cancelled;
  for (int i = 0; i < PROGRESS_BUCKETS; i++)
    into->ttft[i] += from->ttft[i];
}

double progress_ttft_ms(const struct progress *p, double percentile)
{
  uint64_t count = 0, seen = 0, rank;
  unsigned i = 0;
  for (i = 0; i < PROGRESS_BUCKETS; i++)
    count += p->ttft[i];
  if (count == 0)
    return NAN;
  rank = (uint64_t)floor(percentile / 100 * (double)(count - 1));
  for (i = 0; i < PROGRESS_BUCKETS - 1; i++)
    if ((seen += p->ttft[i]) > rank)
      break;
  return middle_ms(i);
}
