#include "core/timetable.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/arrival.h"
#include "script/scenario.h"
#include "script/vm.h"

/* The curve is asked for at this many points, but not more often than every
 * 10 ms; between them it is a straight line. */
#define CURVE_POINTS 100000
#define CURVE_STEP_S 0.01
/* 800 MB of offsets: beyond that it is a mistake. */
#define MOST_ARRIVALS 100000000u

struct offsets {
  uint64_t *ns;
  size_t n, cap;
};

static int add(struct offsets *o, double at_s, struct err *e)
{
  if (o->n == MOST_ARRIVALS)
    return err_add(e,
                   "load: more than %u arrivals; bound it by num_requests "
                   "or duration",
                   MOST_ARRIVALS);
  if (o->n == o->cap) {
    o->cap = o->cap ? 2 * o->cap : 1024;
    o->ns = mem_resize(o->ns, o->cap, sizeof *o->ns);
  }
  o->ns[o->n++] = (uint64_t)(at_s * 1e9);
  return 0;
}

static bool full(const struct load *l, const struct offsets *o)
{
  return l->num_requests && o->n >= l->num_requests;
}

/* ---- load.rate ---- */

static int ask_rate(struct vm *vm, double t, double *rate, struct err *e)
{
  if (vm_rate(vm, t, rate) != VM_OK)
    return err_add(e, "%s", vm_error(vm));
  if (*rate > RATE_MAX)
    return err_add(e, "load.rate returned %g; it is at most %d a second", *rate,
                   RATE_MAX);
  return 0;
}

static int follow_curve(const struct load *l, uint64_t seed, struct vm *vm,
                        struct offsets *o, struct err *e)
{
  const struct stage rule = {.arrival = l->arrival,
                             .burstiness = l->burstiness};
  double end = ns_to_sec(l->duration_ns), need, rate;
  double step = fmax(CURVE_STEP_S, end / CURVE_POINTS);
  struct arrival gaps;
  arrival_init(&gaps, &rule, seed, 0);
  /* A constant stream begins at once, as everywhere. */
  need = l->arrival == ARRIVAL_CONSTANT ? 0 : arrival_gap(&gaps);
  if (ask_rate(vm, 0, &rate, e) < 0)
    return -1;
  for (double t = 0; t < end && !full(l, o); t += step) {
    double width = fmin(step, end - t), used = 0, units;
    struct ramp r = {.from = rate};
    if (ask_rate(vm, t + width, &r.to, e) < 0)
      return -1;
    rate = r.to;
    units = (r.from + r.to) / 2 * width;
    while (units > 0 && used + need <= units && !full(l, o)) {
      used += need;
      if (add(o, t + ramp_inverse(&r, width, used), e) < 0)
        return -1;
      need = arrival_gap(&gaps);
    }
    need -= units - used;
  }
  return 0;
}

/* ---- load.arrivals ---- */

/* So many within a second, and no number bounds them: gaps of nothing never
 * come to the end. */
static bool stands_still(const struct load *l, const struct offsets *o)
{
  return !l->num_requests && o->n > RATE_MAX &&
         o->ns[o->n - 1] - o->ns[o->n - 1 - RATE_MAX] < NS_PER_SEC;
}

static int follow_gaps(const struct load *l, struct vm *vm, struct offsets *o,
                       struct err *e)
{
  double at = 0, gap, end = l->duration_ns ? ns_to_sec(l->duration_ns) : 1e12;
  for (uint64_t i = 1; !full(l, o); i++) {
    switch (vm_arrival(vm, i, &gap)) {
    case VM_FAILED: return err_add(e, "%s", vm_error(vm));
    case VM_END: return 0;
    case VM_OK: break;
    }
    at += gap;
    if (at >= end)
      return 0;
    if (add(o, at, e) < 0)
      return -1;
    if (stands_still(l, o))
      return err_add(e,
                     "load.arrivals: more than %d within a second; bound them "
                     "by num_requests, or return larger gaps",
                     RATE_MAX);
  }
  return 0;
}

int timetable_make(struct load *l, uint64_t seed, const struct scenario *s,
                   struct vm *vm, struct err *e)
{
  struct offsets o = {0};
  struct stage *stage;
  int rc;
  if (scenario_has(s, HOOK_RATE))
    rc = follow_curve(l, seed, vm, &o, e);
  else if (scenario_has(s, HOOK_ARRIVALS))
    rc = follow_gaps(l, vm, &o, e);
  else
    return 0;
  if (rc == 0 && !o.n)
    rc = err_add(e, "%s: load: there is not a single arrival", s->path);
  if (rc < 0) {
    mem_free(o.ns);
    return -1;
  }
  stage = mem_new(struct stage);
  *stage = load_stage(l, 0);
  stage->label = mem_strdup("1");
  stage->offsets = o.ns;
  stage->n_offsets = o.n;
  stage->num_requests = 0;
  l->stages = stage;
  l->n_stages = 1;
  return 0;
}
