/* How an answer begins, and what all kinds of answers have in common: head,
 * whole body, scripted bytes, end. */
#include "base/clock.h"
#include "base/mem.h"
#include "mock/head.h"
#include "mock/server.h"

/* ---- head ---- */

static struct str type_of(const struct mock_exchange *x)
{
  if (x->plan.content_type.len)
    return x->plan.content_type;
  if (x->fixed)
    return x->content_type;
  if (x->record.stream && MOCK_IS_NDJSON(x->ask.api))
    return STR("application/x-ndjson");
  return x->record.stream ? STR("text/event-stream; charset=utf-8")
                          : STR("application/json");
}

/* An answer in one piece has no event to put an error into. */
static void make_failure(struct mock_exchange *x)
{
  x->status = 500;
  x->record.end = "error";
  x->fixed = true;
  x->content_type = STR("application/json");
  mock_reply_failure(500, "EngineCore died", NULL, &x->body);
}

static void make_body(struct mock_exchange *x)
{
  struct mock_usage u;
  if (x->fixed)
    return;
  buf_reset(&x->body);
  if (x->plan.error_at >= 0) {
    make_failure(x);
    return;
  }
  x->record.tokens = x->record.planned_tokens;
  if (!MOCK_IS_OPENAI(x->ask.api)) {
    struct mock_foreign f = mock_stream_foreign(x);
    f.scratch = &x->body;
    mock_foreign_body(&f, &x->ask);
    return;
  }
  u = mock_exchange_usage(x);
  mock_reply_body(&x->reply, x->contents, x->choices, x->finish,
                  x->plan.no_usage ? NULL : &u, &x->body);
}

static void act_head(struct mock_exchange *x)
{
  struct mock_head h = {.framing = MOCK_CHUNKED,
                        .retry_after = x->plan.retry_after,
                        .location = x->plan.location,
                        .close = x->close};
  if (x->after_head == MOCK_BODY) {
    make_body(x);
    h.length = x->body.len;
    /* Nobody knows how long it will be when it is compressed. */
    h.framing = x->plan.encoding == MOCK_IDENTITY ? MOCK_LENGTH : MOCK_CHUNKED;
  }
  h.status = x->status;
  h.content_type = type_of(x);
  if (x->plan.not_chunked ||
      (h.framing == MOCK_CHUNKED && x->conn->http.parser.http_minor == 0)) {
    h.framing = MOCK_TO_CLOSE;
    h.close = x->close = true;
  }
  if (x->plan.encoding != MOCK_IDENTITY)
    h.encoding = x->plan.encoding == MOCK_GZIP ? "gzip" : "br";
  if (x->plan.early_hints)
    buf_adds(x->out, "HTTP/1.1 103 Early Hints\r\nlink: </mock>\r\n\r\n");
  mock_head_write(&h, clock_wall_ns(), x->out);
  mock_pipe_begin(&x->pipe, &x->plan, h.framing == MOCK_CHUNKED);
  x->close |= x->plan.close_after;
  x->record.status = x->status;
  x->record.headers_ns = clock_ns();
}

/* When the next scripted event is due: its first item, in ms. */
static uint64_t script_due(const struct mock_exchange *x)
{
  double ms = json_double(json_first(x->script), 0);
  return x->base + (ms > 0 && ms < 1e9 ? (uint64_t)(ms * 1e6) : 0);
}

static void after_head(struct mock_exchange *x)
{
  uint64_t role_due = x->first_due;
  switch (x->after_head) {
  case MOCK_ROLE:
    if (x->plan.early_role_ns != MOCK_NEVER)
      role_due = x->base + x->plan.early_role_ns;
    mock_exchange_go(x, MOCK_ROLE, mock_later(role_due, x->due));
    break;
  case MOCK_SCRIPT:
    mock_exchange_go(x, MOCK_SCRIPT, mock_later(script_due(x), x->due));
    break;
  default: mock_exchange_go(x, x->after_head, x->due); break;
  }
}

static void act_body(struct mock_exchange *x)
{
  if (!x->fixed && x->plan.cut_at >= 0) {
    mock_exchange_cut(x, x->plan.cut_reset);
    return;
  }
  x->fresh += !x->fixed;
  if (x->body.len)
    mock_pipe_put(&x->pipe, buf_str(&x->body), x->out);
  mock_exchange_made(x);
}

static void act_script(struct mock_exchange *x)
{
  const json_value *bytes = json_next(json_first(x->script));
  const char *text = json_text(bytes);
  if (!text) {
    mock_exchange_cut(x, !json_is_null(bytes));
    return;
  }
  x->fresh++;
  mock_pipe_put(&x->pipe, str_of(text), x->out);
  mock_exchange_flush(x);
  x->script = json_next(x->script);
  if (x->script)
    x->due = script_due(x);
  else
    mock_exchange_made(x);
}

static void act_end(struct mock_exchange *x)
{
  if (mock_pipe_holds(&x->pipe)) {
    x->due = mock_later(x->pipe.due, x->due + 1);
    return;
  }
  mock_pipe_end(&x->pipe, x->out);
  mock_engine_leave(&x->conn->m->engine, &x->job);
  mock_exchange_go(x, MOCK_DRAIN, MOCK_NEVER);
}

void mock_act(struct mock_exchange *x, uint64_t now)
{
  if (mock_stream_act(x, now))
    return;
  switch (x->state) {
  case MOCK_HEAD:
    act_head(x);
    after_head(x);
    break;
  case MOCK_SCRIPT: act_script(x); break;
  case MOCK_BODY: act_body(x); break;
  case MOCK_END: act_end(x); break;
  default: x->due = MOCK_NEVER; break; /* nothing is ever due */
  }
}

/* ---- begun by the engine ---- */

static void make_contents(struct mock_exchange *x)
{
  uint64_t seed =
      mock_hash(x->conn->m->config.seed, buf_str(&x->conn->http.body));
  if (x->contents_cap < x->choices) {
    x->contents_cap = x->choices;
    x->contents = mem_resize(x->contents, x->choices, sizeof *x->contents);
  }
  for (uint64_t i = 0; i < x->choices; i++)
    mock_content_init(&x->contents[i], &x->plan, seed + i,
                      x->record.planned_tokens / x->choices, x->ask.chat);
  x->events = x->contents[0].events;
}

/* All actions up to the end, at once, into a page. */
static void fill_page(struct mock_exchange *x, struct mock_page *page)
{
  x->out = &page->bytes;
  while (x->state != MOCK_DRAIN)
    mock_act(x, x->due);
  page->events = x->fresh;
  x->out = &x->conn->out;
}

/* Send the prepared answer to such a request, if one can be kept. */
static void start_page(struct mock_exchange *x)
{
  struct mock_page *page =
      mock_blast_page(&x->conn->m->blast, &x->ask, x->record.planned_tokens,
                      x->record.cached_tokens);
  if (!page)
    return;
  if (!page->bytes.len)
    fill_page(x, page);
  x->conn->page = buf_str(&page->bytes);
  x->record.tokens = x->record.planned_tokens;
  x->record.status = x->status;
  x->record.headers_ns = clock_ns();
  x->fresh = page->events;
  mock_engine_leave(&x->conn->m->engine, &x->job);
  mock_exchange_go(x, MOCK_DRAIN, MOCK_NEVER);
}

/* All tokens of an answer in one piece are there at `at`. */
static void answer_whole(struct mock_exchange *x, uint64_t at)
{
  uint64_t due = at + x->plan.slow_headers_ns;
  if (x->plan.stall_at >= 0)
    due = x->plan.stall_ns == MOCK_NEVER ? MOCK_NEVER : due + x->plan.stall_ns;
  mock_exchange_go(x, MOCK_HEAD, due);
}

static void start_whole(struct mock_exchange *x, bool steps)
{
  uint64_t due = x->first_due;
  x->after_head = MOCK_BODY;
  if (steps) {
    mock_exchange_go(x, MOCK_SILENT, MOCK_NEVER);
    return;
  }
  for (uint64_t i = 1; i < x->events * x->choices; i++)
    due += mock_exchange_gap(x);
  answer_whole(x, due);
}

void mock_act_start(struct mock_exchange *x, uint64_t at)
{
  struct mock *m = x->conn->m;
  bool steps = mock_engine_steps(&m->engine);
  make_contents(x);
  x->base = at;
  x->first_due = MOCK_NEVER;
  if (!steps)
    x->first_due = at + (uint64_t)mock_dist_draw(&x->plan.ttft, &x->rng) +
                   m->config.engine.prefill_ns * x->job.prefill_tokens;
  if (x->plan.ping_ns != MOCK_NEVER)
    x->ping_due = at + x->plan.ping_ns;
  mock_exchange_go(x, MOCK_HEAD, at + x->plan.slow_headers_ns);
  x->after_head = MOCK_ROLE;
  if (x->script)
    x->after_head = MOCK_SCRIPT;
  else if (!x->ask.stream)
    start_whole(x, steps);
  /* A page says that the connection stays. */
  if (m->config.blast && !x->custom && !x->close)
    start_page(x);
}

void mock_act_step(struct mock_exchange *x, uint64_t at)
{
  if (x->first_due == MOCK_NEVER)
    x->first_due = at;
  x->credit = x->choices;
  if (x->state == MOCK_SILENT) {
    x->sent += x->choices;
    if (x->sent >= x->events * x->choices) {
      mock_engine_leave(&x->conn->m->engine, &x->job);
      answer_whole(x, at);
    }
    return;
  }
  if (x->due == MOCK_NEVER && !(x->stalled && x->plan.stall_ns == MOCK_NEVER) &&
      (x->state == MOCK_ROLE || x->state == MOCK_TOKENS))
    x->due = at;
}
