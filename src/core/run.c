#include "core/run_impl.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "base/mem.h"
#include "script/scenario.h"
#include "script/vm.h"
#include "script/watchdog.h"

const char *stop_reason_name(enum stop_reason r)
{
  static const char *const names[] = {"requests",    "duration", "exhausted",
                                      "interrupted", "script",   "threshold",
                                      "control",     "hopeless"};
  return names[r];
}

/* ---- phases ---- */

static bool has_warmup(const struct config *c)
{
  return c->load.warmup_requests || c->load.warmup_ns;
}

void run_start_phase(struct run *r, enum state state)
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

static void all_ready(struct run *r)
{
  if (r->failed || r->stopping)
    finish(r);
  else if (has_warmup(r->config))
    run_start_phase(r, WARMUP);
  else
    run_start_measuring(r);
}

static void phase_over(struct run *r)
{
  if (r->state == WARMUP && !r->stopping)
    run_start_measuring(r);
  else
    finish(r);
}

void run_stop_sending(struct run *r, enum stop_reason why, const char *detail,
                      uint64_t grace_ns)
{
  if (!r->stopping) {
    r->stopping = true;
    r->out->stop_reason = why;
    snprintf(r->out->stop_detail, sizeof r->out->stop_detail, "%s", detail);
    run_end_control(r);
  }
  if (r->state != ENDED)
    for (unsigned i = 0; i < r->n; i++)
      worker_stop(r->workers[i], grace_ns);
}

/* ---- what workers tell ---- */

static void keep_error(char **kept, char **text)
{
  if (*kept)
    return;
  *kept = *text;
  *text = NULL;
}

static void keep_progress(struct run *r, unsigned i,
                          const struct worker_report *report)
{
  r->progress[i] = *report->progress;
  if (!report->live)
    return;
  run_free_live(r->live[i]);
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
    run_stop_sending(r, STOP_SCRIPT, text ? text : "",
                     r->config->load.drain_ns);
    break;
  case WORKER_HOPELESS:
    if (++r->hopeless == r->n && r->state == MEASURE)
      run_stop_sending(r, STOP_HOPELESS, text, 0);
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
    run_on_window(r, &window);
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
    run_stop_sending(r, STOP_INTERRUPTED, "", 0);
    return;
  }
  r->out->signal = s->signum;
  run_stop_sending(r, STOP_INTERRUPTED,
                   s->signum == SIGINT    ? "SIGINT"
                   : s->signum == SIGTERM ? "SIGTERM"
                                          : "SIGHUP",
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
  run_stop_sending(r, STOP_THRESHOLD, t->text, r->config->load.drain_ns);
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
    run_stop_sending(r, STOP_DURATION, "", r->config->load.drain_ns);
  for (unsigned i = 0; i < r->n; i++) {
    progress_merge(&sum, &r->progress[i]);
    worker_poll(r->workers[i], live);
  }
  p.elapsed_ns = ns_since(r->t0_ns, clock_ns());
  rates(r, &sum, &p);
  if (r->cb->progress)
    r->cb->progress(&p, r->cb->ud);
}

/* nohup keeps it away from us, and so do we then. */
static bool is_ignored(int signum)
{
  struct sigaction now;
  return sigaction(signum, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void watch(struct run *r)
{
  ev_signal_init(&r->on_int, on_signal, SIGINT);
  ev_signal_init(&r->on_term, on_signal, SIGTERM);
  ev_signal_init(&r->on_hup, on_signal, SIGHUP);
  ev_timer_init(&r->tick, on_tick, TICK_S, TICK_S);
  ev_timer_init(&r->control_timer, run_on_control_timer, 0, 0);
  r->on_int.data = r->on_term.data = r->on_hup.data = r->tick.data = r;
  r->control_timer.data = r;
  ev_signal_start(r->loop, &r->on_int);
  ev_signal_start(r->loop, &r->on_term);
  if (!is_ignored(SIGHUP))
    ev_signal_start(r->loop, &r->on_hup);
  ev_timer_start(r->loop, &r->tick);
}

static void unwatch(struct run *r)
{
  ev_signal_stop(r->loop, &r->on_int);
  ev_signal_stop(r->loop, &r->on_term);
  ev_signal_stop(r->loop, &r->on_hup);
  ev_timer_stop(r->loop, &r->tick);
  ev_timer_stop(r->loop, &r->control_timer);
}

/* ---- start and end ---- */

static struct stage_names name_stages(const struct load *l)
{
  const char **names = mem_zalloc(l->n_stages, sizeof *names);
  for (size_t i = 0; i < l->n_stages; i++)
    names[i] = l->stages[i].label;
  return (struct stage_names){names, l->n_stages};
}

static struct vm_http *make_http(const struct config *c, struct err *e)
{
  struct vm_http *h = mem_new(struct vm_http);
  *h = (struct vm_http){.net = config_net(c),
                        .base_url = c->base_url,
                        .query = c->query ? c->query : "",
                        .headers = config_headers(c, NULL, e),
                        .timeout_ns = c->timeout_ns};
  return h;
}

int run_prepare(const struct config *c, const struct scenario *s,
                struct run_result *out, struct err *e)
{
  struct vm_config vc = {.scenario = s,
                         .body = config_body(c),
                         .main = true,
                         .workers = load_workers(&c->load, c->threads)};
  *out = (struct run_result){.errors = script_errors_new(),
                             .watchdog = watchdog_new(0)};
  if (custom_declare(&out->custom, s->metrics, s->path, e) < 0)
    return -1;
  thresholds_add_parts(&c->thresholds, &out->custom);
  out->stage_names = name_stages(&c->load);
  out->custom.stages = out->stage_names;
  vc.errors = out->errors;
  vc.watchdog = out->watchdog;
  vc.custom = &out->custom;
  vc.http = out->http = make_http(c, e);
  if (e->count)
    return -1;
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
  sigaddset(&block, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  for (ws.index = 0; ws.index < r->n; ws.index++)
    r->workers[ws.index] = worker_start(&ws);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
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
  r.n = out->threads = load_workers(&c->load, c->threads);
  out->exits = mem_zalloc(r.n, sizeof *out->exits);
  r.workers = mem_zalloc(r.n, sizeof(struct worker *));
  r.progress = mem_zalloc(r.n, sizeof *r.progress);
  r.live = mem_zalloc(r.n, sizeof(struct live_figures *));
  custom_like(&r.declared, &out->custom);
  watch(&r);
  start_workers(&r);
  while (r.state != ENDED)
    ev_run(r.loop, c->busy_poll && !c->threads ? EVRUN_NOWAIT : EVRUN_ONCE);
  unwatch(&r);
  run_end_control(&r);
  run_collect(&r);
  name_the_end(&r);
  ev_loop_destroy(r.loop);
  mem_free(r.workers);
  mem_free(r.progress);
  mem_free(r.live);
  custom_deinit(&r.declared);
  if (!r.failed) {
    out->teardown_failed = vm_teardown(out->vm) == VM_FAILED;
    return 0;
  }
  metrics_free(out->metrics);
  out->metrics = NULL;
  return -1;
}
