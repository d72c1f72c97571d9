#include "core/worker_impl.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"

/* Items started in one turn of the loop: a burst must not keep arriving
 * bytes waiting. */
#define BURST 64
/* … and the time they may take in it. */
#define BURST_NS (5 * NS_PER_MS)
/* How often the probe looks whether the loop comes in time. */
#define PROBE_NS (10 * NS_PER_MS)
/* How often records that ended are flushed. */
#define FLUSH_NS (500 * NS_PER_MS)
/* Idle garbage collection in one go. */
#define GC_BUDGET_NS (200 * NS_PER_US)
#define FOREVER      UINT64_MAX

/* ---- windows ---- */

struct metrics *worker_new_metrics(const struct worker *w, uint64_t epoch_ns)
{
  const struct metrics_config mc = {.epoch_ns = epoch_ns,
                                    .slo = w->setup.config->slo};
  return metrics_new(&mc);
}

void worker_begin_window(struct worker *w, uint64_t bound)
{
  w->window = worker_new_metrics(w, w->t0_ns);
  w->window_bound = bound;
  w->window_in_flight = w->sched.in_flight;
  w->window_sent = exchange_live(w->exchanges)->sent;
  w->window_t0_ns = clock_ns();
  /* This worker's part of the run is over, the others' may not be; or it has
   * no part. */
  if (!w->running || !bound)
    worker_end_window(w);
}

void worker_end_window(struct worker *w)
{
  struct worker_report *r;
  if (!w->window)
    return;
  metrics_window(w->window, w->window_t0_ns, clock_ns());
  r = mem_new(struct worker_report);
  r->event = WORKER_WINDOW;
  r->window.metrics = w->window;
  r->window.in_flight_begin = w->window_in_flight;
  r->window.in_flight_end = w->sched.in_flight;
  r->window.sent = exchange_live(w->exchanges)->sent - w->window_sent;
  w->window = NULL;
  worker_post(w, r);
}

static void add_to_window(struct worker *w, const struct record *r)
{
  if (!w->window)
    return;
  metrics_add(w->window, r);
  if (metrics_count(w->window) >= w->window_bound)
    worker_end_window(w);
}

/* ---- load ---- */

static void phase_over(struct worker *w)
{
  const struct run_callbacks *cb = w->setup.callbacks;
  timer_stop(&w->start_timer);
  timer_stop(&w->drain_timer);
  timer_stop(&w->probe);
  ev_idle_stop(w->loop, &w->more);
  sched_deinit(&w->sched);
  w->running = false;
  worker_end_window(w);
  if (w->phase == PHASE_MEASURE) {
    struct client_worker *c = &w->figures.client;
    c->cpu_ns = clock_thread_cpu_ns() - w->cpu_start_ns;
    c->wall_ns = clock_ns() - w->wall_start_ns;
  }
  if (cb->flush)
    cb->flush(w->setup.index, cb->ud);
  worker_tell(w, WORKER_PHASE_OVER, NULL);
}

/* What the timetable still held when sending ended is counted, not lost. */
static void count_unsent(struct worker *w)
{
  uint64_t now = clock_ns(), due;
  if (w->phase != PHASE_MEASURE)
    return;
  while (sched_unsent(&w->sched, now, &due))
    metrics_unsent(w->figures.metrics, due);
}

/* Sending has ended; those in flight have until `grace_ns` from now, or
 * FOREVER. */
static void sending_over(struct worker *w, uint64_t grace_ns)
{
  if (w->over)
    return;
  w->over = true;
  timer_stop(&w->start_timer);
  worker_tell(w, WORKER_SENT, NULL);
  if (w->sched.in_flight && grace_ns != FOREVER)
    timer_at(&w->drain_timer, clock_ns() + grace_ns);
}

/* The stage's rule, cut to what is left of the run's time. */
static struct stage timed_stage(const struct worker *w, size_t i)
{
  const struct load *l = &w->setup.config->load;
  struct stage s = load_stage(l, i);
  uint64_t left;
  if (!l->duration_ns)
    return s;
  left = ns_since(w->stage_t0_ns, w->t0_ns + l->duration_ns);
  if (!s.duration_ns || s.duration_ns > left)
    s.duration_ns = left;
  return s;
}

static void enter_stage(struct worker *w, size_t i, uint64_t t0_ns)
{
  w->stage_number = i;
  w->stage_t0_ns = t0_ns;
  w->stage = w->phase == PHASE_WARMUP
                 ? load_warmup(&w->setup.config->load, w->setup.count)
                 : timed_stage(w, i);
  if (w->phase == PHASE_MEASURE && w->figures.stages) {
    w->figures.stages[i] = worker_new_metrics(w, w->t0_ns);
    w->figures.stage_t0_ns[i] = t0_ns;
  }
  sched_enter(&w->sched, &w->stage, (uint16_t)i, t0_ns);
}

/* The stage has nothing more to start. False: nor has the phase. */
static bool next_stage(struct worker *w)
{
  const struct load *l = &w->setup.config->load;
  uint64_t t0 = clock_ns(), end = w->stage_t0_ns + w->stage.duration_ns;
  /* Unless it ended by number, on its timetable and not when that was seen. */
  if (w->stage.duration_ns && end < t0)
    t0 = end;
  if (w->phase == PHASE_WARMUP || w->sched.stopped ||
      w->stage_number + 1 >= load_stages(l) ||
      (l->duration_ns && t0 >= w->t0_ns + l->duration_ns) ||
      w->sched.started >= w->sched.limit)
    return false;
  enter_stage(w, w->stage_number + 1, t0);
  return true;
}

static void start_session(struct worker *w, const struct sched_item *item)
{
  const struct load *l = &w->setup.config->load;
  const struct session_item s = {
      .id = item->id,
      .due_ns = item->due_ns,
      .capped = item->capped,
      .phase = w->phase,
      .stage = item->stage,
      .stage_label = item->stage < load_stages(l)
                         ? load_stage(l, item->stage).label
                         : NULL,
  };
  session_start(w->sessions, &s);
}

static void start_due(struct worker *w)
{
  struct sched_item item;
  uint64_t wake, began = clock_ns(), now = began;
  for (int started = 0;; now = clock_ns()) {
    switch (sched_next(&w->sched, now, &item, &wake)) {
    case SCHED_WAIT:
      if (wake)
        timer_at(&w->start_timer, wake);
      return;
    case SCHED_OVER:
      if (next_stage(w))
        continue;
      count_unsent(w);
      sending_over(w, w->stage.duration_ns ? w->setup.config->load.drain_ns
                                           : FOREVER);
      return;
    case SCHED_DROP:
      if (w->phase == PHASE_MEASURE)
        metrics_unsent(w->figures.metrics, item.due_ns);
      continue;
    case SCHED_START: start_session(w, &item); break;
    }
    if (w->over)
      return;
    if (++started == BURST || now - began > BURST_NS) {
      ev_idle_start(w->loop, &w->more);
      return;
    }
  }
}

/* Start what is due and find out whether the phase is over. Called after
 * everything that may change either. */
static void pump(struct worker *w)
{
  if (!w->running || w->pumping)
    return;
  w->pumping = true;
  if (!w->over)
    start_due(w);
  w->pumping = false;
  if (w->over && !w->sched.in_flight)
    phase_over(w);
}

static void on_start_timer(struct timer *t, void *ud)
{
  (void)t;
  pump(ud);
}

static void on_more(EV_P_ ev_idle *i, int revents)
{
  (void)revents;
  ev_idle_stop(EV_A_ i);
  pump(i->data);
}

static void on_drain_timer(struct timer *t, void *ud)
{
  struct worker *w = ud;
  (void)t;
  session_cancel_all(w->sessions, "still running when the drain ended");
}

static void on_probe(struct timer *t, void *ud)
{
  struct worker *w = ud;
  const struct run_callbacks *cb = w->setup.callbacks;
  uint64_t now = clock_ns();
  if (w->phase == PHASE_MEASURE)
    hist_add(&w->figures.client.loop_lag, ns_since(w->probe_due_ns, now));
  if (now >= w->flush_due_ns) {
    w->flush_due_ns = now + FLUSH_NS;
    if (cb->flush)
      cb->flush(w->setup.index, cb->ud);
  }
  vm_gc(w->vm, GC_BUDGET_NS);
  w->probe_due_ns = clock_ns() + PROBE_NS;
  timer_at(t, w->probe_due_ns);
}

/* ---- what sessions tell ---- */

/* Failures that have nothing to do with what this one request was. */
static bool is_hopeless(const struct record *r)
{
  return r->outcome == OUTCOME_CONNECT || r->outcome == OUTCOME_AUTH ||
         r->outcome == OUTCOME_NOT_FOUND ||
         (r->outcome == OUTCOME_UNPROCESSABLE && r->status == 422);
}

/* Looks only at the first results, each worker at its share of them; one that
 * differs ends the looking. The run ends when all of them have told. */
static void judge_first(struct worker *w, const struct record *r)
{
  uint64_t ended = w->progress.done + w->progress.failed;
  uint32_t all = w->setup.config->fail_fast;
  uint32_t bound = (all + w->setup.count - 1) / w->setup.count;
  struct buf text = {0};
  if (ended > bound || !is_hopeless(r) || w->same + 1 != ended ||
      (w->same &&
       (r->outcome != w->same_outcome || r->status != w->same_status)))
    return;
  w->same_outcome = r->outcome;
  w->same_status = r->status;
  if (++w->same < bound)
    return;
  buf_addf(&text, "the first %u results were all the same: %s", all,
           outcome_text(r->outcome));
  worker_tell(w, WORKER_HOPELESS, buf_cstr(&text));
  buf_free(&text);
}

static void on_record(const struct record *r, void *ud)
{
  struct worker *w = ud;
  const struct run_callbacks *cb = w->setup.callbacks;
  if (r->http)
    calls_add(&w->figures.calls, r);
  else
    metrics_add(w->figures.metrics, r);
  if (r->phase == PHASE_MEASURE && !r->http) {
    progress_ended(&w->progress, r);
    if (w->setup.config->fail_fast)
      judge_first(w, r);
    live_figures_add(&w->live, r);
    if (w->figures.stages)
      metrics_add(w->figures.stages[r->stage], r);
    add_to_window(w, r);
  }
  if (cb->record)
    cb->record(w->setup.index, r, cb->ud);
}

static void on_session_prefilled(void *ud)
{
  struct worker *w = ud;
  sched_prefilled(&w->sched);
  if (w->stage.max_prefill)
    pump(w);
}

static void on_session_ended(const struct session_item *item, void *ud)
{
  struct worker *w = ud;
  sched_ended(&w->sched, clock_ns(), item->due_ns);
  pump(w);
}

static void on_session(const struct session_record *r, void *ud)
{
  struct worker *w = ud;
  sessions_add(&w->figures.sessions, r);
}

static void on_exhausted(void *ud)
{
  struct worker *w = ud;
  sched_stop(&w->sched);
  worker_tell(w, WORKER_EXHAUSTED, NULL);
}

/* The other workers hear of it from the run; this one need not wait. */
static void on_script_stop(const char *why, void *ud)
{
  struct worker *w = ud;
  sched_stop(&w->sched);
  worker_tell(w, WORKER_STOP, why);
}

/* ---- phases ---- */

bool worker_is_driven(const struct worker *w)
{
  return scenario_has(w->setup.scenario, HOOK_CONTROL);
}

/* Until control(run) sets a load. */
static void enter_silence(struct worker *w, uint64_t t0_ns)
{
  w->stage = (struct stage){0};
  w->stage_t0_ns = t0_ns;
  sched_enter(&w->sched, &w->stage, 0, t0_ns);
}

void worker_change_stage(struct worker *w, struct stage *s, uint16_t number,
                         uint64_t t0_ns)
{
  if (w->running && !w->over) {
    w->stage = *s;
    w->stage_t0_ns = t0_ns;
    sched_enter(&w->sched, &w->stage, number, t0_ns);
    pump(w);
  }
  mem_free(s);
}

void worker_begin_phase(struct worker *w, enum phase phase, uint64_t t0_ns)
{
  const struct config *c = w->setup.config;
  w->phase = phase;
  w->t0_ns = t0_ns;
  w->running = true;
  w->over = false;
  vm_mute(w->vm, phase == PHASE_WARMUP);
  sched_init(&w->sched, c->seed, w->setup.index, w->setup.count,
             phase == PHASE_MEASURE ? c->load.num_requests
                                    : c->load.warmup_requests);
  if (phase == PHASE_MEASURE && worker_is_driven(w))
    enter_silence(w, t0_ns);
  else
    enter_stage(w, 0, t0_ns);
  if (phase == PHASE_MEASURE) {
    uint64_t duration = load_duration(&c->load);
    metrics_set_epoch(w->figures.metrics, t0_ns);
    metrics_window(w->figures.metrics, t0_ns, duration ? t0_ns + duration : 0);
    vm_start(w->vm, t0_ns);
    w->progress = (struct progress){0};
    w->same = 0;
    w->before = *exchange_live(w->exchanges);
    w->cpu_start_ns = clock_thread_cpu_ns();
    w->wall_start_ns = clock_ns();
  }
  w->probe_due_ns = t0_ns + PROBE_NS;
  timer_at(&w->probe, w->probe_due_ns);
  timer_at(&w->start_timer, t0_ns);
}

void worker_end_phase(struct worker *w, uint64_t grace_ns)
{
  if (!w->running)
    return;
  if (!w->over) {
    count_unsent(w);
    sched_stop(&w->sched);
    if (w->phase == PHASE_MEASURE)
      metrics_window(w->figures.metrics, w->t0_ns, clock_ns());
  }
  sending_over(w, grace_ns);
  if (grace_ns)
    timer_at(&w->drain_timer, clock_ns() + grace_ns);
  else
    session_cancel_all(w->sessions, "the run was stopped");
  pump(w);
}

/* ---- what the others need ---- */

void worker_load_init(struct worker *w, struct err *e)
{
  timer_init(&w->start_timer, w->loop, on_start_timer, w, e);
  timer_init(&w->drain_timer, w->loop, on_drain_timer, w, e);
  timer_init(&w->probe, w->loop, on_probe, w, e);
  ev_idle_init(&w->more, on_more);
  /* Above the sockets, or busy ones would keep it waiting for ever. */
  ev_set_priority(&w->more, 1);
  w->more.data = w;
}

void worker_load_callbacks(struct worker *w, struct session_config *c)
{
  c->record = on_record;
  c->session = on_session;
  c->prefilled = on_session_prefilled;
  c->ended = on_session_ended;
  c->exhausted = on_exhausted;
  c->stop = on_script_stop;
  c->ud = w;
}
