#include "core/run_impl.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/sched.h"
#include "core/stage.h"
#include "script/scenario.h"
#include "script/vm.h"

/* ---- control(run) ---- */

/* A worker without a slot would keep its share of the arrivals. */
static int check_cap(const struct run *r, const struct stage *s, struct err *e)
{
  uint64_t cap = stage_cap(s);
  bool open = s->rate.from > 0 || s->rate.to > 0;
  if (!open || !cap || cap >= r->n)
    return 0;
  return err_add(e,
                 "load: %llu at a time cannot be shared by %u threads, each of "
                 "which has a part of the arrivals: use --threads %llu",
                 (unsigned long long)cap, r->n, (unsigned long long)cap);
}

static int on_set(const json_value *load, struct err *e, void *ud)
{
  struct run *r = ud;
  struct stage next = r->rule;
  uint64_t t0 = clock_ns() + LEAD_NS;
  next.label = NULL;
  if (stage_read(load, &next, "load", e) < 0 ||
      stage_check(&next, true, "load", e) < 0 || check_cap(r, &next, e) < 0) {
    mem_free(next.label);
    return -1;
  }
  mem_free(next.label);
  next.label = NULL;
  r->rule = next;
  r->rule_number++;
  for (unsigned i = 0; i < r->n; i++)
    worker_stage(r->workers[i], &r->rule, r->rule_number, t0);
  return 0;
}

static void keep_reports(struct run *r, struct control *c)
{
  buf_addstr(&r->out->reports, control_reports(c));
  buf_addstr(&r->out->said, control_said(c));
}

static void control_over(struct run *r, bool failed)
{
  struct control *c = r->control;
  const char *why = control_stop_reason(c), *gave_up = control_failure(c);
  r->control = NULL;
  keep_reports(r, c);
  r->out->control_failed = failed;
  if (gave_up)
    log_line("%s", gave_up);
  if (failed)
    run_stop_sending(r, STOP_SCRIPT, gave_up ? gave_up : vm_error(r->out->vm),
                     BRIEF_NS);
  else
    run_stop_sending(r, why ? STOP_SCRIPT : STOP_CONTROL, why ? why : "",
                     r->config->load.drain_ns);
  control_free(c);
}

void run_end_control(struct run *r)
{
  struct control *c = r->control;
  if (!c || !control_end(c))
    return;
  r->control = NULL;
  keep_reports(r, c);
  control_free(c);
}

/* Worker i's part of the bound; one without a slot has none. */
static uint64_t window_bound(const struct run *r, uint64_t num_requests,
                             unsigned i)
{
  uint64_t cap = stage_cap(&r->rule);
  unsigned busy = cap && cap < r->n ? (unsigned)cap : r->n;
  if (!num_requests)
    return UINT64_MAX;
  return i < busy ? sched_share(num_requests, i, busy) : 0;
}

static void open_window(struct run *r, const struct control_want *want)
{
  r->window = run_new_stage(r);
  r->window->label = mem_strdup(want->label);
  r->window->rule = r->rule;
  r->window->t0_ns = clock_ns();
  r->window->by_end = true;
  r->windows = r->n;
  r->in_flight[0] = r->in_flight[1] = 0;
  for (unsigned i = 0; i < r->n; i++)
    worker_window(r->workers[i], window_bound(r, want->num_requests, i));
}

static void set_timer(struct run *r, uint64_t after_ns)
{
  ev_now_update(r->loop);
  ev_timer_stop(r->loop, &r->control_timer);
  ev_timer_set(&r->control_timer, (double)after_ns / 1e9, 0);
  ev_timer_start(r->loop, &r->control_timer);
}

static void grant(struct run *r, const struct control_want *want)
{
  switch (want->wish) {
  case CONTROL_NOTHING: control_over(r, false); return;
  case CONTROL_FAILED: control_over(r, true); return;
  case CONTROL_MEASURE:
  case CONTROL_SLEEP: break;
  }
  if (control_stop_reason(r->control))
    control_over(r, false);
  else
    set_timer(r, want->settle_ns);
}

/* A wish's time is up. */
void run_on_control_timer(EV_P_ ev_timer *t, int revents)
{
  struct run *r = t->data;
  const struct control_want *want;
  (void)loop, (void)revents;
  if (!r->control || r->stopping || r->state == ENDED)
    return;
  want = control_wanted(r->control);
  if (want->wish == CONTROL_SLEEP) {
    grant(r, control_resume(r->control));
  } else if (!r->window) {
    open_window(r, want);
    if (want->duration_ns)
      set_timer(r, want->duration_ns);
  } else {
    for (unsigned i = 0; i < r->n; i++)
      worker_window_end(r->workers[i]);
  }
}

/* All workers have told their part of the window. */
static void close_window(struct run *r)
{
  struct summary_config sc = {.request_rate = r->rule.rate.from};
  struct summary s;
  struct run_stage *w = r->window;
  w->end_ns = clock_ns();
  r->window = NULL;
  ev_timer_stop(r->loop, &r->control_timer);
  if (!r->control || r->stopping)
    return;
  summary_build(&s, w->metrics, NULL, &sc);
  summary_over_window(&s);
  grant(r, control_measured(r->control, &s, r->in_flight[0], r->in_flight[1]));
}

void run_on_window(struct run *r, struct worker_window *part)
{
  r->in_flight[0] += part->in_flight_begin;
  r->in_flight[1] += part->in_flight_end;
  if (!r->window->metrics) {
    r->window->metrics = part->metrics;
  } else {
    metrics_merge(r->window->metrics, part->metrics);
    metrics_free(part->metrics);
  }
  if (--r->windows == 0)
    close_window(r);
}

/* The measured phase, and whoever drives it. */
void run_start_measuring(struct run *r)
{
  const struct control_ops ops = {.set = on_set, .ud = r};
  if (r->cb->measuring)
    r->cb->measuring(r->cb->ud);
  run_start_phase(r, MEASURE);
  if (!scenario_has(r->scenario, HOOK_CONTROL))
    return;
  r->rule = load_stage(&r->config->load, 0);
  r->rule.label = NULL;
  r->rule.duration_ns = r->rule.num_requests = 0;
  vm_start(r->out->vm, r->t0_ns);
  r->control = control_new(r->out->vm, &ops);
  r->out->control_failed = !r->control;
  if (r->control)
    grant(r, control_resume(r->control));
  else
    run_stop_sending(r, STOP_SCRIPT, vm_error(r->out->vm), 0);
}
