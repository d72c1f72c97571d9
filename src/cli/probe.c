#include "cli/probe.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/diagnose.h"
#include "cli/headers.h"
#include "cli/mask.h"
#include "cli/models.h"
#include "cli/preflight.h"
#include "core/run.h"
#include "net/certificate.h"
#include "net/fetch.h"
#include "script/scenario.h"
#include "script/vm.h"

/* How long each may take. */
#define NAME_NS    (10 * NS_PER_SEC)
#define CONNECT_NS (10 * NS_PER_SEC)
#define LOOK_NS    (15 * NS_PER_SEC)
#define REQUEST_NS (120 * NS_PER_SEC)
/* Longer silence is told, so that nobody thinks that stoke hangs. */
#define PATIENCE_NS (3 * NS_PER_SEC)
/* A stream that has run so long has shown all that it will show. */
#define ENOUGH_NS (15 * NS_PER_SEC)

enum { BODY_MAX = 64 << 10, ARRIVALS_MAX = 4096 };

/* An exchange while it is prepared, under way and told. */
struct look {
  const struct probe *probe;
  struct fetch_request r;
  struct fetch f;
  struct buf url;
  const struct request *request; /* NULL: not a request to the model */
  uint64_t *arrivals;
  size_t n_arrivals;
};

/* ---- the exchange ---- */

static void on_payload(uint64_t at_ns, void *ud)
{
  struct look *l = ud;
  if (l->n_arrivals < ARRIVALS_MAX)
    l->arrivals[l->n_arrivals++] = at_ns;
}

static void on_slow(void *ud)
{
  const struct look *l = ud;
  struct buf shown = {0};
  mask_url(&shown, buf_str(&l->url));
  log_line("waiting for the answer to %s %s", l->r.http.method,
           buf_cstr(&shown));
  buf_free(&shown);
}

static void look(struct look *l)
{
  l->r.net = config_net(&l->probe->options->config);
  if (!l->r.net.connect_timeout_ns || l->r.net.connect_timeout_ns > CONNECT_NS)
    l->r.net.connect_timeout_ns = CONNECT_NS;
  l->r.http.url = buf_cstr(&l->url);
  l->r.http.keep_headers = true;
  l->r.payload = on_payload;
  l->r.patience_ns = PATIENCE_NS;
  l->r.slow = on_slow;
  l->r.ud = l;
  l->arrivals = mem_zalloc(ARRIVALS_MAX, sizeof *l->arrivals);
  fetch_run(&l->f, &l->r);
}

static void look_free(struct look *l)
{
  fetch_free(&l->f);
  xfer_headers_unref(l->r.http.headers);
  buf_free(&l->url);
  mem_free(l->arrivals);
}

/* ---- its facts ---- */

static void write_text(struct json_writer *w, const char *key, const char *s)
{
  json_key(w, key);
  json_string(w, str_of(s));
}

static void write_lines(struct json_writer *w, const char *key, struct str all)
{
  json_key(w, key);
  json_begin_array(w);
  while (all.len) {
    struct str line = str_trim(str_split(&all, '\n'));
    if (line.len)
      json_string(w, line);
  }
  json_end_array(w);
}

static void write_seconds(struct json_writer *w, const char *key, uint64_t ns)
{
  json_key(w, key);
  json_number(w, ns_to_sec(ns));
}

static void write_times(struct json_writer *w, const struct fetch *f)
{
  const struct xfer_info *i = &f->info;
  json_key(w, "seconds");
  json_begin_object(w);
  if (f->counts.opened) {
    write_seconds(w, "name", f->counts.dns_ns);
    write_seconds(w, "connect", f->counts.connect_ns);
    write_seconds(w, "tls", f->counts.tls_ns);
  }
  if (i->headers_ns)
    write_seconds(w, "headers", ns_since(i->sent_ns, i->headers_ns));
  write_seconds(w, "total", ns_since(i->sent_ns, i->done_ns));
  json_end_object(w);
}

static void write_count(struct json_writer *w, const char *key, int64_t n)
{
  if (n < 0)
    return;
  json_key(w, key);
  json_integer(w, n);
}

static void write_stream(struct json_writer *w, const struct look *l)
{
  const struct wire_result *r = l->f.result;
  json_key(w, "streamed");
  json_boolean(w, r->streamed);
  json_key(w, "hung_up");
  json_boolean(w, l->f.hung_up);
  write_count(w, "pieces", l->f.pieces);
  write_text(w, "finish_reason", r->finish_reason);
  write_count(w, "prompt_tokens", r->usage.prompt_tokens);
  write_count(w, "completion_tokens", r->usage.completion_tokens);
  json_key(w, "arrivals");
  json_begin_array(w);
  for (size_t i = 0; i < l->n_arrivals; i++)
    json_number(w, ns_to_sec(ns_since(l->f.info.sent_ns, l->arrivals[i])));
  json_end_array(w);
}

static void write_body(struct json_writer *w, struct str body)
{
  json_key(w, "body");
  json_string(w,
              (struct str){body.p, body.len < BODY_MAX ? body.len : BODY_MAX});
}

static void write_hints(struct json_writer *w, const struct look *l,
                        const char *shown)
{
  const struct run_options *o = l->probe->options;
  const struct config *c = &o->config;
  const struct backend *b = l->request ? l->request->backend : NULL;
  struct buf lines = {0};
  struct trial t = {
      .method = l->r.http.method,
      .url = shown,
      .model = l->request ? c->model : NULL,
      .key_from = run_options_key_source(o),
      .proxy = c->proxy ? NULL : preflight_proxy(c->base_url),
      .default_url = options_source(&o->options, "url") == OPTION_DEFAULT,
      .outcome = l->f.outcome,
      .status = l->f.info.status,
      .message = l->f.message,
      .content_type = l->f.info.content_type,
      .location = l->f.info.location,
      .usage = -1,
      .models = l->probe->listed ? &l->probe->models : NULL,
  };
  struct str all;
  if (b && b->dialect)
    t.api = b->name;
  diagnose(&t, &lines);
  all = buf_str(&lines);
  if (l->f.outcome != OUTCOME_OK) { /* what happened is told apart */
    str_split(&all, '\n');
    str_split(&all, '\n');
    write_lines(w, "hints", all);
  }
  buf_free(&lines);
}

static void write_exchange(struct json_writer *w, const struct look *l)
{
  const struct xfer_info *i = &l->f.info;
  struct buf shown = {0};
  mask_url(&shown, buf_str(&l->url));
  write_text(w, "url", buf_cstr(&shown));
  write_text(w, "method", l->r.http.method);
  write_text(w, "outcome", outcome_name(l->f.outcome));
  write_text(w, "said", outcome_text(l->f.outcome));
  write_count(w, "status", i->status);
  write_text(w, "message", l->f.message);
  write_text(w, "content_type", i->content_type);
  write_text(w, "location", i->location);
  write_text(w, "peer", i->peer);
  write_text(w, "http", i->http_1_0 ? "1.0" : "1.1");
  write_lines(w, "headers", buf_str(&l->f.header_lines));
  write_times(w, &l->f);
  write_hints(w, l, buf_cstr(&shown));
  if (l->request)
    write_stream(w, l);
  else
    write_body(w, l->f.result->body);
  buf_free(&shown);
}

/* ---- questions ---- */

static void ask_name(const json_value *q, struct json_writer *w)
{
  struct buf addresses = {0};
  char error[128];
  uint64_t began = clock_ns();
  fetch_name(str_of(json_text(json_get(q, "host"))), NAME_NS, &addresses,
             error);
  write_seconds(w, "seconds", clock_ns() - began);
  write_lines(w, "addresses", buf_str(&addresses));
  write_text(w, "error", error);
  buf_free(&addresses);
}

static void ask_certificate(const struct probe *p, struct json_writer *w)
{
  const struct config *c = &p->options->config;
  struct net_config net = config_net(c);
  struct certificate found;
  certificate_look(&found, &net, c->base_url, LOOK_NS);
  write_lines(w, "lines", buf_str(&found.lines));
  write_count(w, "chain", found.chain);
  write_text(w, "error", found.error);
  certificate_free(&found);
}

/* The key where the API has it, and as a bearer's too: who guards the list of
 * models need not know the API. What -H says holds in any case. */
static struct xfer_headers *plain_headers(const struct look *l, struct err *e)
{
  const struct config *c = &l->probe->options->config;
  const struct backend *b =
      backends_of_endpoint(&l->probe->scenario->backends, c->endpoint);
  struct xfer_headers *h = config_headers(c, b, e);
  struct buf bearer = {0};
  if (c->api_key && b && b->key_header &&
      !headers_have(&c->headers, STR("Authorization"))) {
    buf_addf(&bearer, "Bearer %s", c->api_key);
    xfer_headers_set(h, STR("Authorization"), buf_str(&bearer), e);
    buf_free(&bearer);
  }
  return h;
}

/* Anything that is read as it stands. */
static void plain(struct look *l, const char *method, struct str body)
{
  struct err e = {0};
  l->r.http.method = method;
  l->r.http.body = body;
  l->r.http.total_ns = LOOK_NS;
  l->r.http.headers = plain_headers(l, &e);
  l->r.wire = (struct wire_config){.raw = true, .keep_body = true};
  look(l);
  err_free(&e);
}

static void ask_models(struct probe *p, struct json_writer *w)
{
  struct look l = {.probe = p};
  models_url(&p->options->config, &l.url);
  plain(&l, "GET", STR(""));
  if (l.f.outcome == OUTCOME_OK)
    p->listed = models_read(l.f.result->body, &p->models) == 0;
  write_exchange(w, &l);
  if (p->listed) {
    json_key(w, "ids");
    json_begin_array(w);
    for (size_t i = 0; i < p->models.n; i++)
      json_string(w, str_of(p->models.items[i]));
    json_end_array(w);
  }
  look_free(&l);
}

static void ask_path(const struct probe *p, const json_value *q,
                     struct json_writer *w)
{
  const struct config *c = &p->options->config;
  const char *body = json_text(json_get(q, "body"));
  struct look l = {.probe = p};
  buf_addf(&l.url, "%s%s%s", c->base_url, json_text(json_get(q, "path")),
           c->query);
  plain(&l, body ? "POST" : "GET", str_of(body));
  write_exchange(w, &l);
  look_free(&l);
}

static uint64_t within(uint64_t limit_ns)
{
  return limit_ns && limit_ns < REQUEST_NS ? limit_ns : REQUEST_NS;
}

static void send_request(const struct probe *p, const struct request *q,
                         struct json_writer *w)
{
  const struct config *c = &p->options->config;
  struct look l = {.probe = p, .request = q};
  struct err e = {0};
  struct xfer_headers *common = config_headers(c, q->backend, &e);
  l.r.http.headers = request_headers(q, c->base_url, common);
  if (l.r.http.headers)
    xfer_headers_unref(common);
  else
    l.r.http.headers = common;
  request_url(q, c->base_url, c->query, &l.url);
  l.r.http.method = "POST";
  l.r.http.body = buf_str(&q->body);
  l.r.http.first_ns = c->ttft_timeout_ns;
  l.r.http.idle_ns = c->idle_timeout_ns;
  l.r.http.total_ns = within(c->timeout_ns);
  l.r.wire.dialect = q->backend ? q->backend->dialect : NULL;
  l.r.wire.choices = q->choices;
  l.r.wire.raw = !l.r.wire.dialect;
  l.r.enough_ns = ENOUGH_NS;
  look(&l);
  write_exchange(w, &l);
  look_free(&l);
  err_free(&e);
}

/* A request of the scenario, made with what the question says. */
static void ask_request(struct probe *p, const json_value *q,
                        struct json_writer *w)
{
  struct config *c = &p->options->config;
  const char *model = json_text(json_get(q, "model"));
  const int64_t user_max = c->max_tokens;
  struct run_result made;
  struct request sample = {0};
  struct err e = {0};
  if (!c->model && model)
    c->model = mem_strdup(model);
  c->stream = json_true(json_get(q, "stream"));
  c->max_tokens = (int64_t)json_double(json_get(q, "max_tokens"), 1);
  if (run_prepare(c, p->scenario, &made, &e) == 0 &&
      vm_sample(made.vm, load_stage(&c->load, 0).label, &sample) == VM_OK)
    send_request(p, &sample, w);
  else
    write_text(w, "unmade",
               e.count   ? err_text(&e)
               : made.vm ? vm_error(made.vm)
                         : "");
  c->max_tokens = user_max;
  request_free(&sample);
  run_result_free(&made);
  err_free(&e);
}

void probe_ask(struct str question, struct buf *answer, void *ud)
{
  struct probe *p = ud;
  json_value *q = json_parse(question, NULL);
  struct str op = str_of(json_text(json_get(q, "op")));
  struct json_writer w = {.out = answer};
  json_begin_object(&w);
  if (str_eq(op, STR("name")))
    ask_name(q, &w);
  else if (str_eq(op, STR("certificate")))
    ask_certificate(p, &w);
  else if (str_eq(op, STR("models")))
    ask_models(p, &w);
  else if (str_eq(op, STR("request")))
    ask_request(p, q, &w);
  else
    ask_path(p, q, &w);
  json_end_object(&w);
  mask_known(answer, &p->options->secrets);
  json_free(q);
}

void probe_free(struct probe *p)
{
  if (p->scenario)
    scenario_free(p->scenario);
  option_list_free(&p->models);
}
