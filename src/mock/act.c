#include "base/clock.h"
#include "base/mem.h"
#include "mock/head.h"
#include "mock/server.h"

static struct buf *scratch(struct mock_exchange *x)
{
  struct buf *b = &x->conn->m->scratch;
  buf_reset(b);
  return b;
}

static void go(struct mock_exchange *x, enum mock_state state, uint64_t due)
{
  x->state = state;
  x->due = due;
}

static void cut(struct mock_exchange *x, bool reset)
{
  mock_exchange_flush(x);
  if (x->conn->fd < 0)
    return;
  x->record.end = reset ? "rst" : "cut";
  mock_conn_close(x->conn, reset ? MOCK_RST : MOCK_FIN);
}

/* ---- events ---- */

static void put_event(struct mock_exchange *x, const char *name,
                      struct str data)
{
  struct buf *text = &x->conn->m->text;
  buf_reset(text);
  mock_pipe_event(&x->pipe, name, data, text);
  mock_pipe_put(&x->pipe, buf_str(text), x->out);
}

static uint64_t said(int64_t asked, uint64_t really)
{
  return asked >= 0 ? (uint64_t)asked : really;
}

static struct mock_usage usage_now(const struct mock_exchange *x)
{
  uint64_t thought = x->contents ? x->contents[0].reasoning * x->choices : 0;
  struct mock_usage u = {
      .prompt = said(x->plan.prompt_tokens, x->record.prompt_tokens),
      .completion = said(x->plan.usage_tokens, x->record.tokens),
      .cached = said(x->plan.cached_tokens, x->record.cached_tokens),
      .reasoning = thought < x->record.tokens ? thought : x->record.tokens};
  return u;
}

static bool usage_in_each(const struct mock_exchange *x)
{
  return (x->plan.usage_each || (x->ask.usage && x->ask.usage_each)) &&
         !x->plan.no_usage;
}

static void put_choice(struct mock_exchange *x, struct mock_event *e)
{
  struct buf *b = scratch(x);
  struct mock_usage u;
  if (usage_in_each(x)) {
    u = usage_now(x);
    e->usage = &u;
  }
  mock_reply_event(&x->reply, e, b);
  put_event(x, NULL, buf_str(b));
}

static void put_bare(struct mock_exchange *x, enum mock_delta delta,
                     const char *finish_reason)
{
  for (uint64_t i = 0; i < x->choices; i++) {
    struct mock_event e = {.delta = delta, .index = i, .finish = finish_reason};
    put_choice(x, &e);
  }
}

void mock_act_ping(struct mock_exchange *x)
{
  mock_pipe_put(&x->pipe, STR(": ping\n\n"), x->out);
  x->ping_due += x->plan.ping_ns ? x->plan.ping_ns : NS_PER_MS;
}

/* ---- head ---- */

static struct str type_of(const struct mock_exchange *x)
{
  if (x->plan.content_type.len)
    return x->plan.content_type;
  if (x->fixed)
    return x->content_type;
  return x->record.stream ? STR("text/event-stream; charset=utf-8")
                          : STR("application/json");
}

/* A body whose length is known; what will not be is chunked. */
static void make_body(struct mock_exchange *x)
{
  struct mock_usage u;
  if (x->fixed)
    return;
  x->record.tokens = x->record.planned_tokens;
  u = usage_now(x);
  buf_reset(&x->body);
  mock_reply_body(&x->reply, x->contents, x->choices, x->finish,
                  x->plan.no_usage ? NULL : &u, &x->body);
}

static void act_head(struct mock_exchange *x)
{
  bool whole = x->after_head == MOCK_BODY;
  struct mock_head h = {.status = x->status,
                        .content_type = type_of(x),
                        .framing = MOCK_CHUNKED,
                        .retry_after = x->plan.retry_after,
                        .location = x->plan.location,
                        .close = x->close};
  if (whole) {
    make_body(x);
    h.length = x->body.len;
    h.framing = x->plan.encoding == MOCK_IDENTITY ? MOCK_LENGTH : MOCK_CHUNKED;
  }
  if (x->plan.not_chunked ||
      (h.framing == MOCK_CHUNKED && x->conn->http.parser.http_minor == 0)) {
    h.framing = MOCK_TO_CLOSE;
    x->close = true;
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

static uint64_t later(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static void after_head(struct mock_exchange *x)
{
  uint64_t role_due = x->first_due;
  switch (x->after_head) {
  case MOCK_ROLE:
    if (x->plan.early_role_ns != MOCK_NEVER)
      role_due = x->base + x->plan.early_role_ns;
    go(x, MOCK_ROLE, later(role_due, x->due));
    break;
  case MOCK_SCRIPT: {
    double at = json_double(json_first(x->script), 0);
    go(x, MOCK_SCRIPT, later(x->base + (uint64_t)(at * 1e6), x->due));
    break;
  }
  default: go(x, x->after_head, x->due); break;
  }
}

/* ---- tokens ---- */

static void act_role(struct mock_exchange *x)
{
  if (x->ask.chat && !x->plan.no_role && !x->plan.one_event)
    put_bare(x, MOCK_DELTA_ROLE, NULL);
  for (int64_t i = 0; i < x->plan.null_deltas; i++)
    put_bare(x, MOCK_DELTA_NULL, NULL);
  for (int64_t i = 0; i < x->plan.empty_deltas; i++)
    put_bare(x, MOCK_DELTA_EMPTY, NULL);
  /* Steps may have been taken already while an early role was not yet due. */
  go(x, MOCK_TOKENS, later(x->first_due, x->due));
}

static bool reached(const struct mock_exchange *x, int64_t k)
{
  return k >= 0 && x->record.tokens >= (uint64_t)k;
}

/* The faults that wait for a number of tokens. Returns true when one of them
 * was done in place of the event that is due. */
static bool act_fault(struct mock_exchange *x)
{
  const struct mock_plan *p = &x->plan;
  if (!x->stalled && reached(x, p->stall_at)) {
    x->stalled = true;
    x->due = p->stall_ns == MOCK_NEVER ? MOCK_NEVER : x->due + p->stall_ns;
    return true;
  }
  if (!x->broke_json && reached(x, p->bad_json_at)) {
    x->broke_json = true;
    put_event(x, NULL, STR("{\"id\":\"mock\",\"choices\":[{\"index\":0,"));
    return true;
  }
  if (reached(x, p->error_at)) {
    struct buf *b = scratch(x);
    bool named =
        p->error_form == MOCK_ERROR_FLAT || p->error_form == MOCK_ERROR_NAMED;
    mock_reply_error(p->error_form, b);
    if (p->error_form == MOCK_ERROR_NAMED)
      mock_pipe_put(&x->pipe, STR(": worker lost\n"), x->out);
    put_event(x, named ? "error" : NULL, buf_str(b));
    x->record.end = "error";
    go(x, MOCK_DONE, x->due);
    return true;
  }
  if (reached(x, p->cut_at)) {
    cut(x, p->cut_reset);
    return true;
  }
  return false;
}

static bool finish_apart(const struct mock_exchange *x)
{
  return x->plan.finish_apart || x->plan.late_finish_ns || !x->events;
}

static void put_token(struct mock_exchange *x)
{
  uint64_t choice = x->sent % x->choices, event = x->sent / x->choices;
  const struct mock_content *content = &x->contents[choice];
  struct mock_piece piece = mock_content_piece(content, event);
  struct mock_event e = {.delta = MOCK_DELTA_PIECE,
                         .content = content,
                         .event = event,
                         .index = x->plan.rising_index ? x->sent : choice,
                         .with_role = x->plan.one_event && x->ask.chat};
  if (event + 1 == x->events && !finish_apart(x) && !x->plan.no_finish)
    e.finish = x->finish;
  x->sent++;
  x->record.tokens += piece.tokens;
  x->fresh++;
  put_choice(x, &e);
}

static uint64_t gap(struct mock_exchange *x)
{
  return (uint64_t)mock_dist_draw(&x->plan.itl, &x->rng);
}

static void note_lateness(struct mock_exchange *x, uint64_t now)
{
  uint64_t late = ns_since(x->due, now);
  /* A page is made ahead of time; and without pauses nothing is late but
   * the first token: the rest comes as fast as it is taken. */
  if (x->out != &x->conn->out || (x->sent && x->plan.itl.mean <= 0))
    return;
  mock_late_add(&x->conn->m->stats.late, late);
  if (late > x->record.late_ns)
    x->record.late_ns = late;
}

static void act_token(struct mock_exchange *x, uint64_t now)
{
  struct mock_engine *engine = &x->conn->m->engine;
  if (act_fault(x))
    return;
  if (x->sent < x->events * x->choices) {
    note_lateness(x, now);
    put_token(x);
    x->credit -= x->credit > 0;
  }
  if (x->sent == x->events * x->choices) {
    /* A fault behind the last token still has its chance. */
    if (act_fault(x))
      return;
    mock_engine_leave(engine, &x->job);
    go(x, MOCK_FINISH, x->due + x->plan.late_finish_ns);
  } else if (!mock_engine_steps(engine)) {
    x->due += gap(x);
  } else if (!x->credit) {
    x->due = MOCK_NEVER;
  }
}

/* ---- the end ---- */

static void act_finish(struct mock_exchange *x)
{
  if (finish_apart(x) && !x->plan.no_finish)
    put_bare(x, MOCK_DELTA_NONE, x->finish);
  go(x, MOCK_USAGE, x->due);
}

static void act_usage(struct mock_exchange *x)
{
  if ((x->ask.usage || x->plan.usage_always) && !x->plan.no_usage) {
    struct mock_usage u = usage_now(x);
    struct buf *b = scratch(x);
    mock_reply_usage(&x->reply, &u, b);
    put_event(x, NULL, buf_str(b));
  }
  go(x, MOCK_DONE, x->due + x->plan.late_done_ns);
}

/* The body is made, all of it. */
static void to_end(struct mock_exchange *x)
{
  mock_pipe_flush(&x->pipe, x->out);
  go(x, MOCK_END, x->due + x->plan.late_end_ns);
}

static void act_done(struct mock_exchange *x)
{
  if (!x->plan.no_done)
    put_event(x, NULL, STR("[DONE]"));
  to_end(x);
}

static void act_body(struct mock_exchange *x)
{
  if (!x->fixed && reached(x, x->plan.cut_at)) {
    cut(x, x->plan.cut_reset);
    return;
  }
  x->fresh += !x->fixed;
  if (x->body.len)
    mock_pipe_put(&x->pipe, buf_str(&x->body), x->out);
  to_end(x);
}

static void act_script(struct mock_exchange *x)
{
  const json_value *bytes = json_next(json_first(x->script));
  const char *text = json_text(bytes);
  if (!text) {
    cut(x, !json_is_null(bytes));
    return;
  }
  x->fresh++;
  mock_pipe_put(&x->pipe, str_of(text), x->out);
  mock_exchange_flush(x);
  x->script = json_next(x->script);
  if (x->script)
    x->due = x->base + (uint64_t)(json_double(json_first(x->script), 0) * 1e6);
  else
    to_end(x);
}

static void act_end(struct mock_exchange *x)
{
  if (mock_pipe_holds(&x->pipe)) {
    x->due = later(x->pipe.due, x->due + 1);
    return;
  }
  mock_pipe_end(&x->pipe, x->out);
  mock_engine_leave(&x->conn->m->engine, &x->job);
  go(x, MOCK_DRAIN, MOCK_NEVER);
}

void mock_act(struct mock_exchange *x, uint64_t now)
{
  switch (x->state) {
  case MOCK_HEAD:
    act_head(x);
    after_head(x);
    break;
  case MOCK_ROLE: act_role(x); break;
  case MOCK_TOKENS: act_token(x, now); break;
  case MOCK_FINISH: act_finish(x); break;
  case MOCK_USAGE: act_usage(x); break;
  case MOCK_DONE: act_done(x); break;
  case MOCK_SCRIPT: act_script(x); break;
  case MOCK_BODY: act_body(x); break;
  case MOCK_END: act_end(x); break;
  case MOCK_SILENT:
  case MOCK_IDLE:
  case MOCK_QUEUED:
  case MOCK_DRAIN: x->due = MOCK_NEVER; break;
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

/* Returns false when the request is one for which no page can be kept. */
static bool start_page(struct mock_exchange *x)
{
  struct mock_page *page =
      mock_blast_page(&x->conn->m->blast, &x->ask, x->record.planned_tokens);
  if (!page)
    return false;
  if (!page->bytes.len)
    fill_page(x, page);
  x->conn->page = buf_str(&page->bytes);
  x->record.tokens = x->record.planned_tokens;
  x->record.status = x->status;
  x->record.headers_ns = clock_ns();
  x->fresh = page->events;
  mock_engine_leave(&x->conn->m->engine, &x->job);
  go(x, MOCK_DRAIN, MOCK_NEVER);
  return true;
}

static void start_whole(struct mock_exchange *x, bool steps)
{
  uint64_t due = x->first_due;
  x->after_head = MOCK_BODY;
  if (steps) {
    go(x, MOCK_SILENT, MOCK_NEVER);
    return;
  }
  for (uint64_t i = 1; i < x->events * x->choices; i++)
    due += gap(x);
  if (x->plan.stall_at >= 0)
    due = x->plan.stall_ns == MOCK_NEVER ? MOCK_NEVER : due + x->plan.stall_ns;
  go(x, MOCK_HEAD, due == MOCK_NEVER ? due : due + x->plan.slow_headers_ns);
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
  go(x, MOCK_HEAD, at + x->plan.slow_headers_ns);
  x->after_head = MOCK_ROLE;
  if (x->script)
    x->after_head = MOCK_SCRIPT;
  else if (!x->ask.stream)
    start_whole(x, steps);
  if (m->config.blast && !x->custom)
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
      go(x, MOCK_HEAD, at + x->plan.slow_headers_ns);
    }
    return;
  }
  if (x->due == MOCK_NEVER && !(x->stalled && x->plan.stall_ns == MOCK_NEVER) &&
      (x->state == MOCK_ROLE || x->state == MOCK_TOKENS))
    x->due = at;
}
