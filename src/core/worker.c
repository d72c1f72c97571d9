#include "core/worker.h"

#include <ev.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/mailbox.h"
#include "core/sched.h"
#include "net/timer.h"
#include "script/scenario.h"
#include "script/session.h"
#include "script/vm.h"

enum order {
  ORDER_GO,
  ORDER_STOP,
  ORDER_POLL,
  ORDER_STAGE,
  ORDER_WINDOW,
  ORDER_WINDOW_END,
  ORDER_QUIT
};

/* Items started in one turn of the loop: a burst must not keep arriving
 * bytes waiting. */
#define BURST 64
/* How often the probe looks whether the loop comes in time. */
#define PROBE_NS (10 * NS_PER_MS)
/* How often records that ended are flushed. */
#define FLUSH_NS (500 * NS_PER_MS)
/* Idle garbage collection in one go. */
#define GC_BUDGET_NS (200 * NS_PER_US)
#define FOREVER      UINT64_MAX

struct worker {
  struct worker_setup setup;
  bool is_inline, failed;
  pthread_t thread;
  struct ev_loop *loop;
  struct mailbox *orders, *reports;

  struct net *net;
  struct vm *vm;
  struct xfer_headers *headers;
  struct xfer_headers **backend_headers; /* by place; see exchange.h */
  struct exchange_pool *exchanges;
  struct session_pool *sessions;

  struct timer start_timer; /* the next item's due, or the end of sending */
  struct timer drain_timer;
  struct timer probe;
  uint64_t probe_due_ns, flush_due_ns;
  ev_idle more; /* a burst was cut: go on after looking at the sockets */

  struct sched sched;
  struct stage stage; /* the current one */
  size_t stage_number;
  uint64_t t0_ns, stage_t0_ns;
  enum phase phase;
  bool running; /* a phase is on */
  bool over;    /* nothing more starts in this phase */
  bool pumping; /* inside pump: what ends meanwhile must not recurse */
  bool quit;

  struct metrics *window; /* on, or NULL */
  uint64_t window_t0_ns, window_bound, window_in_flight, window_sent;

  struct progress progress;
  struct live_figures live;    /* of thresholds that may end the run */
  struct exchange_live before; /* totals when the measured phase began */
  uint64_t cpu_start_ns, wall_start_ns;
  struct worker_figures figures;
};

/* ---- telling the main thread ---- */

static void free_report(struct worker_report *r)
{
  if (r->live)
    live_figures_deinit(r->live);
  mem_free(r->live);
  mem_free(r->text);
  mem_free(r->progress);
  mem_free(r);
}

static void post(struct worker *w, struct worker_report *r)
{
  /* Only answers to polls could ever pile up; they may be dropped. */
  if (!mailbox_post(w->reports, (struct message){.ptr = r}))
    free_report(r);
}

static void tell(struct worker *w, enum worker_event event, const char *text)
{
  struct worker_report *r = mem_new(struct worker_report);
  r->event = event;
  r->text = text ? mem_strdup(text) : NULL;
  post(w, r);
}

/* What thresholds look at while the run goes on, as it is now. */
static struct live_figures *copy_live(struct worker *w)
{
  const struct config *c = w->setup.config;
  struct live_figures *l = mem_new(struct live_figures);
  live_figures_init(l, &c->thresholds, w->setup.stages, &c->slo,
                    w->setup.declared);
  live_figures_merge(l, &w->live);
  custom_merge(&l->custom, &w->figures.custom);
  sessions_merge(&l->sessions, &w->figures.sessions);
  return l;
}

static void tell_progress(struct worker *w, bool live)
{
  struct worker_report *r = mem_new(struct worker_report);
  r->event = WORKER_PROGRESS;
  r->progress = mem_new(struct progress);
  *r->progress = w->progress;
  if (live)
    r->live = copy_live(w);
  post(w, r);
}

static void on_report(const struct message *m, void *ud)
{
  struct worker *w = ud;
  struct worker_report *r = m->ptr;
  w->setup.report(w, r, w->setup.ud);
  mem_free(r);
}

/* ---- windows ---- */

static struct metrics *new_metrics(const struct worker *w, uint64_t epoch_ns)
{
  const struct metrics_config mc = {.epoch_ns = epoch_ns,
                                    .slo = w->setup.config->slo};
  return metrics_new(&mc);
}

static void begin_window(struct worker *w, uint64_t num_requests)
{
  w->window = new_metrics(w, w->t0_ns);
  w->window_bound =
      num_requests ? sched_share(num_requests, w->setup.index, w->setup.count)
                   : UINT64_MAX;
  w->window_in_flight = w->sched.in_flight;
  w->window_sent = exchange_live(w->exchanges)->sent;
  w->window_t0_ns = clock_ns();
}

static void end_window(struct worker *w)
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
  post(w, r);
}

static void add_to_window(struct worker *w, const struct record *r)
{
  if (!w->window)
    return;
  metrics_add(w->window, r);
  if (metrics_count(w->window) >= w->window_bound)
    end_window(w);
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
  end_window(w);
  if (w->phase == PHASE_MEASURE) {
    struct client_worker *c = &w->figures.client;
    c->cpu_ns = clock_thread_cpu_ns() - w->cpu_start_ns;
    c->wall_ns = clock_ns() - w->wall_start_ns;
  }
  if (cb->flush)
    cb->flush(w->setup.index, cb->ud);
  tell(w, WORKER_PHASE_OVER, NULL);
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
  tell(w, WORKER_SENT, NULL);
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
  w->stage = w->phase == PHASE_WARMUP ? load_warmup(&w->setup.config->load)
                                      : timed_stage(w, i);
  if (w->phase == PHASE_MEASURE && w->figures.stages) {
    w->figures.stages[i] = new_metrics(w, w->t0_ns);
    w->figures.stage_t0_ns[i] = t0_ns;
  }
  sched_enter(&w->sched, &w->stage, (uint16_t)i, t0_ns);
}

/* The stage has nothing more to start. False: nor has the phase. */
static bool next_stage(struct worker *w)
{
  const struct load *l = &w->setup.config->load;
  uint64_t t0 =
      w->stage.duration_ns ? w->stage_t0_ns + w->stage.duration_ns : clock_ns();
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
  uint64_t wake;
  for (int started = 0;;) {
    switch (sched_next(&w->sched, clock_ns(), &item, &wake)) {
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
    if (++started == BURST) {
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
  tell(w, WORKER_EXHAUSTED, NULL);
}

static void on_script_stop(const char *why, void *ud)
{
  tell(ud, WORKER_STOP, why);
}

/* ---- orders ---- */

static bool driven(const struct worker *w)
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

static void change_stage(struct worker *w, struct stage *s, uint16_t number,
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

static void go(struct worker *w, enum phase phase, uint64_t t0_ns)
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
  if (phase == PHASE_MEASURE && driven(w))
    enter_silence(w, t0_ns);
  else
    enter_stage(w, 0, t0_ns);
  if (phase == PHASE_MEASURE) {
    uint64_t duration = load_duration(&c->load);
    metrics_set_epoch(w->figures.metrics, t0_ns);
    metrics_window(w->figures.metrics, t0_ns, duration ? t0_ns + duration : 0);
    vm_start(w->vm, t0_ns);
    w->progress = (struct progress){0};
    w->before = *exchange_live(w->exchanges);
    w->cpu_start_ns = clock_thread_cpu_ns();
    w->wall_start_ns = clock_ns();
  }
  w->probe_due_ns = t0_ns + PROBE_NS;
  timer_at(&w->probe, w->probe_due_ns);
  timer_at(&w->start_timer, t0_ns);
}

static void stop(struct worker *w, uint64_t grace_ns)
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

static void on_order(const struct message *m, void *ud)
{
  struct worker *w = ud;
  switch ((enum order)(m->kind & 0xff)) {
  case ORDER_GO: go(w, (enum phase)(m->kind >> 8), m->value); break;
  case ORDER_STOP: stop(w, m->value); break;
  case ORDER_POLL: {
    const struct exchange_live *live = exchange_live(w->exchanges);
    w->progress.tokens = live->tokens - w->before.tokens;
    w->progress.sent = live->sent - w->before.sent;
    tell_progress(w, m->value);
    break;
  }
  case ORDER_STAGE:
    change_stage(w, m->ptr, (uint16_t)(m->kind >> 8), m->value);
    break;
  case ORDER_WINDOW: begin_window(w, m->value); break;
  case ORDER_WINDOW_END: end_window(w); break;
  case ORDER_QUIT:
    w->quit = true;
    ev_break(w->loop, EVBREAK_ALL);
    break;
  }
}

static void order(struct worker *w, enum order o, int detail, uint64_t value)
{
  struct message m = {.kind = (int)o | detail << 8, .value = value};
  bool posted = mailbox_post(w->orders, m);
  (void)posted; /* a full box of polls answers itself later */
}

void worker_go(struct worker *w, enum phase phase, uint64_t t0_ns)
{
  order(w, ORDER_GO, (int)phase, t0_ns);
}

void worker_stop(struct worker *w, uint64_t grace_ns)
{
  order(w, ORDER_STOP, 0, grace_ns);
}

void worker_poll(struct worker *w, bool live)
{
  order(w, ORDER_POLL, 0, live);
}

void worker_stage(struct worker *w, const struct stage *s, uint16_t number,
                  uint64_t t0_ns)
{
  struct stage *copy = mem_new(struct stage);
  struct message m = {
      .kind = ORDER_STAGE | number << 8, .value = t0_ns, .ptr = copy};
  *copy = *s;
  if (!mailbox_post(w->orders, m))
    mem_free(copy);
}

void worker_window(struct worker *w, uint64_t num_requests)
{
  order(w, ORDER_WINDOW, 0, num_requests);
}

void worker_window_end(struct worker *w)
{
  order(w, ORDER_WINDOW_END, 0, 0);
}

/* ---- life ---- */

/* Connections that will be needed at once, as far as that can be known. */
static uint64_t expected_connections(const struct config *c)
{
  const struct load *l = &c->load;
  uint64_t n = load_max_concurrency(l);
  double rate = 0;
  for (size_t i = 0; !n && i < load_stages(l); i++) {
    struct stage s = load_stage(l, i);
    rate = fmax(rate, fmax(s.rate.from, s.rate.to));
  }
  if (!n)
    n = isinf(rate) ? l->num_requests : (uint64_t)ceil(rate);
  if (l->num_requests && n > l->num_requests)
    n = l->num_requests;
  return n < 1 ? 1 : n > 20000 ? 20000 : n;
}

static void make_net(struct worker *w)
{
  const struct config *c = w->setup.config;
  struct net_config nc = config_net(c);
  nc.connections = (unsigned)sched_share(expected_connections(c),
                                         w->setup.index, w->setup.count);
  w->net = net_new(w->loop, &nc);
}

static int make_vm(struct worker *w, struct err *e)
{
  const struct config *c = w->setup.config;
  const struct vm_config vc = {
      .scenario = w->setup.scenario,
      .body = config_body(c),
      .errors = w->setup.errors,
      .watchdog = w->setup.watchdog,
      .custom = &w->figures.custom,
      .data = w->setup.data,
      .worker = w->setup.index,
      .workers = w->setup.count,
  };
  w->vm = vm_new(&vc, e);
  return w->vm ? 0 : -1;
}

static bool has(const struct worker *w, enum hook h)
{
  return scenario_has(w->setup.scenario, h);
}

static void make_headers(struct worker *w, struct err *e)
{
  const struct config *c = w->setup.config;
  const struct backends *all = &w->setup.scenario->backends;
  w->headers = config_headers(c, NULL, e);
  w->backend_headers = mem_zalloc(all->n, sizeof *w->backend_headers);
  for (size_t i = 0; i < all->n; i++)
    if (all->items[i].headers[0] || all->items[i].key_header)
      w->backend_headers[i] = config_headers(c, &all->items[i], e);
}

static void free_headers(struct worker *w)
{
  size_t n = w->setup.scenario->backends.n;
  xfer_headers_unref(w->headers);
  for (size_t i = 0; w->backend_headers && i < n; i++)
    xfer_headers_unref(w->backend_headers[i]);
  mem_free(w->backend_headers);
}

static void make_sessions(struct worker *w)
{
  const struct config *c = w->setup.config;
  const struct exchange_config ec = {
      .net = w->net,
      .vm = w->vm,
      .base_url = c->base_url,
      .query = c->query ? c->query : "",
      .headers = w->headers,
      .backend_headers = w->backend_headers,
      .request_id_prefix = c->request_id_prefix,
      .timeout_ns = c->timeout_ns,
      .ttft_timeout_ns = c->ttft_timeout_ns,
      .idle_timeout_ns = c->idle_timeout_ns,
      .keep_text = has(w, HOOK_ON_RESPONSE) || has(w, HOOK_SESSION) ||
                   has(w, HOOK_ON_FIRST_TOKEN) || has(w, HOOK_ON_CHUNK),
      .on_first_token = has(w, HOOK_ON_FIRST_TOKEN),
      .on_chunk = has(w, HOOK_ON_CHUNK),
  };
  struct session_config sc = {
      .loop = w->loop,
      .vm = w->vm,
      .coroutines = has(w, HOOK_SESSION),
      .judged = has(w, HOOK_ON_RESPONSE),
      .errors = w->setup.errors,
      .max_requests =
          c->max_requests
              ? sched_share(c->max_requests, w->setup.index, w->setup.count)
              : 0,
      .max_errors = c->max_script_errors,
      .record = on_record,
      .session = on_session,
      .prefilled = on_session_prefilled,
      .ended = on_session_ended,
      .exhausted = on_exhausted,
      .stop = on_script_stop,
      .ud = w,
  };
  w->exchanges = exchange_pool_new(&ec);
  sc.exchanges = w->exchanges;
  w->sessions = session_pool_new(&sc);
}

static void on_connected(unsigned opened, const char *first_error, void *ud)
{
  (void)opened;
  tell(ud, WORKER_READY, first_error[0] ? first_error : NULL);
}

/* Everything that lives on the worker's own thread. Ends in WORKER_READY or
 * WORKER_FAILED. */
static void set_up(struct worker *w)
{
  const struct config *c = w->setup.config;
  struct err e = {0};
  w->orders = mailbox_new(w->loop, on_order, w);
  timer_init(&w->start_timer, w->loop, on_start_timer, w, &e);
  timer_init(&w->drain_timer, w->loop, on_drain_timer, w, &e);
  timer_init(&w->probe, w->loop, on_probe, w, &e);
  ev_idle_init(&w->more, on_more);
  /* Above the sockets, or busy ones would keep it waiting for ever. */
  ev_set_priority(&w->more, 1);
  w->more.data = w;
  w->figures.metrics = new_metrics(w, 0);
  if (c->load.n_stages && !driven(w)) {
    w->figures.stages = mem_zalloc(c->load.n_stages, sizeof(void *));
    w->figures.stage_t0_ns = mem_zalloc(c->load.n_stages, sizeof(uint64_t));
  }
  custom_like(&w->figures.custom, w->setup.declared);
  live_figures_init(&w->live, &c->thresholds, w->setup.stages, &c->slo,
                    w->setup.declared);
  make_headers(w, &e);
  make_net(w);
  if (e.count || make_vm(w, &e) < 0) {
    w->failed = true;
    tell(w, WORKER_FAILED, err_text(&e));
  } else {
    unsigned n = (unsigned)sched_share(expected_connections(c), w->setup.index,
                                       w->setup.count);
    make_sessions(w);
    if (c->preconnect && n)
      net_preconnect(w->net, c->base_url, n, on_connected, w);
    else
      tell(w, WORKER_READY, NULL);
  }
  err_free(&e);
}

static void tear_down(struct worker *w)
{
  struct client_worker *c = &w->figures.client;
  if (w->vm) {
    struct vm_stats s = vm_stats(w->vm);
    c->script_ns = s.total_ns;
    c->script_calls = s.calls;
    c->script_worst_ns = s.worst_ns;
    c->gc_ns = s.gc_ns;
    snprintf(c->script_place, sizeof c->script_place, "%s", s.worst_place);
  }
  if (w->exchanges && exchange_live(w->exchanges)->sent) {
    w->figures.sent = true;
    w->figures.backend = exchange_live(w->exchanges)->backend;
  }
  w->figures.net = net_counts(w->net);
  w->figures.clock = net_clock(w->net);
  c->retries = w->figures.net.retries;
  session_pool_free(w->sessions);
  net_free(w->net);
  exchange_pool_free(w->exchanges);
  vm_free(w->vm);
  free_headers(w);
  timer_deinit(&w->start_timer);
  timer_deinit(&w->drain_timer);
  timer_deinit(&w->probe);
  mailbox_free(w->orders);
  live_figures_deinit(&w->live);
}

static void *worker_main(void *arg)
{
  struct worker *w = arg;
  bool spin = w->setup.config->busy_poll;
  set_up(w);
  while (!w->quit)
    ev_run(w->loop, spin && w->running ? EVRUN_NOWAIT : EVRUN_ONCE);
  tear_down(w);
  return NULL;
}

/* Lua may need 8 MB of stack (script/recursion.h), whatever `ulimit -s` says;
 * it is not touched before it is used. */
static int start_thread(struct worker *w)
{
  pthread_attr_t attr;
  int status;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 16 << 20);
  status = pthread_create(&w->thread, &attr, worker_main, w);
  pthread_attr_destroy(&attr);
  return status;
}

struct worker *worker_start(const struct worker_setup *s)
{
  struct worker *w = mem_new(struct worker);
  w->setup = *s;
  w->is_inline = s->config->threads == 0;
  w->reports = mailbox_new(s->main_loop, on_report, w);
  if (w->is_inline) {
    w->loop = s->main_loop;
    set_up(w);
    return w;
  }
  w->loop = ev_loop_new(EVFLAG_AUTO);
  if (!w->loop || start_thread(w) != 0) {
    w->failed = true;
    tell(w, WORKER_FAILED, "could not start a thread\n");
  }
  return w;
}

void worker_join(struct worker *w)
{
  if (w->is_inline) {
    tear_down(w);
  } else if (w->thread) {
    order(w, ORDER_QUIT, 0, 0);
    pthread_join(w->thread, NULL);
    w->thread = 0;
  }
  /* Answers to the last poll may have come after the main loop's end. */
  mailbox_drain(w->reports);
}

struct worker_figures *worker_figures(struct worker *w)
{
  return &w->figures;
}

void worker_free(struct worker *w)
{
  if (!w)
    return;
  mailbox_free(w->reports);
  metrics_free(w->figures.metrics);
  sessions_deinit(&w->figures.sessions);
  calls_deinit(&w->figures.calls);
  custom_deinit(&w->figures.custom);
  for (size_t i = 0; w->figures.stages && i < w->setup.config->load.n_stages;
       i++)
    metrics_free(w->figures.stages[i]);
  mem_free(w->figures.stages);
  mem_free(w->figures.stage_t0_ns);
  client_worker_deinit(&w->figures.client);
  if (!w->is_inline && w->loop)
    ev_loop_destroy(w->loop);
  mem_free(w);
}
