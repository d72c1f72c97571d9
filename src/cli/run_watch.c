#include "cli/run_watch.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/limits.h"
#include "cli/mask.h"

/* ---- on the workers' threads ---- */

/* Some servers say in their errors which key they were sent. */
static void add_masked(struct requests_out *out, const struct record *r,
                       const struct option_list *secrets)
{
  struct record shown = *r;
  struct buf message = {0};
  buf_adds(&message, r->message);
  mask_known(&message, secrets);
  shown.message = buf_cstr(&message);
  requests_out_add(out, &shown, r->done_ns);
  buf_free(&message);
}

static void on_record(unsigned worker, const struct record *r, void *ud)
{
  struct run_watch *w = ud;
  struct requests_out *out = &w->writers[worker];
  if (w->front->record)
    w->front->record(worker, r, w->front->ud);
  if (w->fd < 0)
    return;
  if (!out->epoch_ns)
    requests_out_init(out, w->fd, w->result->began_ns);
  if (r->message && r->message[0])
    add_masked(out, r, &w->options->secrets);
  else
    requests_out_add(out, r, r->done_ns);
}

static void on_flush(unsigned worker, void *ud)
{
  struct run_watch *w = ud;
  if (w->fd >= 0 && w->writers[worker].epoch_ns)
    requests_out_tick(&w->writers[worker], clock_ns());
}

/* ---- on the main thread ---- */

/* How much of the measured phase is behind us, by whichever bound is nearer;
 * NaN when there is none. */
static double share_done(const struct load *load, const struct run_progress *p,
                         uint64_t ended)
{
  double by_time = load->duration_ns
                       ? (double)p->elapsed_ns / (double)load->duration_ns
                       : NAN;
  double by_count =
      load->num_requests ? (double)ended / (double)load->num_requests : NAN;
  double share = fmax(by_time, by_count);
  return share > 1 ? 1 : share;
}

static void on_progress(const struct run_progress *p, void *ud)
{
  struct run_watch *w = ud;
  const struct progress *c = p->progress;
  uint64_t ended = c->done + c->failed + c->cancelled;
  struct snapshot s = {
      .phase = p->warmup     ? "warm-up"
               : p->draining ? "drain"
                             : "measure",
      .elapsed_s = ns_to_sec(p->elapsed_ns),
      .share = NAN,
      .eta_s = NAN,
      .sent = c->sent,
      .in_flight = c->sent > ended ? c->sent - ended : 0,
      .done = c->done,
      .failed = c->failed,
      .request_rate = p->request_rate,
      .token_rate = p->token_rate,
      .ttft_p50_ms = progress_ttft_ms(c, 50),
      .ttft_p99_ms = progress_ttft_ms(c, 99),
  };
  if (!p->warmup)
    s.share = share_done(&w->options->config.load, p, ended);
  if (s.share > 0)
    s.eta_s = s.elapsed_s / s.share - s.elapsed_s;
  live_update(w->live, &s);
  if (limits_open_files() > w->open_files)
    w->open_files = limits_open_files();
}

/* ---- life ---- */

int run_watch_open(struct run_watch *w, const struct run_options *o,
                   const struct run_result *result,
                   const struct run_front *front, struct err *e)
{
  unsigned threads = o->config.threads ? o->config.threads : 1;
  *w = (struct run_watch){
      .options = o,
      .front = front,
      .result = result,
      .fd = -1,
      .n_writers = threads,
      .writers = mem_zalloc(threads, sizeof *w->writers),
      .live = live_new(STDERR_FILENO,
                       live_mode(STDERR_FILENO, o->quiet || o->no_live)),
  };
  if (o->requests_out)
    w->fd = requests_out_open(o->requests_out, o->force, e);
  return o->requests_out && w->fd < 0 ? -1 : 0;
}

static void on_measuring(void *ud)
{
  struct run_watch *w = ud;
  if (w->front->measuring)
    w->front->measuring(w->front->ud);
}

struct run_callbacks run_watch_callbacks(struct run_watch *w)
{
  return (struct run_callbacks){.record = on_record,
                                .flush = on_flush,
                                .progress = on_progress,
                                .measuring = on_measuring,
                                .ud = w};
}

int run_watch_close(struct run_watch *w, struct err *e)
{
  uint64_t dropped = 0;
  int error = 0;
  live_free(w->live);
  for (unsigned i = 0; i < w->n_writers; i++) {
    if (!w->writers[i].epoch_ns)
      continue;
    requests_out_deinit(&w->writers[i]);
    dropped += w->writers[i].dropped;
    error = error ? error : w->writers[i].error;
  }
  mem_free(w->writers);
  if (w->fd > STDERR_FILENO)
    close(w->fd);
  w->writers = NULL;
  w->live = NULL;
  w->n_writers = 0;
  if (!error)
    return 0;
  return err_add(e, "%s: %s; %llu lines are lost", w->options->requests_out,
                 strerror(error), (unsigned long long)dropped);
}
