#include "cli/preflight.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/diagnose.h"
#include "cli/mask.h"
#include "cli/models.h"
#include "net/fetch.h"
#include "net/origin.h"

/* A stream that has run so long after its first token works. */
#define ENOUGH_NS (2 * NS_PER_SEC)
/* A server that takes longer for a connection is not there. */
#define CONNECT_NS (10 * NS_PER_SEC)
/* Longer silence is told, so that nobody thinks that stoke hangs … */
#define PATIENCE_NS (3 * NS_PER_SEC)
/* … and longer waiting is left to the run itself. */
#define LONGEST_NS (120 * NS_PER_SEC)
/* Between two tries of a server that is not there yet. */
#define PAUSE_NS NS_PER_SEC

/* ---- proxies ---- */

const char *preflight_proxy(const char *url)
{
  /* Those that proxy_for looks at. */
  static const char *const names[] = {"http_proxy", "https_proxy",
                                      "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
  struct origin o;
  const char *proxy =
      origin_parse(str_of(url), &o) == 0 ? proxy_for(NULL, &o) : NULL;
  for (size_t i = 0; proxy && i < sizeof names / sizeof *names; i++)
    if (getenv(names[i]) == proxy)
      return names[i];
  return NULL;
}

/* ---- the request ---- */

static struct xfer_headers *all_headers(const struct preflight *p,
                                        struct err *e)
{
  struct xfer_headers *common =
      config_headers(p->config, p->request->backend, e);
  struct xfer_headers *own = xfer_headers_copy(common);
  struct str lines = buf_str(&p->request->headers);
  while (lines.len) {
    struct str value = str_split(&lines, '\n');
    struct str name = str_split(&value, ':');
    xfer_headers_set(own, name, str_trim(value), e);
  }
  xfer_headers_unref(common);
  return own;
}

static void on_slow(void *ud)
{
  log_line("waiting for the answer to a pre-flight request (POST %s)",
           (const char *)ud);
}

static uint64_t shortest(uint64_t ns)
{
  return ns && ns < LONGEST_NS ? ns : LONGEST_NS;
}

static uint64_t limit_of(const struct preflight *p)
{
  const struct request *q = p->request;
  return shortest(q->timeout_ns ? q->timeout_ns : p->config->timeout_ns);
}

static void ask(const struct preflight *p, const char *url, char *shown,
                uint64_t total_ns, struct fetch *f)
{
  const struct config *c = p->config;
  const struct request *q = p->request;
  struct err e = {0};
  struct fetch_request r = {
      .net = config_net(c),
      .http = {.method = "POST",
               .url = url,
               .headers = all_headers(p, &e),
               .body = buf_str(&q->body),
               .first_ns = c->ttft_timeout_ns,
               .idle_ns = c->idle_timeout_ns,
               .total_ns = total_ns},
      .wire = {.dialect = q->backend ? q->backend->dialect : NULL,
               .choices = q->choices,
               .raw = !q->backend || !q->backend->dialect},
      .enough_ns = ENOUGH_NS,
      .patience_ns = PATIENCE_NS,
      .slow = on_slow,
      .ud = shown,
  };
  if (!r.net.connect_timeout_ns || r.net.connect_timeout_ns > CONNECT_NS)
    r.net.connect_timeout_ns = CONNECT_NS;
  fetch_run(f, &r);
  xfer_headers_unref(r.http.headers);
  err_free(&e);
}

/* ---- the verdict ---- */

static enum diagnosis judge(const struct preflight *p, const char *shown,
                            const struct fetch *f, struct buf *lines)
{
  const struct config *c = p->config;
  const struct backend *b = p->request->backend;
  struct option_list models = {0};
  struct trial t = {
      .url = shown,
      .model = c->model,
      .key_from = p->key_from,
      .proxy = c->proxy ? NULL : preflight_proxy(c->base_url),
      .default_url = p->default_url,
      .stream_asked = p->request->stream,
      .outcome = f->outcome,
      .status = f->info.status,
      .message = f->message,
      .content_type = f->info.content_type,
      .location = f->info.location,
      .streamed = f->result->streamed,
      .hung_up = f->hung_up,
      .usage = f->result->usage.completion_tokens,
  };
  enum diagnosis d;
  if (b && b->dialect) {
    t.api = b->name;
    t.pooling = !wire_dialect_has_payload(b->dialect);
  }
  if (diagnose_wants_models(&t) && models_list(c, &models, NULL) == 0)
    t.models = &models;
  d = diagnose(&t, lines);
  option_list_free(&models);
  return d;
}

int preflight_run(const struct preflight *p)
{
  const struct config *c = p->config;
  struct buf url = {0}, shown = {0}, lines = {0};
  struct fetch f;
  enum diagnosis d;
  buf_addf(&url, "%s%.*s%s", c->base_url, STR_ARG(buf_str(&p->request->path)),
           c->query);
  mask_url(&shown, buf_str(&url));
  ask(p, buf_cstr(&url), (char *)buf_cstr(&shown), limit_of(p), &f);
  d = judge(p, buf_cstr(&shown), &f, &lines);
  if (d != DIAGNOSIS_FINE || !p->quiet)
    diagnosis_say("pre-flight: ", &lines, p->secrets);
  if (d == DIAGNOSIS_DOUBTFUL)
    log_line("pre-flight: this may pass, so the run goes on");
  if (d == DIAGNOSIS_HOPELESS)
    log_line("pre-flight: every request would end like this, so none was "
             "sent (--no-preflight sends them all the same)");
  fetch_free(&f);
  buf_free(&url);
  buf_free(&shown);
  buf_free(&lines);
  return d == DIAGNOSIS_HOPELESS ? -1 : 0;
}

/* ---- until it is there ---- */

/* A server that is only starting refuses, says 503, or does not know the
 * model yet. What it says about key and body holds. */
static bool may_pass(const struct fetch *f)
{
  return f->outcome != OUTCOME_AUTH && f->outcome != OUTCOME_UNPROCESSABLE &&
         f->outcome != OUTCOME_CONTEXT_LENGTH && f->outcome != OUTCOME_TLS;
}

static void rest(uint64_t until_ns)
{
  uint64_t left = ns_since(clock_ns(), until_ns);
  struct timespec t;
  if (left > PAUSE_NS)
    left = PAUSE_NS;
  t = (struct timespec){.tv_sec = (time_t)(left / NS_PER_SEC),
                        .tv_nsec = (long)(left % NS_PER_SEC)};
  nanosleep(&t, NULL);
}

int preflight_wait(const struct preflight *p, uint64_t timeout_ns)
{
  uint64_t end = clock_ns() + timeout_ns, left;
  struct buf url = {0}, shown = {0}, lines = {0};
  bool fine = false, over = false;
  buf_addf(&url, "%s%.*s%s", p->config->base_url,
           STR_ARG(buf_str(&p->request->path)), p->config->query);
  mask_url(&shown, buf_str(&url));
  while (!fine && !over) {
    struct fetch f;
    left = ns_since(clock_ns(), end);
    ask(p, buf_cstr(&url), (char *)buf_cstr(&shown), left ? left : 1, &f);
    fine = f.outcome == OUTCOME_OK;
    over = !may_pass(&f) || clock_ns() >= end;
    buf_reset(&lines);
    if (!fine)
      judge(p, buf_cstr(&shown), &f, &lines);
    fetch_free(&f);
    if (!fine && !over) {
      rest(end);
      over = clock_ns() >= end; /* no time is left to learn more in */
    }
  }
  if (!fine)
    diagnosis_say("pre-flight: ", &lines, p->secrets);
  buf_free(&url);
  buf_free(&shown);
  buf_free(&lines);
  return fine ? 0 : -1;
}

/* ---- the model ---- */

/* The server did not say: what it said instead, and what to do. */
static bool explain_no_list(const struct preflight *p,
                            const struct models_answer *a, struct err *e)
{
  const struct config *c = p->config;
  struct buf lines = {0}, url = a->url;
  struct trial t = {
      .method = "GET",
      .url = buf_cstr(&url),
      .key_from = p->key_from,
      .proxy = c->proxy ? NULL : preflight_proxy(c->base_url),
      .default_url = p->default_url,
      .outcome = a->outcome == OUTCOME_OK ? OUTCOME_NOT_JSON : a->outcome,
      .status = a->status,
      .message = a->message,
      .content_type = a->content_type,
      .location = a->location,
  };
  struct str all;
  diagnose(&t, &lines);
  mask_known(&lines, p->secrets);
  all = str_trim(buf_str(&lines));
  err_add(e, "--model: nobody named one, and the server does not say what it "
             "has");
  while (all.p) {
    struct str line = str_split(&all, '\n');
    err_add(e, "%.*s", STR_ARG(line));
  }
  buf_free(&lines);
  /* A server without a list may still answer to a name. */
  return a->outcome != OUTCOME_NOT_FOUND && a->outcome != OUTCOME_OK;
}

static void explain_choice(const struct option_list *ids, struct err *e)
{
  enum { SHOWN = 20 };
  struct buf text = {0};
  for (size_t i = 0; i < ids->n && i < SHOWN; i++)
    buf_addf(&text, "%s%s", i ? ", " : "", ids->items[i]);
  if (ids->n == 0)
    err_add(e, "--model: nobody named one, and the server lists none");
  else
    err_add(e, "--model: choose one; the server has %zu: %s%s", ids->n,
            buf_cstr(&text), ids->n > SHOWN ? ", ..." : "");
  buf_free(&text);
}

char *preflight_model(const struct preflight *p, bool *hopeless, struct err *e)
{
  struct option_list ids = {0};
  struct models_answer answer = {0};
  char *model = NULL;
  *hopeless = false;
  if (models_list(p->config, &ids, &answer) < 0)
    *hopeless = explain_no_list(p, &answer, e);
  else if (ids.n == 1 || (ids.n && p->first_model))
    model = mem_strdup(ids.items[0]);
  else
    explain_choice(&ids, e);
  option_list_free(&ids);
  buf_free(&answer.url);
  return model;
}
