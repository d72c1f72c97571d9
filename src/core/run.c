#include "core/run.h"

#include <ev.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/stage.h"
#include "core/worker.h"
#include "script/control.h"
#include "script/scenario.h"
#include "script/vm.h"
#include "script/watchdog.h"

/* From the order to the common time zero: every worker must have heard of it
 * before. */
#define LEAD_NS (5 * NS_PER_MS)
/* What an interrupted run still waits for answers. */
#define BRIEF_NS (3 * NS_PER_SEC)
#define TICK_S   0.25
#define TICKS    5 /* samples kept for the rates: one second */
/* Thresholds that may end the run are looked at every so many ticks. */
#define JUDGE_TICKS 4

enum state { STARTING, WARMUP, MEASURE, ENDED };

struct sample {
  uint64_t at_ns, done, tokens;
};

struct run {
  const struct config *config;
  const struct scenario *scenario;
  const struct run_callbacks *cb;
  struct run_result *out;
  struct err *e;

  struct ev_loop *loop;
  ev_signal on_int, on_term;
  ev_timer tick;

  struct custom declared; /* read by all workers as they start */
  struct worker **workers;
  struct progress *progress;  /* the latest of each worker */
  struct live_figures **live; /* likewise; NULL: none yet */
  uint64_t live_at_ns;        /* when they were asked for */
  unsigned ticks;
  unsigned n, ready, sent, over;
  enum state state;
  bool failed, stopping, exhausted, out_of_time;
  uint64_t t0_ns, duration_ns; /* of the measured phase; 0: not bounded */
  struct sample samples[TICKS];
  unsigned n_samples;

  /* control(run) */
  struct control *control;
  ev_timer control_timer; /* settle, sleep, the end of a window */
  struct stage rule;      /* what it has set */
  uint16_t rule_number;
  unsigned windows; /* still to be told */
  struct run_stage *window;
  uint64_t in_flight[2];
};

const char *stop_reason_name(enum stop_reason r)
{
  static const char *const names[] = {"requests",    "duration", "exhausted",
                                      "interrupted", "script",   "threshold",
                                      "control"};
  return names[r];
}

/* ---- phases ---- */

static bool has_warmup(const struct config *c)
{
  return c->load.warmup_requests || c->load.warmup_ns;
}

static void start_phase(struct run *r, enum state state)
{
  enum phase phase = state == WARMUP ? PHASE_WARMUP : PHASE_MEASURE;
  r->state = state;
  r->sent = r->over = 0;
  r->t0_ns = clock_ns() + LEAD_NS;
  if (!r->out->began_ns)
    r->out->began_ns = r->t0_ns;
  r->out->epoch_ns = r->t0_ns;
  r->out->epoch_wall_ns = clock_wall_ns() + LEAD_NS;
  for (unsigned i = 0; i < r->n; i++)
    worker_go(r->workers[i], phase, r->t0_ns);
}

static void finish(struct run *r)
{
  r->state = ENDED;
  ev_break(r->loop, EVBREAK_ALL);
}

static void start_control(struct run *r);

static void all_ready(struct run *r)
{
  if (r->failed || r->stopping)
    finish(r);
  else if (has_warmup(r->config))
    start_phase(r, WARMUP);
  else
    start_control(r);
}

static void phase_over(struct run *r)
{
  if (r->state == WARMUP && !r->stopping)
    start_control(r);
  else
    finish(r);
}

static void stop_sending(struct run *r, enum stop_reason why,
                         const char *detail, uint64_t grace_ns)
{
  if (!r->stopping) {
    r->stopping = true;
    r->out->stop_reason = why;
    snprintf(r->out->stop_detail, sizeof r->out->stop_detail, "%s", detail);
  }
  if (r->state == WARMUP || r->state == MEASURE)
    for (unsigned i = 0; i < r->n; i++)
      worker_stop(r->workers[i], grace_ns);
}

/* ---- control(run) ---- */

static int on_set(const json_value *load, struct err *e, void *ud)
{
  struct run *r = ud;
  struct stage next = r->rule;
  uint64_t t0 = clock_ns() + LEAD_NS;
  next.label = NULL;
  if (stage_read(load, &next, "load", e) < 0 ||
      stage_check(&next, true, "load", e) < 0) {
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

static void control_over(struct run *r, bool failed)
{
  const char *why = control_stop_reason(r->control);
  struct str reports = control_reports(r->control);
  buf_addstr(&r->out->reports, reports);
  buf_addstr(&r->out->said, control_said(r->control));
  r->out->control_failed = failed;
  if (failed)
    stop_sending(r, STOP_SCRIPT, vm_error(r->out->vm), BRIEF_NS);
  else
    stop_sending(r, why ? STOP_SCRIPT : STOP_CONTROL, why ? why : "",
                 r->config->load.drain_ns);
  control_free(r->control);
  r->control = NULL;
}

static struct run_stage *new_stage(struct run *r)
{
  struct run_result *out = r->out;
  out->stages = mem_resize(out->stages, out->n_stages + 1, sizeof *out->stages);
  out->stages[out->n_stages] = (struct run_stage){0};
  return &out->stages[out->n_stages++];
}

static void open_window(struct run *r, const struct control_want *want)
{
  r->window = new_stage(r);
  r->window->label = mem_strdup(want->label);
  r->window->rule = r->rule;
  r->window->t0_ns = clock_ns();
  r->window->by_end = true;
  r->windows = r->n;
  r->in_flight[0] = r->in_flight[1] = 0;
  for (unsigned i = 0; i < r->n; i++)
    worker_window(r->workers[i], want->num_requests);
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
static void on_control_timer(EV_P_ ev_timer *t, int revents)
{
  struct run *r = t->data;
  const struct control_want *want;
  (void)loop, (void)revents;
  if (!r->control || r->stopping)
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

static void on_window(struct run *r, struct worker_window *part)
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
static void start_control(struct run *r)
{
  const struct control_ops ops = {.set = on_set, .ud = r};
  start_phase(r, MEASURE);
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
    stop_sending(r, STOP_SCRIPT, vm_error(r->out->vm), 0);
}

/* ---- what workers tell ---- */

static void keep_error(char **kept, char **text)
{
  if (*kept)
    return;
  *kept = *text;
  *text = NULL;
}

static void free_live(struct live_figures *l)
{
  if (l)
    live_figures_deinit(l);
  mem_free(l);
}

static void keep_progress(struct run *r, unsigned i,
                          const struct worker_report *report)
{
  r->progress[i] = *report->progress;
  if (!report->live)
    return;
  free_live(r->live[i]);
  r->live[i] = report->live;
}

static void on_report(struct worker *w, const struct worker_report *report,
                      void *ud)
{
  struct run *r = ud;
  char *text = report->text;
  switch (report->event) {
  case WORKER_FAILED:
    r->failed = true;
    if (!r->e->count)
      err_add(r->e, "%.*s", STR_ARG(str_trim(str_of(text ? text : ""))));
    if (++r->ready == r->n)
      all_ready(r);
    break;
  case WORKER_READY:
    if (text)
      keep_error(&r->out->preconnect_error, &text);
    if (++r->ready == r->n)
      all_ready(r);
    break;
  case WORKER_EXHAUSTED: r->exhausted = true; break;
  case WORKER_STOP:
    stop_sending(r, STOP_SCRIPT, text ? text : "", r->config->load.drain_ns);
    break;
  case WORKER_SENT:
    r->out_of_time = r->duration_ns && clock_ns() >= r->t0_ns + r->duration_ns;
    r->sent++;
    break;
  case WORKER_PHASE_OVER:
    if (++r->over == r->n)
      phase_over(r);
    break;
  case WORKER_WINDOW: {
    struct worker_window window = report->window;
    on_window(r, &window);
    break;
  }
  case WORKER_PROGRESS:
    for (unsigned i = 0; i < r->n; i++)
      if (r->workers[i] == w)
        keep_progress(r, i, report);
    break;
  }
  mem_free(text);
  mem_free(report->progress);
}

/* ---- signals and the clock ---- */

static void on_signal(EV_P_ ev_signal *s, int revents)
{
  struct run *r = s->data;
  uint64_t drain = r->config->load.drain_ns;
  (void)loop, (void)revents;
  if (r->out->signal) {
    r->out->cut = true;
    stop_sending(r, STOP_INTERRUPTED, "", 0);
    return;
  }
  r->out->signal = s->signum;
  stop_sending(r, STOP_INTERRUPTED, s->signum == SIGINT ? "SIGINT" : "SIGTERM",
               drain < BRIEF_NS ? drain : BRIEF_NS);
}

static uint64_t ended_requests(const struct progress *p)
{
  return p->done + p->failed + p->cancelled;
}

/* Rates over the samples of the last second. */
static void rates(struct run *r, const struct progress *sum,
                  struct run_progress *p)
{
  struct sample now = {clock_ns(), ended_requests(sum), sum->tokens};
  const struct sample *first = &r->samples[0];
  double s = r->n_samples ? ns_to_sec(now.at_ns - first->at_ns) : 0;
  if (s > 0 && now.done >= first->done && now.tokens >= first->tokens) {
    p->request_rate = (double)(now.done - first->done) / s;
    p->token_rate = (double)(now.tokens - first->tokens) / s;
  }
  if (r->n_samples == TICKS) {
    memmove(r->samples, r->samples + 1, (TICKS - 1) * sizeof *r->samples);
    r->n_samples--;
  }
  r->samples[r->n_samples++] = now;
}

/* ---- thresholds that may end the run ---- */

static void end_by(struct run *r, const struct live_figures *l, size_t i,
                   double elapsed_s)
{
  const struct threshold *t = &r->config->thresholds.list[i];
  double value = live_figures_value(l, i, elapsed_s);
  /* What has no sample yet is not broken yet. */
  if (isnan(value) || threshold_holds(t, value) || r->stopping)
    return;
  r->out->broken = i + 1;
  r->out->broken_value = value;
  stop_sending(r, STOP_THRESHOLD, t->text, r->config->load.drain_ns);
}

static void judge(struct run *r)
{
  const struct thresholds *all = &r->config->thresholds;
  uint64_t elapsed_ns = ns_since(r->t0_ns, r->live_at_ns);
  struct live_figures sum;
  live_figures_init(&sum, all, &r->out->stage_names, &r->config->slo,
                    &r->out->custom);
  for (unsigned i = 0; i < r->n; i++)
    if (r->live[i])
      live_figures_merge(&sum, r->live[i]);
  for (size_t i = 0; i < all->n; i++)
    if (all->list[i].abort && elapsed_ns >= all->list[i].grace_ns)
      end_by(r, &sum, i, ns_to_sec(elapsed_ns));
  live_figures_deinit(&sum);
}

/* Once a second: ask the workers, and a tick later judge what they told. True
 * when they are to be asked. */
static bool judge_tick(struct run *r)
{
  if (r->state != MEASURE || !thresholds_abort(&r->config->thresholds))
    return false;
  if (++r->ticks % JUDGE_TICKS == 0)
    judge(r);
  if (r->ticks % JUDGE_TICKS != JUDGE_TICKS - 1)
    return false;
  r->live_at_ns = clock_ns();
  return true;
}

static void on_tick(EV_P_ ev_timer *t, int revents)
{
  struct run *r = t->data;
  struct progress sum = {0};
  struct run_progress p = {.warmup = r->state == WARMUP,
                           .draining = r->sent == r->n,
                           .progress = &sum};
  bool live;
  (void)loop, (void)revents;
  if (r->state != WARMUP && r->state != MEASURE)
    return;
  live = judge_tick(r);
  if (r->control && r->duration_ns && clock_ns() >= r->t0_ns + r->duration_ns)
    stop_sending(r, STOP_DURATION, "", r->config->load.drain_ns);
  for (unsigned i = 0; i < r->n; i++) {
    progress_merge(&sum, &r->progress[i]);
    worker_poll(r->workers[i], live);
  }
  p.elapsed_ns = ns_since(r->t0_ns, clock_ns());
  rates(r, &sum, &p);
  if (r->cb->progress)
    r->cb->progress(&p, r->cb->ud);
}

static void watch(struct run *r)
{
  ev_signal_init(&r->on_int, on_signal, SIGINT);
  ev_signal_init(&r->on_term, on_signal, SIGTERM);
  ev_timer_init(&r->tick, on_tick, TICK_S, TICK_S);
  ev_timer_init(&r->control_timer, on_control_timer, 0, 0);
  r->on_int.data = r->on_term.data = r->tick.data = r;
  r->control_timer.data = r;
  ev_signal_start(r->loop, &r->on_int);
  ev_signal_start(r->loop, &r->on_term);
  ev_timer_start(r->loop, &r->tick);
}

static void unwatch(struct run *r)
{
  ev_signal_stop(r->loop, &r->on_int);
  ev_signal_stop(r->loop, &r->on_term);
  ev_timer_stop(r->loop, &r->tick);
  ev_timer_stop(r->loop, &r->control_timer);
}

/* ---- start and end ---- */

/* A thread without a slot or a request of its own would have nothing to do. */
static unsigned worker_count(const struct config *c)
{
  uint64_t n = c->threads ? c->threads : 1;
  uint64_t most = load_max_concurrency(&c->load);
  if (most && n > most)
    n = most;
  if (c->load.num_requests && n > c->load.num_requests)
    n = c->load.num_requests;
  return (unsigned)n;
}

static struct stage_names name_stages(const struct load *l)
{
  const char **names = mem_zalloc(l->n_stages, sizeof *names);
  for (size_t i = 0; i < l->n_stages; i++)
    names[i] = l->stages[i].label;
  return (struct stage_names){names, l->n_stages};
}

int run_prepare(const struct config *c, const struct scenario *s,
                struct run_result *out, struct err *e)
{
  struct vm_config vc = {.scenario = s, .body = config_body(c), .main = true};
  *out = (struct run_result){.errors = script_errors_new(),
                             .watchdog = watchdog_new(0)};
  if (custom_declare(&out->custom, s->metrics, s->path, e) < 0)
    return -1;
  out->stage_names = name_stages(&c->load);
  vc.errors = out->errors;
  vc.watchdog = out->watchdog;
  vc.custom = &out->custom;
  out->vm = vm_new(&vc, e);
  if (!out->vm)
    return -1;
  vm_start(out->vm, clock_ns());
  return vm_setup(out->vm, &out->data, e);
}

static void start_workers(struct run *r)
{
  struct worker_setup ws = {
      .count = r->n,
      .config = r->config,
      .scenario = r->scenario,
      .data = buf_str(&r->out->data),
      .errors = r->out->errors,
      .watchdog = r->out->watchdog,
      .declared = &r->declared,
      .stages = &r->out->stage_names,
      .callbacks = r->cb,
      .main_loop = r->loop,
      .report = on_report,
      .ud = r,
  };
  sigset_t block, before;
  /* Signals are the main thread's: workers inherit the blocked mask. */
  sigemptyset(&block);
  sigaddset(&block, SIGINT);
  sigaddset(&block, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  for (ws.index = 0; ws.index < r->n; ws.index++)
    r->workers[ws.index] = worker_start(&ws);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void add_counts(struct net_counts *into, const struct net_counts *from)
{
  into->opened += from->opened;
  into->reused += from->reused;
  into->retries += from->retries;
  into->dns_ns += from->dns_ns;
  into->connect_ns += from->connect_ns;
  into->tls_ns += from->tls_ns;
}

/* The i-th worker's part of every stage that the load has. */
static void collect_stages(struct run *r, struct worker_figures *f)
{
  const struct load *l = &r->config->load;
  for (size_t i = 0; f->stages && i < l->n_stages; i++) {
    struct run_stage *s;
    if (!f->stages[i])
      continue;
    while (r->out->n_stages <= i)
      new_stage(r);
    s = &r->out->stages[i];
    s->rule = l->stages[i];
    s->t0_ns = f->stage_t0_ns[i];
    if (!s->label)
      s->label = mem_strdup(l->stages[i].label);
    if (l->stages[i].duration_ns)
      s->end_ns = s->t0_ns + l->stages[i].duration_ns;
    if (s->metrics) {
      metrics_merge(s->metrics, f->stages[i]);
    } else {
      s->metrics = f->stages[i];
      f->stages[i] = NULL;
    }
  }
}

static void collect(struct run *r)
{
  struct run_result *out = r->out;
  bool sent = false;
  out->backend =
      backends_of_endpoint(&r->scenario->backends, r->config->endpoint);
  for (unsigned i = 0; i < r->n; i++) {
    struct worker_figures *f;
    worker_join(r->workers[i]);
    f = worker_figures(r->workers[i]);
    if (!out->metrics) {
      out->metrics = f->metrics;
      f->metrics = NULL;
    } else {
      metrics_merge(out->metrics, f->metrics);
    }
    sessions_merge(&out->sessions, &f->sessions);
    calls_merge(&out->calls, &f->calls);
    custom_merge(&out->custom, &f->custom);
    collect_stages(r, f);
    if (f->sent && !sent)
      out->backend = f->backend;
    sent |= f->sent;
    client_add(&out->client, &f->client);
    add_counts(&out->net, &f->net);
    if (f->clock > out->clock)
      out->clock = f->clock;
    worker_free(r->workers[i]);
    free_live(r->live[i]);
  }
}

static void name_the_end(struct run *r)
{
  if (r->stopping)
    return;
  if (r->exhausted)
    r->out->stop_reason = STOP_EXHAUSTED;
  else if (r->out_of_time)
    r->out->stop_reason = STOP_DURATION;
  else
    r->out->stop_reason = STOP_COUNT;
}

int run_execute(const struct config *c, const struct scenario *s,
                const struct run_callbacks *cb, struct run_result *out,
                struct err *e)
{
  struct run r = {.config = c, .scenario = s, .cb = cb, .out = out, .e = e};
  signal(SIGPIPE, SIG_IGN);
  r.loop = ev_loop_new(EVFLAG_AUTO);
  r.duration_ns = load_duration(&c->load);
  r.n = out->threads = worker_count(c);
  r.workers = mem_zalloc(r.n, sizeof(struct worker *));
  r.progress = mem_zalloc(r.n, sizeof *r.progress);
  r.live = mem_zalloc(r.n, sizeof(struct live_figures *));
  custom_like(&r.declared, &out->custom);
  watch(&r);
  start_workers(&r);
  while (r.state != ENDED)
    ev_run(r.loop, c->busy_poll && !c->threads ? EVRUN_NOWAIT : EVRUN_ONCE);
  unwatch(&r);
  if (r.control)
    control_over(&r, false);
  collect(&r);
  name_the_end(&r);
  ev_loop_destroy(r.loop);
  mem_free(r.workers);
  mem_free(r.progress);
  mem_free(r.live);
  custom_deinit(&r.declared);
  if (!r.failed) {
    vm_teardown(out->vm);
    return 0;
  }
  metrics_free(out->metrics);
  out->metrics = NULL;
  return -1;
}

void run_result_free(struct run_result *r)
{
  metrics_free(r->metrics);
  sessions_deinit(&r->sessions);
  calls_deinit(&r->calls);
  custom_deinit(&r->custom);
  mem_free((void *)r->stage_names.names);
  for (size_t i = 0; i < r->n_stages; i++) {
    mem_free(r->stages[i].label);
    metrics_free(r->stages[i].metrics);
  }
  mem_free(r->stages);
  buf_free(&r->reports);
  buf_free(&r->said);
  client_deinit(&r->client);
  mem_free(r->preconnect_error);
  buf_free(&r->data);
  vm_free(r->vm);
  if (r->watchdog)
    watchdog_free(r->watchdog);
  if (r->errors)
    script_errors_free(r->errors);
  *r = (struct run_result){0};
}
