#include "core/worker_impl.h"

#include "base/clock.h"
#include "base/mem.h"

enum order {
  ORDER_GO,
  ORDER_STOP,
  ORDER_POLL,
  ORDER_STAGE,
  ORDER_WINDOW,
  ORDER_WINDOW_END,
  ORDER_QUIT
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

void worker_post(struct worker *w, struct worker_report *r)
{
  /* Only answers to polls could ever pile up; they may be dropped. */
  if (!mailbox_post(w->reports, (struct message){.ptr = r}))
    free_report(r);
}

void worker_tell(struct worker *w, enum worker_event event, const char *text)
{
  struct worker_report *r = mem_new(struct worker_report);
  r->event = event;
  r->text = text ? mem_strdup(text) : NULL;
  worker_post(w, r);
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
  worker_post(w, r);
}

static void on_report(const struct message *m, void *ud)
{
  struct worker *w = ud;
  struct worker_report *r = m->ptr;
  w->setup.report(w, r, w->setup.ud);
  mem_free(r);
}

/* ---- orders ---- */

void worker_on_order(const struct message *m, void *ud)
{
  struct worker *w = ud;
  switch ((enum order)(m->kind & 0xff)) {
  case ORDER_GO:
    worker_begin_phase(w, (enum phase)(m->kind >> 8), m->value);
    break;
  case ORDER_STOP:
    net_preconnect_end(w->net); /* if it comes that early */
    worker_end_phase(w, m->value);
    break;
  case ORDER_POLL: {
    const struct exchange_live *live = exchange_live(w->exchanges);
    w->progress.tokens = live->tokens - w->before.tokens;
    w->progress.sent = live->sent - w->before.sent;
    tell_progress(w, m->value);
    break;
  }
  case ORDER_STAGE:
    worker_change_stage(w, m->ptr, (uint16_t)(m->kind >> 8), m->value);
    break;
  case ORDER_WINDOW: worker_begin_window(w, m->value); break;
  case ORDER_WINDOW_END: worker_end_window(w); break;
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

void worker_window(struct worker *w, uint64_t bound)
{
  order(w, ORDER_WINDOW, 0, bound);
}

void worker_window_end(struct worker *w)
{
  order(w, ORDER_WINDOW_END, 0, 0);
}

/* ---- life ---- */

static void *worker_main(void *arg)
{
  struct worker *w = arg;
  bool spin = w->setup.config->busy_poll;
  worker_set_up(w);
  while (!w->quit)
    ev_run(w->loop, spin && w->running ? EVRUN_NOWAIT : EVRUN_ONCE);
  worker_tear_down(w);
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
  w->loop = w->is_inline ? s->main_loop : ev_loop_new(EVFLAG_AUTO);
  if (w->loop)
    w->orders = mailbox_new(w->loop, worker_on_order, w);
  if (w->is_inline) {
    worker_set_up(w);
    return w;
  }
  if (!w->loop || start_thread(w) != 0) {
    w->failed = true;
    worker_tell(w, WORKER_FAILED, "could not start a thread\n");
  }
  return w;
}

void worker_join(struct worker *w)
{
  if (w->is_inline) {
    worker_tear_down(w);
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
  mailbox_free(w->orders);
  metrics_free(w->figures.metrics);
  sessions_deinit(&w->figures.sessions);
  calls_deinit(&w->figures.calls);
  custom_deinit(&w->figures.custom);
  buf_free(&w->figures.exit);
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
