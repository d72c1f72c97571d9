#include "cli/run_stages.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"

static const char *arrival_of(const struct stage *s)
{
  static const char *const names[] = {"poisson", "constant", "gamma"};
  if (s->n_offsets)
    return "offsets";
  return s->rate.from > 0 || s->rate.to > 0 ? names[s->arrival] : NULL;
}

static struct run_stage_info info_of(const struct run_stage *s,
                                     const struct summary *summary,
                                     uint64_t epoch_ns)
{
  return (struct run_stage_info){
      .label = s->label,
      .start_s = ns_to_sec(ns_since(epoch_ns, s->t0_ns)),
      .duration_s = s->end_ns ? ns_to_sec(ns_since(s->t0_ns, s->end_ns)) : NAN,
      .by_end = s->by_end,
      .rate_from = s->rule.rate.from,
      .rate_to = s->rule.rate.to,
      .concurrency_from = s->rule.concurrency.from,
      .concurrency_to = s->rule.concurrency.to,
      .arrival = arrival_of(&s->rule),
      .summary = summary,
  };
}

/* 0: it has no timetable. */
static double rate_of(const struct stage *s)
{
  double most = fmax(s->rate.from, s->rate.to);
  if (s->n_offsets)
    return 1;
  return isfinite(most) ? most : 0;
}

double run_stages_rate(const struct run_result *r)
{
  double rate = 0;
  for (size_t i = 0; i < r->n_stages; i++) {
    const struct stage *s = &r->stages[i].rule;
    double one = rate_of(s);
    if (one == 0 &&
        (s->concurrency.from > 1 || s->concurrency.to > 1 || s->rate.from > 0))
      return 0;
    rate = fmax(rate, one);
  }
  return rate;
}

void run_stages_build(struct run_stages *s, const struct run_result *r,
                      const struct summary_config *config)
{
  *s = (struct run_stages){0};
  if (!r->n_stages)
    return;
  s->list = mem_zalloc(r->n_stages, sizeof *s->list);
  s->summaries = mem_zalloc(r->n_stages, sizeof *s->summaries);
  for (size_t i = 0; i < r->n_stages; i++) {
    struct summary_config sc = *config;
    const struct run_stage *stage = &r->stages[i];
    /* A stage that the run never came to, or that was cut before its end. */
    if (!stage->metrics)
      continue;
    sc.request_rate = rate_of(&stage->rule);
    summary_build(&s->summaries[s->n], stage->metrics, NULL, &sc);
    if (stage->by_end)
      summary_over_window(&s->summaries[s->n]);
    s->list[s->n] = info_of(stage, &s->summaries[s->n], r->epoch_ns);
    s->n++;
  }
}

void run_stages_free(struct run_stages *s)
{
  for (size_t i = 0; i < s->n; i++)
    summary_deinit(&s->summaries[i]);
  mem_free(s->list);
  mem_free(s->summaries);
  *s = (struct run_stages){0};
}
