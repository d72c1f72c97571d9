/* clock.h -- the one clock.
 * Every interval comes from CLOCK_MONOTONIC, in nanoseconds; 0 means "not
 * taken". Wall-clock time is only for stamps that people read. */
#ifndef STOKE_BASE_CLOCK_H
#define STOKE_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_SEC UINT64_C(1000000000)
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_US  UINT64_C(1000)

/* Monotonic now, ns. */
uint64_t clock_ns(void);
/* CLOCK_REALTIME now, ns since 1970. */
uint64_t clock_wall_ns(void);
/* Thread CPU time of the calling thread, ns. */
uint64_t clock_thread_cpu_ns(void);
/* RFC 3339 with milliseconds, UTC: "2026-11-30T14:48:51.123Z". */
void clock_rfc3339(uint64_t wall_ns, char out[32]);
/* vLLM's stamp in local time: "20261130-144851". */
void clock_compact(uint64_t wall_ns, char out[16]);

static inline double ns_to_ms(uint64_t ns)
{
  return (double)ns / 1e6;
}

static inline double ns_to_sec(uint64_t ns)
{
  return (double)ns / 1e9;
}

/* later - earlier, or 0 when that would be negative. */
static inline uint64_t ns_since(uint64_t earlier, uint64_t later)
{
  return later > earlier ? later - earlier : 0;
}

#endif
