#include "report/calls_out.h"

#include <math.h>

#include "base/units.h"
#include "report/field.h"
#include "report/latency_out.h"

void calls_write(struct json_writer *w, const struct calls *c,
                 const struct summary *percentiles)
{
  json_begin_object(w);
  for (size_t i = 0; i < c->n; i++) {
    struct latency l = latency_of_hist(percentiles, &c->list[i].latency);
    field_object(w, c->list[i].name);
    field_count(w, "count", c->list[i].count);
    field_count(w, "failed", c->list[i].failed);
    latency_write(w, percentiles, "latency", &l);
    json_end_object(w);
  }
  json_end_object(w);
}

static void show_time(struct buf *out, const char *what, double ns)
{
  char text[32];
  if (!isnan(ns))
    buf_addf(out, ", %s %s", what,
             units_show_duration((uint64_t)llround(ns), text));
}

void calls_show(struct buf *out, const struct calls *c)
{
  if (c->n)
    buf_adds(out, "HTTP beside the load:\n");
  for (size_t i = 0; i < c->n; i++) {
    const struct call *call = &c->list[i];
    buf_addf(out, "  %-30s %llu done, %llu failed", call->name,
             (unsigned long long)(call->count - call->failed),
             (unsigned long long)call->failed);
    show_time(out, "p50", hist_percentile(&call->latency, 50));
    show_time(out, "p99", hist_percentile(&call->latency, 99));
    buf_addc(out, '\n');
  }
}
