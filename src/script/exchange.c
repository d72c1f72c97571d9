#include "script/exchange.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "script/exchange_impl.h"

struct exchange_pool *exchange_pool_new(const struct exchange_config *c)
{
  struct exchange_pool *p = mem_new(struct exchange_pool);
  p->config = *c;
  p->unseen.lot = VM_EVENTS_FIRST;
  list_init(&p->busy);
  list_init(&p->idle);
  return p;
}

static void exchange_free(struct exchange *x)
{
  list_remove(&x->node);
  request_free(&x->request);
  wire_free(x->wire);
  mem_free(x->events);
  buf_free(&x->url);
  mem_free(x);
}

void exchange_pool_free(struct exchange_pool *p)
{
  struct list *node;
  if (!p)
    return;
  while ((node = list_pop(&p->busy)) || (node = list_pop(&p->idle)))
    exchange_free(LIST_ENTRY(node, struct exchange, node));
  buf_free(&p->unseen.own);
  buf_free(&p->unseen.plain);
  mem_free(p);
}

const struct exchange_live *exchange_live(const struct exchange_pool *p)
{
  return &p->live;
}

struct exchange *exchange_take(struct exchange_pool *p)
{
  struct list *node = list_pop(&p->idle);
  struct exchange *x;
  if (node)
    return LIST_ENTRY(node, struct exchange, node);
  x = mem_new(struct exchange);
  x->pool = p;
  x->wire = wire_new();
  return x;
}

struct request *exchange_slot(struct exchange *x)
{
  return &x->request;
}

void exchange_drop(struct exchange *x)
{
  request_reset(&x->request);
  list_append(&x->pool->idle, &x->node);
}

/* ---- what arrives ---- */

static void add_event(struct exchange *x, const struct wire_payload *p)
{
  struct record *r = &x->record;
  int64_t tokens = 0;
  if (p->completion_tokens > x->told_tokens) {
    tokens = p->completion_tokens - x->told_tokens;
    x->told_tokens = p->completion_tokens;
  }
  if (r->n_events == x->events_cap) {
    x->events_cap = x->events_cap ? 2 * x->events_cap : 64;
    x->events = mem_resize(x->events, x->events_cap, sizeof *x->events);
    r->events = x->events;
  }
  x->events[r->n_events++] =
      record_event_make(r->sent_ns, x->arrival_ns, p->choice, tokens);
}

/* The client that hangs up: cancel_after of the request. */
static bool enough(const struct exchange *x)
{
  const struct request *q = &x->request;
  return q->cancel_after_tokens && x->record.chunks >= q->cancel_after_tokens;
}

static void fill_transport(struct record *r, const struct xfer_info *i)
{
  r->sent_ns = i->sent_ns;
  r->connected_ns = i->connected_ns;
  r->written_ns = i->written_ns;
  r->headers_ns = i->headers_ns;
  r->first_byte_ns = i->first_byte_ns;
  r->done_ns = i->done_ns;
  r->status = i->status;
  r->reused = i->reused;
  r->attempts = 1 + i->retries;
  r->bytes_in = i->bytes_in;
  r->bytes_out = i->bytes_out;
  r->retry_after_s = i->retry_after_s;
  r->content_type = i->content_type;
}

static void on_first(struct exchange *x)
{
  fill_transport(&x->record, xfer_info(x->xfer));
  x->record.streamed = true;
  x->record.first_token_ns = x->arrival_ns;
  xfer_first_token(x->xfer);
  if (x->hooked)
    x->first_waits = true;
  else if (x->first)
    x->first(x->ud);
}

int exchange_add_payload(struct exchange *x, const struct wire_payload *p)
{
  struct record *r = &x->record;
  r->chunks++;
  x->pool->live.tokens++;
  if (!r->first_token_ns)
    on_first(x);
  if (!r->first_answer_ns && p->fields & ~(1u << WIRE_REASONING))
    r->first_answer_ns = x->arrival_ns;
  r->last_token_ns = x->arrival_ns;
  add_event(x, p);
  x->hung_up = enough(x);
  return x->hung_up;
}

int exchange_on_payload(const struct wire_payload *p, void *ud)
{
  return exchange_add_plainly(ud, p) ? 0 : exchange_add_payload(ud, p);
}

static void on_hollow(void *ud)
{
  struct exchange *x = ud;
  struct record *r = &x->record;
  if (r->first_token_ns)
    r->finish_ns = x->arrival_ns;
  else if (!r->role_ns)
    r->role_ns = x->arrival_ns;
}

static void on_headers(struct xfer *xf, void *ud)
{
  struct exchange *x = ud;
  const struct xfer_info *i = xfer_info(xf);
  wire_head(x->wire, i->status, str_of(i->content_type));
}

static int on_data(struct xfer *xf, const char *p, size_t len, uint64_t at_ns,
                   void *ud)
{
  struct exchange *x = ud;
  int stop;
  x->arrival_ns = at_ns;
  stop = wire_feed(x->wire, p, len);
  if (wire_ended(x->wire))
    xfer_answered(xf);
  return stop;
}

/* ---- the end ---- */

static void fill_tokens(struct record *r, const struct wire_result *w)
{
  r->tokens = w->usage.completion_tokens;
  r->token_source = TOKENS_USAGE;
  if (r->tokens < 0 || (r->tokens == 0 && r->chunks)) {
    bool counted = w->streamed && r->chunks;
    r->tokens = counted ? (int64_t)r->chunks : TOKENS_UNKNOWN;
    r->token_source = counted ? TOKENS_CHUNKS : TOKENS_NONE;
  }
  r->prompt_tokens = w->usage.prompt_tokens;
  r->prompt_token_source = TOKENS_USAGE;
  if (r->prompt_tokens < 0) {
    r->prompt_tokens = r->planned_prompt_tokens;
    r->prompt_token_source =
        r->prompt_tokens < 0 ? TOKENS_NONE : TOKENS_PLANNED;
  }
  r->cached_tokens = w->usage.cached_tokens;
  if (w->usage.prompt_tokens >= 0 && r->cached_tokens > r->prompt_tokens)
    r->cached_tokens = r->prompt_tokens; /* no more than all of them */
  r->reasoning_tokens = w->usage.reasoning_tokens;
}

static void fill_message(struct exchange *x, const struct xfer_info *i,
                         const struct wire_result *w)
{
  struct record *r = &x->record;
  const char *text =
      r->outcome == w->outcome && w->message[0] ? w->message : i->message;
  r->message = x->message;
  if (x->script_failed)
    return; /* the script's words are there already */
  if (x->hung_up)
    text = "the scenario hung up";
  if (r->outcome == OUTCOME_OK)
    text = "";
  if (r->outcome == OUTCOME_REDIRECT)
    snprintf(x->message, sizeof x->message, "redirect %d -> %s", i->status,
             i->location[0] ? i->location : "(no Location)");
  else
    snprintf(x->message, sizeof x->message, "%s", text);
}

static void on_done(struct xfer *xf, void *ud)
{
  struct exchange *x = ud;
  struct record *r = &x->record;
  const struct xfer_info *i = xfer_info(xf);
  const struct wire_result *w;
  x->ending = true;
  wire_end(x->wire, i->outcome == OUTCOME_OK);
  assert(x->pool->unseen.of != x);
  w = wire_result(x->wire);
  fill_transport(r, i);
  r->streamed = w->streamed;
  r->refusals = w->refusals;
  r->outcome = wire_outcome(w, i->outcome, i->status);
  /* Whoever waits for a connection hangs up as well. */
  if (x->hangs_up && (r->outcome == OUTCOME_TIMEOUT_TOTAL ||
                      (r->outcome == OUTCOME_TIMEOUT_CONNECT &&
                       r->done_ns - r->sent_ns >= x->request.cancel_after_ns)))
    x->hung_up = true;
  if (x->hung_up)
    r->outcome = OUTCOME_CANCELLED;
  if (x->script_failed)
    r->outcome = OUTCOME_SCRIPT;
  snprintf(r->finish_reason, sizeof r->finish_reason, "%s", w->finish_reason);
  r->text = w->text;
  fill_tokens(r, w);
  fill_message(x, i, w);
  x->done(x, x->ud);
  x->xfer = NULL;
  list_remove(&x->node);
  exchange_drop(x);
}

static const struct xfer_ops exchange_ops = {
    .headers = on_headers, .data = on_data, .done = on_done};
static const struct xfer_ops hooked_ops = {.headers = on_headers,
                                           .data = on_data,
                                           .read_over = exchange_read_over,
                                           .done = on_done};

/* ---- the start ---- */

static void start_record(struct exchange *x, const struct exchange_plan *plan)
{
  struct request *q = &x->request;
  x->record = (struct record){
      .id = plan->id,
      .session = plan->session,
      .turn = plan->turn,
      .branch = plan->branch,
      .phase = plan->phase,
      .stage = plan->stage,
      .due_ns = plan->due_ns,
      .capped = plan->capped,
      .tokens = TOKENS_UNKNOWN,
      .prompt_tokens = TOKENS_UNKNOWN,
      .cached_tokens = TOKENS_UNKNOWN,
      .reasoning_tokens = TOKENS_UNKNOWN,
      .planned_prompt_tokens = q->planned_prompt_tokens,
      .audio_ns = q->audio_ns,
      .retry_after_s = -1,
      .stream_asked = q->stream,
      .events = x->events,
      .message = "",
      .tags = buf_cstr(&q->tags),
      .http = q->http.len ? buf_cstr(&q->http) : NULL,
      .slo_ttft_ns = q->slo_ttft_ns,
      .slo_tpot_ns = q->slo_tpot_ns,
      .slo_e2el_ns = q->slo_e2el_ns,
  };
  x->told_tokens = 0;
  x->arrival_ns = 0;
  x->hooked = !q->http.len &&
              (x->pool->config.on_first_token || x->pool->config.on_chunk);
  x->script_failed = x->hung_up = x->first_waits = x->ending = false;
  x->text_end = x->reasoning_end = 0;
  x->joiner = (struct joiner){0};
}

static uint64_t limit(uint64_t own_ns, uint64_t otherwise_ns)
{
  return own_ns ? own_ns : otherwise_ns;
}

/* Those of all requests like this one. */
static struct xfer_headers *common_headers(const struct exchange *x)
{
  const struct exchange_config *c = &x->pool->config;
  const struct backend *b = x->request.backend;
  struct xfer_headers *own =
      b && c->backend_headers ? c->backend_headers[b->place] : NULL;
  return own ? own : c->headers;
}

/* The earlier of the request's deadline and the moment at which its user
 * hangs up. */
static uint64_t total_limit(struct exchange *x)
{
  const struct request *q = &x->request;
  uint64_t total = limit(q->timeout_ns, x->pool->config.timeout_ns);
  x->hangs_up = q->cancel_after_ns && (!total || q->cancel_after_ns < total);
  return x->hangs_up ? q->cancel_after_ns : total;
}

/* Of embeddings and the like, an answer is its body. */
static bool body_is_answer(const struct request *q)
{
  return q->backend && q->backend->dialect &&
         !wire_dialect_has_payload(q->backend->dialect);
}

static struct wire_config wire_config(const struct exchange *x)
{
  const struct request *q = &x->request;
  bool keep = x->pool->config.keep_text;
  return (struct wire_config){
      .dialect = q->backend ? q->backend->dialect : NULL,
      .choices = q->choices,
      .keep_text = keep || x->hooked,
      .keep_tools = keep,
      .keep_body = q->keep_body || (keep && body_is_answer(q)),
      .max_text = x->pool->config.max_answer,
      .settle = x->hooked ? exchange_settle : NULL,
      .raw = !q->backend || !q->backend->dialect,
      .hollow = on_hollow,
  };
}

void exchange_start(struct exchange *x, const struct exchange_plan *plan,
                    void (*first)(void *ud), exchange_done_cb *done, void *ud)
{
  struct exchange_pool *p = x->pool;
  struct request *q = &x->request;
  struct xfer_headers *own =
      request_headers(q, p->config.base_url, common_headers(x));
  struct wire_config wc;
  struct xfer_request xr = {
      .method = q->method[0] ? q->method : "POST",
      .headers = own ? own : common_headers(x),
      .body = buf_str(&q->body),
      .first_ns = q->http.len
                      ? 0
                      : limit(q->ttft_timeout_ns, p->config.ttft_timeout_ns),
      .idle_ns = limit(q->idle_timeout_ns, p->config.idle_timeout_ns),
      .total_ns = total_limit(x),
  };
  char id[80];
  if (p->config.request_id_prefix && !q->http.len) {
    /* The warm-up counts by itself: no id may come twice. */
    snprintf(id, sizeof id, "%s%s%llu", p->config.request_id_prefix,
             plan->phase == PHASE_WARMUP ? "w" : "",
             (unsigned long long)plan->id);
    xr.request_id = id;
  }
  buf_reset(&x->url);
  request_url(q, p->config.base_url, p->config.query, &x->url);
  xr.url = buf_cstr(&x->url);
  start_record(x, plan);
  xr.keep_headers = p->config.keep_text || x->hooked;
  wc = wire_config(x);
  wire_start(x->wire, &wc,
             x->hooked ? exchange_on_hooked_payload : exchange_on_payload, x);
  x->first = first;
  x->done = done;
  x->ud = ud;
  list_append(&p->busy, &x->node);
  if (!q->http.len && p->live.sent++ == 0)
    p->live.backend = q->backend;
  x->xfer = xfer_start(p->config.net, &xr,
                       x->hooked ? &hooked_ops : &exchange_ops, x);
  xfer_headers_unref(own);
}

void exchange_cancel(struct exchange *x, enum outcome o, const char *why)
{
  if (x->xfer)
    xfer_cancel(x->xfer, o, why);
}

void exchange_cancel_all(struct exchange_pool *p, const char *why)
{
  for (struct list *n = p->busy.next; n != &p->busy; n = n->next)
    exchange_cancel(LIST_ENTRY(n, struct exchange, node), OUTCOME_CANCELLED,
                    why);
}

struct record *exchange_record(struct exchange *x)
{
  return &x->record;
}

const struct wire_result *exchange_result(const struct exchange *x)
{
  return wire_result(x->wire);
}

struct str exchange_header_lines(const struct exchange *x)
{
  return xfer_header_lines(x->xfer);
}
