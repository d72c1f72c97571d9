/* bench.h -- what the bench programs share (header only): flags, figures,
 * CPU time, memory. */
#ifndef STOKE_TESTS_BENCH_H
#define STOKE_TESTS_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t bench_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The value of "--name value", or `otherwise`. */
static inline const char *flag(int argc, char **argv, const char *name,
                               const char *otherwise)
{
  for (int i = 1; i + 1 < argc; i++)
    if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
      return argv[i + 1];
  return otherwise;
}

static inline double flag_number(int argc, char **argv, const char *name,
                                 double otherwise)
{
  const char *s = flag(argc, argv, name, NULL);
  return s ? strtod(s, NULL) : otherwise;
}

/* As many files as the hard limit allows. */
static inline void raise_files(void)
{
  struct rlimit r;
  getrlimit(RLIMIT_NOFILE, &r);
  r.rlim_cur = r.rlim_max;
  setrlimit(RLIMIT_NOFILE, &r);
}

static inline double cpu_seconds(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static inline double rss_mb(void)
{
  FILE *f = fopen("/proc/self/statm", "r");
  long size, resident = 0;
  if (!f || fscanf(f, "%ld %ld", &size, &resident) != 2)
    resident = 0;
  if (f)
    fclose(f);
  return (double)resident * 4096 / 1e6;
}

/* Durations, kept as they are up to a ceiling, every k-th beyond. */
struct sample {
  int64_t *at;
  size_t n, cap;
  uint64_t seen, keep; /* keep one of so many */
};

#define SAMPLE_MAX (1u << 20)

static inline void sample_add(struct sample *s, int64_t ns)
{
  if (!s->keep)
    s->keep = 1;
  if (s->seen++ % s->keep)
    return;
  if (s->n == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 4096;
    s->at = realloc(s->at, s->cap * sizeof *s->at);
  }
  s->at[s->n++] = ns;
  if (s->n == SAMPLE_MAX) { /* every second goes */
    for (size_t i = 0; i < s->n / 2; i++)
      s->at[i] = s->at[2 * i];
    s->n /= 2;
    s->keep *= 2;
  }
}

static inline int sample_order(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

/* Prints "name":{"n":…,"p50_us":…,"p99_us":…,"p999_us":…,"max_us":…} */
static inline void sample_print(const char *name, struct sample *s)
{
  static const struct {
    const char *key;
    double q;
  } rows[] = {
      {"p50_us", .5}, {"p99_us", .99}, {"p999_us", .999}, {"max_us", 1}};
  printf("\"%s\":{\"n\":%llu", name, (unsigned long long)s->seen);
  if (s->n)
    qsort(s->at, s->n, sizeof *s->at, sample_order);
  for (size_t i = 0; i < 4; i++)
    if (s->n)
      printf(",\"%s\":%.1f", rows[i].key,
             (double)s->at[(size_t)(rows[i].q * (double)(s->n - 1))] / 1e3);
  printf("}");
}

/* The instant that the sender put into an event, or 0. */
static inline uint64_t stamp_in(const char *p, size_t len)
{
  const char *t = memmem(p, len, "\"sent_ns\":", 10);
  return t && t + 30 <= p + len ? strtoull(t + 10, NULL, 10) : 0;
}

#endif
