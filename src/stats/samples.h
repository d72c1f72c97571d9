/* samples.h -- measured values in order, for scripts that ask for any
 * percentile: those of wrk, whose definitions these are (its src/stats.c). */
#ifndef STOKE_STATS_SAMPLES_H
#define STOKE_STATS_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct metrics;

struct samples {
  uint64_t *list; /* ascending; owned */
  size_t n;
};

/* Microseconds from sent to done, of every request that was answered,
 * whatever the status. */
struct samples samples_latency(const struct metrics *m);
/* Answers per second of a thread, in every tenth of a second of the run. */
struct samples samples_rate(const struct metrics *m, unsigned threads);
void samples_free(struct samples *s);

/* 0 when there are none. The deviation is the sample's (n - 1). */
double samples_mean(const struct samples *s);
double samples_stdev(const struct samples *s);
/* The value at rank round(p / 100 * n + 0.5). */
uint64_t samples_percentile(const struct samples *s, double p);
/* The i-th distinct value (from 0) and how often it is there; 0 beyond. */
uint64_t samples_distinct(const struct samples *s, size_t i, uint64_t *count);
size_t samples_distinct_count(const struct samples *s);

#endif
