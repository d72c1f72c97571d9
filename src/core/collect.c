#include "core/run_impl.h"

#include "base/mem.h"
#include "script/vm.h"
#include "script/watchdog.h"

void run_free_live(struct live_figures *l)
{
  if (l)
    live_figures_deinit(l);
  mem_free(l);
}

struct run_stage *run_new_stage(struct run *r)
{
  struct run_result *out = r->out;
  out->stages = mem_resize(out->stages, out->n_stages + 1, sizeof *out->stages);
  out->stages[out->n_stages] = (struct run_stage){0};
  return &out->stages[out->n_stages++];
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
      run_new_stage(r);
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

void run_collect(struct run *r)
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
    out->exits[i] = f->exit;
    f->exit = (struct buf){0};
    out->exit_failed |= f->exit_failed;
    collect_stages(r, f);
    if (f->sent && !sent)
      out->backend = f->backend;
    sent |= f->sent;
    client_add(&out->client, &f->client);
    add_counts(&out->net, &f->net);
    if (f->clock > out->clock)
      out->clock = f->clock;
    worker_free(r->workers[i]);
    run_free_live(r->live[i]);
  }
  out->client.kernel_times = out->clock == NET_CLOCK_KERNEL;
}

void run_result_free(struct run_result *r)
{
  metrics_free(r->metrics);
  sessions_deinit(&r->sessions);
  calls_deinit(&r->calls);
  if (r->http)
    xfer_headers_unref(r->http->headers);
  mem_free(r->http);
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
  for (unsigned i = 0; r->exits && i < r->threads; i++)
    buf_free(&r->exits[i]);
  mem_free(r->exits);
  vm_free(r->vm);
  if (r->watchdog)
    watchdog_free(r->watchdog);
  if (r->errors)
    script_errors_free(r->errors);
  *r = (struct run_result){0};
}
