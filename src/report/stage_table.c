#include "report/stage_table.h"

#include <math.h>
#include <stdio.h>

#include "stats/summary.h"

static const char *number(double x, int decimals, char out[32])
{
  if (isfinite(x))
    snprintf(out, 32, "%.*f", decimals, x);
  else
    snprintf(out, 32, "n/a");
  return out;
}

/* "1-10/s", "c 8", "c 1-8" */
static const char *target(const struct run_stage_info *i, char out[48])
{
  bool open = i->rate_from > 0 || i->rate_to > 0;
  double from = open ? i->rate_from : i->concurrency_from;
  double to = open ? i->rate_to : i->concurrency_to;
  if (i->arrival && !open)
    snprintf(out, 48, "timetable");
  else if (from == to)
    snprintf(out, 48, open ? "%.4g/s" : "c %.4g", from);
  else
    snprintf(out, 48, open ? "%.4g-%.4g/s" : "c %.4g-%.4g", from, to);
  return out;
}

static void write_line(struct buf *out, const struct run_stage_info *i)
{
  const struct summary *s = i->summary;
  const struct latency *ttft = &s->latency[FIGURE_TTFT];
  const struct latency *e2el = &s->latency[FIGURE_E2EL];
  char a[48], b[32], c[32], d[32], e[32], f[32];
  double seconds = isfinite(i->duration_s) ? i->duration_s : s->duration_s;
  buf_addf(out, "%-16.16s %12s %8s %7llu %6llu %9s %9s %9s %9s\n", i->label,
           target(i, a), number((double)s->sent / seconds, 2, b),
           (unsigned long long)s->completed, (unsigned long long)s->failed,
           number(s->output_throughput, 1, c),
           number(ttft->p[LATENCY_P50], 1, d),
           number(ttft->p[LATENCY_PERCENTILES - 2], 1, e),
           number(e2el->p[LATENCY_P50], 1, f));
}

void stage_table_write(struct buf *out, const struct run_info *r)
{
  if (!r->n_stages)
    return;
  buf_addf(out, "%-16s %12s %8s %7s %6s %9s %9s %9s %9s\n", "Stage", "target",
           "req/s", "ok", "failed", "tok/s", "TTFT p50", "TTFT p99",
           "E2EL p50");
  for (size_t i = 0; i < r->n_stages; i++)
    write_line(out, &r->stages[i]);
}
