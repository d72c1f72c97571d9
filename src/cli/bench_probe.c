#include "cli/bench_probe.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/fetch.h"
#include "stats/sample.h"

/* A probe that takes longer has failed. */
#define LONGEST_NS (30 * NS_PER_SEC)

struct bench_probe {
  const struct config *config;
  const struct wire_dialect *dialect;
  struct buf url, body;
  uint64_t gap_ns;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t stopped;
  bool stop; /* under the lock */
  /* Of the thread, until it is joined. */
  double *ns;
  size_t n, cap;
  uint64_t failed;
};

/* ---- on its thread ---- */

static void keep(struct bench_probe *p, const struct fetch *f)
{
  const struct xfer_info *i = &f->info;
  /* A connection of its own is made each time; that is no part of it. */
  uint64_t from = i->connected_ns ? i->connected_ns : i->sent_ns;
  /* Its only token may be one without text. */
  if (f->outcome != OUTCOME_OK && f->outcome != OUTCOME_EMPTY) {
    p->failed++;
    return;
  }
  if (p->n == p->cap) {
    p->cap = p->cap ? 2 * p->cap : 64;
    p->ns = mem_resize(p->ns, p->cap, sizeof *p->ns);
  }
  p->ns[p->n++] = (double)ns_since(from, i->done_ns);
}

static void probe(struct bench_probe *p)
{
  struct err e = {0};
  struct fetch f;
  struct fetch_request r = {
      .net = config_net(p->config),
      .http = {.method = "POST",
               .url = buf_cstr(&p->url),
               .headers = config_headers(p->config, NULL, &e),
               .body = buf_str(&p->body),
               .total_ns = LONGEST_NS},
      .wire = {.dialect = p->dialect},
  };
  fetch_run(&f, &r);
  keep(p, &f);
  fetch_free(&f);
  xfer_headers_unref(r.http.headers);
  err_free(&e);
}

/* Until then, or until it is over. True: it is over. */
static bool wait_until(struct bench_probe *p, uint64_t due_ns)
{
  struct timespec t = {.tv_sec = (time_t)(due_ns / NS_PER_SEC),
                       .tv_nsec = (long)(due_ns % NS_PER_SEC)};
  bool stop;
  pthread_mutex_lock(&p->lock);
  while (!p->stop &&
         pthread_cond_timedwait(&p->stopped, &p->lock, &t) != ETIMEDOUT)
    ;
  stop = p->stop;
  pthread_mutex_unlock(&p->lock);
  return stop;
}

/* By the clock, not by the end of the one before: the rate is the asked one
 * as long as a probe takes less than a gap. */
static void *work(void *ud)
{
  struct bench_probe *p = ud;
  uint64_t due = clock_ns();
  do {
    probe(p);
    due += p->gap_ns;
    if (due < clock_ns())
      due = clock_ns();
  } while (!wait_until(p, due));
  return NULL;
}

/* ---- on the main thread ---- */

static bool make_body(struct buf *body, const char *model, const char *api)
{
  struct json_writer w = {.out = body};
  bool chat = strcmp(api, "chat") == 0;
  if (!chat && strcmp(api, "completions") != 0)
    return false;
  json_begin_object(&w);
  json_key(&w, "model");
  json_string(&w, str_of(model));
  json_key(&w, chat ? "messages" : "prompt");
  if (chat)
    json_raw(&w, STR("[{\"role\":\"user\",\"content\":\"Hi\"}]"));
  else
    json_string(&w, STR("Hi"));
  json_key(&w, chat ? "max_completion_tokens" : "max_tokens");
  json_integer(&w, 1);
  json_end_object(&w);
  return true;
}

static bool start_thread(struct bench_probe *p)
{
  pthread_condattr_t monotonic;
  sigset_t block, before;
  int rc;
  pthread_mutex_init(&p->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&p->stopped, &monotonic);
  pthread_condattr_destroy(&monotonic);
  /* Signals are the main thread's. */
  sigemptyset(&block);
  sigaddset(&block, SIGINT);
  sigaddset(&block, SIGTERM);
  sigaddset(&block, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  rc = pthread_create(&p->thread, NULL, work, p);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return rc == 0;
}

static void probe_free(struct bench_probe *p)
{
  buf_free(&p->url);
  buf_free(&p->body);
  mem_free(p->ns);
  mem_free(p);
}

struct bench_probe *bench_probe_start(const struct config *c,
                                      const struct request *sample,
                                      double per_second)
{
  struct bench_probe *p = mem_new(struct bench_probe);
  p->config = c;
  p->gap_ns = (uint64_t)fmin(1e9 / per_second, 1e18);
  if (sample && sample->backend)
    p->dialect = sample->backend->dialect;
  if (!p->dialect || !make_body(&p->body, c->model, sample->backend->name)) {
    probe_free(p);
    return NULL;
  }
  buf_addf(&p->url, "%s%.*s%s", c->base_url, STR_ARG(buf_str(&sample->path)),
           c->query);
  if (!start_thread(p)) {
    probe_free(p);
    return NULL;
  }
  return p;
}

void bench_probe_stop(struct bench_probe *p, struct probe_figures *out)
{
  pthread_mutex_lock(&p->lock);
  p->stop = true;
  pthread_cond_signal(&p->stopped);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
  sample_sort(p->ns, p->n);
  *out = (struct probe_figures){
      .completed = p->n,
      .failed = p->failed,
      .median_ms = sample_percentile(p->ns, p->n, 50) / 1e6,
      .p99_ms = sample_percentile(p->ns, p->n, 99) / 1e6,
      .max_ms = p->n ? p->ns[p->n - 1] / 1e6 : NAN,
  };
  probe_free(p);
}
