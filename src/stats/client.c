#include "stats/client.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Too few sends say nothing about a rate. */
#define RATE_MIN_SENDS 10
/* The longest stalls that are put down to the machine. */
#define STALLS_SPARED 3

void client_worker_deinit(struct client_worker *w)
{
  hist_deinit(&w->loop_lag);
  *w = (struct client_worker){0};
}

void client_deinit(struct client *c)
{
  hist_deinit(&c->loop_lag);
  *c = (struct client){0};
}

void client_add(struct client *c, const struct client_worker *w)
{
  hist_merge(&c->loop_lag, &w->loop_lag);
  if (w->wall_ns && c->threads < CLIENT_THREADS_MAX) {
    c->heap_peak[c->threads] = w->heap_peak;
    c->cpu_share[c->threads++] = (double)w->cpu_ns / (double)w->wall_ns;
  }
  if (w->script_worst_ns > c->script_worst_ns) {
    c->script_worst_ns = w->script_worst_ns;
    memcpy(c->script_place, w->script_place, sizeof c->script_place);
  }
  c->wall_ns += w->wall_ns;
  c->script_ns += w->script_ns;
  c->script_calls += w->script_calls;
  c->gc_ns += w->gc_ns;
  c->retries += w->retries;
}

static void because(struct client_verdict *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void because(struct client_verdict *v, const char *fmt, ...)
{
  va_list ap;
  assert(v->n < CLIENT_REASONS_MAX);
  v->limited = true;
  va_start(ap, fmt);
  vsnprintf(v->reasons[v->n++], sizeof *v->reasons, fmt, ap);
  va_end(ap);
}

static void judge_cpu(struct client_verdict *v, const struct client *c)
{
  double most = 0;
  for (size_t i = 0; i < c->threads; i++)
    most = fmax(most, c->cpu_share[i]);
  if (most > CLIENT_CPU_SHARE)
    because(v,
            "a thread of the client used %.0f %% of a CPU (limit %.0f %%): use "
            "more --threads or machines",
            most * 100, CLIENT_CPU_SHARE * 100);
}

static void judge_rate(struct client_verdict *v, const struct client_timing *t)
{
  /* A cap of the user's is no fault of the client; neither is a slip that is
   * short beside the accuracy of one send. */
  if (t->capped || t->sends < RATE_MIN_SENDS ||
      t->slip_ms <= CLIENT_SEND_LAG_MS ||
      !(t->achieved_rps < t->planned_rps * CLIENT_RATE_SHARE))
    return;
  because(v,
          "%.4g requests/s were sent where %.4g/s were planned (%.1f %%, limit "
          "%.0f %%)",
          t->achieved_rps, t->planned_rps,
          t->achieved_rps / t->planned_rps * 100, CLIENT_RATE_SHARE * 100);
}

double client_loop_limit_ms(const struct client *c,
                            const struct client_timing *t)
{
  double limit = CLIENT_SEND_LAG_MS;
  if (!c->kernel_times)
    return CLIENT_LOOP_LAG_MS;
  if (t->itl_p50_ms < limit)
    limit = t->itl_p50_ms;
  return fmax(limit, CLIENT_LOOP_LAG_MS);
}

double client_late_share(const struct client *c, double limit_ms)
{
  double late =
      hist_excess(&c->loop_lag, (uint64_t)(limit_ms * 1e6), STALLS_SPARED);
  return c->wall_ns ? late / (double)c->wall_ns : 0;
}

static void judge_loop(struct client_verdict *v, const struct client *c,
                       const struct client_timing *t)
{
  double limit = client_loop_limit_ms(c, t);
  double lag = hist_percentile(&c->loop_lag, 99) / 1e6;
  double late = client_late_share(c, limit);
  if (lag > limit)
    because(v,
            "the event loop was late: p99 of its lag is %.1f ms (limit %.3g "
            "ms)",
            lag, limit);
  else if (late > CLIENT_LATE_SHARE)
    because(v,
            "the event loop stood still: in %.1f %% of the time events waited "
            "longer than %.3g ms (limit %.0f %%)",
            late * 100, limit, CLIENT_LATE_SHARE * 100);
}

struct client_verdict client_judge(const struct client *c,
                                   const struct client_timing *t)
{
  struct client_verdict v = {0};
  if (t->send_lag_p99_ms > CLIENT_SEND_LAG_MS)
    because(&v,
            "requests left late: p99 of the send lag is %.1f ms (limit %.0f "
            "ms)",
            t->send_lag_p99_ms, CLIENT_SEND_LAG_MS);
  judge_loop(&v, c, t);
  judge_cpu(&v, c);
  judge_rate(&v, t);
  return v;
}
