#include "core/worker_impl.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"

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
  return w->vm ? vm_init(w->vm, e) : -1;
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
      .base_url = vm_address(w->vm) ? vm_address(w->vm) : c->base_url,
      .query = c->query ? c->query : "",
      .headers = w->headers,
      .backend_headers = w->backend_headers,
      .request_id_prefix = c->request_id_prefix,
      .timeout_ns = c->timeout_ns,
      .ttft_timeout_ns = c->ttft_timeout_ns,
      .idle_timeout_ns = c->idle_timeout_ns,
      .max_answer = c->max_answer,
      .keep_text =
          has(w, HOOK_ON_RESPONSE) || has(w, HOOK_SESSION) || c->keep_text,
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
  };
  w->exchanges = exchange_pool_new(&ec);
  worker_load_callbacks(w, &sc);
  sc.exchanges = w->exchanges;
  w->sessions = session_pool_new(&sc);
}

static void on_connected(unsigned opened, const char *first_error, void *ud)
{
  (void)opened;
  worker_tell(ud, WORKER_READY, first_error[0] ? first_error : NULL);
}

/* Everything that lives on the worker's own thread. Ends in WORKER_READY or
 * WORKER_FAILED. */
void worker_set_up(struct worker *w)
{
  const struct config *c = w->setup.config;
  struct err e = {0};
  worker_load_init(w, &e);
  w->figures.metrics = worker_new_metrics(w, 0);
  if (c->load.n_stages && !worker_is_driven(w)) {
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
    worker_tell(w, WORKER_FAILED, err_text(&e));
  } else {
    unsigned n = (unsigned)sched_share(expected_connections(c), w->setup.index,
                                       w->setup.count);
    make_sessions(w);
    if (c->preconnect && n)
      net_preconnect(w->net,
                     vm_address(w->vm) ? vm_address(w->vm) : c->base_url, n,
                     on_connected, w);
    else
      worker_tell(w, WORKER_READY, NULL);
  }
  err_free(&e);
}

void worker_tear_down(struct worker *w)
{
  if (w->vm && !w->failed)
    w->figures.exit_failed = vm_exit(w->vm, &w->figures.exit) == VM_FAILED;
  struct client_worker *c = &w->figures.client;
  if (w->vm) {
    struct vm_stats s = vm_stats(w->vm);
    c->script_ns = s.total_ns;
    c->script_calls = s.calls;
    c->script_worst_ns = s.worst_ns;
    c->gc_ns = s.gc_ns;
    c->heap_peak = s.memory_peak;
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
  live_figures_deinit(&w->live);
}
