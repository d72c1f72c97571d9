#include "mock/exchange.h"

#include "base/clock.h"
#include "base/mem.h"
#include "mock/server.h"

/* What may wait for a slow reader before no more is made for it. */
#define BACKLOG (256 << 10)

static void run(struct mock_exchange *x);

static void on_timer(struct mock_deadline *d)
{
  run(LIST_ENTRY(d, struct mock_exchange, timer));
}

static void on_start(struct mock_job *j, uint64_t at)
{
  struct mock_exchange *x = LIST_ENTRY(j, struct mock_exchange, job);
  x->record.start_ns = at;
  mock_act_start(x, at);
  /* Not run here: begin() runs it, or the timer does. */
  mock_deadline_set(&x->conn->m->deadlines, &x->timer, 0);
}

static void on_step(struct mock_job *j, uint64_t at)
{
  struct mock_exchange *x = LIST_ENTRY(j, struct mock_exchange, job);
  mock_act_step(x, at);
  run(x);
}

void mock_exchange_init(struct mock_exchange *x, struct mock_conn *c)
{
  x->conn = c;
  x->out = &c->out;
  x->timer.fire = on_timer;
  x->job.start = on_start;
  x->job.step = on_step;
}

void mock_exchange_deinit(struct mock_exchange *x)
{
  mock_ask_deinit(&x->ask);
  mock_reply_deinit(&x->reply);
  mock_pipe_deinit(&x->pipe);
  mock_record_deinit(&x->record);
  mem_free(x->contents);
  buf_free(&x->body);
}

void mock_exchange_begin(struct mock_exchange *x, uint64_t now)
{
  struct mock_conn *c = x->conn;
  mock_record_reset(&x->record);
  x->record.connection = c->number;
  x->record.nth = c->requests;
  x->record.accept_ns = c->accept_ns;
  x->record.recv_ns = now;
  x->record.bytes_in = c->request_bytes;
  x->record.end = "done";
  x->state = MOCK_QUEUED;
  x->due = x->ping_due = MOCK_NEVER;
  x->close = !c->http.keep_alive;
  x->generation = x->parked = x->fixed = x->custom = false;
  x->stalled = x->broke_json = false;
  x->sent = x->credit = x->fresh = 0;
  x->script = NULL;
  x->finish = NULL;
  mock_pipe_reset(&x->pipe);
  c->m->stats.requests++;
  mock_route(x, now);
  if (mock_exchange_active(x))
    run(x);
}

/* ---- the end of it ---- */

static void count(struct mock_exchange *x)
{
  struct mock_stats *s = &x->conn->m->stats;
  if (!x->generation)
    return;
  s->in_flight--;
  s->prompt_tokens += x->record.prompt_tokens;
  s->cached_tokens += x->record.cached_tokens;
  s->generation_tokens += x->record.tokens;
  if (strcmp(x->record.end, "aborted") == 0)
    s->aborted++;
  else if (x->record.status != 200 || strcmp(x->record.end, "done") != 0)
    s->finished_error++;
  else if (x->finish && strcmp(x->finish, "length") == 0)
    s->finished_length++;
  else
    s->finished_stop++;
  mock_count_end(x->conn->m);
}

static void end(struct mock_exchange *x)
{
  struct mock *m = x->conn->m;
  x->record.end_ns = clock_ns();
  mock_engine_leave(&m->engine, &x->job);
  mock_deadline_clear(&m->deadlines, &x->timer);
  mock_journal_add(&m->journal, &x->record, &x->conn->http);
  count(x);
  mock_ask_deinit(&x->ask);
  x->state = MOCK_IDLE;
}

void mock_exchange_abandon(struct mock_exchange *x, const char *why)
{
  if (!mock_exchange_active(x))
    return;
  x->record.end = why;
  end(x);
}

static void finish(struct mock_exchange *x)
{
  bool keep = !x->close;
  end(x);
  mock_conn_next(x->conn, keep);
}

/* ---- for the states ---- */

void mock_exchange_go(struct mock_exchange *x, enum mock_state state,
                      uint64_t due)
{
  x->state = state;
  x->due = due;
}

void mock_exchange_made(struct mock_exchange *x)
{
  mock_pipe_flush(&x->pipe, x->out);
  mock_exchange_go(x, MOCK_END, x->due + x->plan.late_end_ns);
}

void mock_exchange_cut(struct mock_exchange *x, bool reset)
{
  mock_exchange_flush(x);
  if (x->conn->fd < 0)
    return;
  x->record.end = reset ? "rst" : "cut";
  mock_conn_close(x->conn, reset ? MOCK_RST : MOCK_FIN);
}

uint64_t mock_exchange_gap(struct mock_exchange *x)
{
  return (uint64_t)mock_dist_draw(&x->plan.itl, &x->rng);
}

static uint64_t said(int64_t asked, uint64_t really)
{
  return asked >= 0 ? (uint64_t)asked : really;
}

struct mock_usage mock_exchange_usage(const struct mock_exchange *x)
{
  uint64_t thought = x->contents ? x->contents[0].reasoning * x->choices : 0;
  struct mock_usage u = {
      .prompt = said(x->plan.prompt_tokens, x->record.prompt_tokens),
      .completion = said(x->plan.usage_tokens, x->record.tokens),
      .cached = said(x->plan.cached_tokens, x->record.cached_tokens),
      .reasoning = thought < x->record.tokens ? thought : x->record.tokens};
  return u;
}

/* ---- what is due ---- */

void mock_exchange_flush(struct mock_exchange *x)
{
  struct mock_conn *c = x->conn;
  struct mock_record *r = &x->record;
  uint64_t now;
  if (!mock_conn_backlog(c))
    return;
  now = clock_ns();
  if (x->fresh && !r->first_ns)
    r->first_ns = now;
  if (x->fresh)
    r->last_ns = now;
  for (; x->fresh; x->fresh--) {
    if (c->m->journal.tokens)
      mock_record_time(r, now);
    r->events++;
  }
  mock_conn_flush(c);
}

/* A piece of a body that is cut up is written by itself. */
static void send_piece(struct mock_exchange *x, uint64_t now)
{
  bool more = mock_pipe_piece(&x->pipe, now, x->out);
  mock_exchange_flush(x);
  if (!more)
    mock_exchange_cut(x, x->plan.cut_reset);
}

/* When a comment is due while the first token is waited for. */
static uint64_t ping_due(const struct mock_exchange *x)
{
  bool waits = !x->sent && (x->state == MOCK_ROLE || x->state == MOCK_TOKENS);
  return waits && x->ping_due < x->due ? x->ping_due : MOCK_NEVER;
}

/* One thing that is due. Returns false when there is nothing (yet). */
static bool advance(struct mock_exchange *x)
{
  uint64_t now = clock_ns();
  if (mock_pipe_holds(&x->pipe) && x->pipe.due <= now) {
    send_piece(x, now);
    return true;
  }
  if (ping_due(x) <= now) {
    mock_stream_ping(x);
    return true;
  }
  if (x->due > now)
    return false;
  x->parked = mock_conn_backlog(x->conn) > BACKLOG;
  if (x->parked)
    return false;
  mock_act(x, now);
  return true;
}

static uint64_t earliest(const struct mock_exchange *x)
{
  uint64_t at = x->parked ? MOCK_NEVER : x->due;
  if (mock_pipe_holds(&x->pipe) && x->pipe.due < at)
    at = x->pipe.due;
  return ping_due(x) < at ? ping_due(x) : at;
}

static void wait_for(struct mock_exchange *x)
{
  struct mock_deadlines *t = &x->conn->m->deadlines;
  uint64_t at;
  /* The socket took it all: go on, but let the others have their turn. */
  if (x->parked && !mock_conn_backlog(x->conn))
    x->parked = false;
  at = earliest(x);
  if (at == MOCK_NEVER)
    mock_deadline_clear(t, &x->timer);
  else
    mock_deadline_set(t, &x->timer, at);
}

static bool alive(const struct mock_exchange *x)
{
  return x->conn->fd >= 0 && mock_exchange_active(x);
}

static void run(struct mock_exchange *x)
{
  while (alive(x) && x->state != MOCK_DRAIN && advance(x))
    ;
  if (alive(x))
    mock_exchange_flush(x);
  if (!alive(x))
    return;
  if (x->state != MOCK_DRAIN)
    wait_for(x);
  else if (!mock_conn_backlog(x->conn))
    finish(x);
}

void mock_exchange_drained(struct mock_exchange *x)
{
  if (x->state == MOCK_DRAIN) {
    finish(x);
  } else if (x->parked) {
    x->parked = false;
    run(x);
  }
}
