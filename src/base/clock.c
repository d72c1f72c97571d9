#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
  struct timespec ts;
  clock_gettime(id, &ts);
  return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t clock_ns(void)
{
  return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
  return read_clock(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void clock_rfc3339(uint64_t wall_ns, char out[32])
{
  time_t sec = (time_t)(wall_ns / NS_PER_SEC);
  struct tm tm;
  char date[24];
  gmtime_r(&sec, &tm);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(out, 32, "%s.%03uZ", date,
           (unsigned)(wall_ns / NS_PER_MS % 1000) % 1000);
}

void clock_compact(uint64_t wall_ns, char out[16])
{
  time_t sec = (time_t)(wall_ns / NS_PER_SEC);
  struct tm tm;
  localtime_r(&sec, &tm);
  strftime(out, 16, "%Y%m%d-%H%M%S", &tm);
}
