/* The states of a streamed answer: role, tokens, finish, usage, [DONE]; and
 * the faults that wait for a number of tokens. */
#include "base/clock.h"
#include "mock/server.h"

/* More than this is given back after a huge event. */
#define KEPT (1 << 20)

static struct buf *emptied(struct buf *b)
{
  if (b->cap > KEPT)
    buf_free(b);
  else
    buf_reset(b);
  return b;
}

static struct buf *scratch(struct mock_exchange *x)
{
  return emptied(&x->conn->m->scratch);
}

static struct buf *text(struct mock_exchange *x)
{
  return emptied(&x->conn->m->text);
}

static void put_event(struct mock_exchange *x, const char *name,
                      struct str data)
{
  struct buf *b = text(x);
  if (MOCK_IS_NDJSON(x->ask.api)) {
    buf_addstr(b, data);
    buf_addc(b, '\n');
  } else {
    mock_pipe_event(&x->pipe, name, data, b);
  }
  mock_pipe_put(&x->pipe, buf_str(b), x->out);
}

static void put_foreign(const char *name, struct str data, void *ud)
{
  put_event(ud, name, data);
}

struct mock_foreign mock_stream_foreign(struct mock_exchange *x)
{
  return (struct mock_foreign){.reply = &x->reply,
                               .content = &x->contents[0],
                               .finish = x->finish,
                               .usage = mock_exchange_usage(x),
                               .scratch = scratch(x),
                               .put = put_foreign,
                               .ud = x};
}

static bool is_foreign(const struct mock_exchange *x)
{
  return !MOCK_IS_OPENAI(x->ask.api);
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
    u = mock_exchange_usage(x);
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

void mock_stream_ping(struct mock_exchange *x)
{
  struct buf *b = text(x);
  mock_pipe_comment(&x->pipe, "ping", b);
  mock_pipe_put(&x->pipe, buf_str(b), x->out);
  x->ping_due += x->plan.ping_ns ? x->plan.ping_ns : NS_PER_MS;
}

/* ---- tokens ---- */

static void act_foreign_role(struct mock_exchange *x)
{
  struct mock_foreign f = mock_stream_foreign(x);
  mock_foreign_begin(&f);
  mock_exchange_go(x, MOCK_TOKENS, mock_later(x->first_due, x->due));
}

static void act_role(struct mock_exchange *x)
{
  if (is_foreign(x)) {
    act_foreign_role(x);
    return;
  }
  if (x->ask.chat && !x->plan.no_role && !x->plan.one_event)
    put_bare(x, MOCK_DELTA_ROLE, NULL);
  for (int64_t i = 0; i < x->plan.null_deltas; i++)
    put_bare(x, MOCK_DELTA_NULL, NULL);
  for (int64_t i = 0; i < x->plan.empty_deltas; i++)
    put_bare(x, MOCK_DELTA_EMPTY, NULL);
  /* Steps may have been taken already while an early role was not yet due. */
  mock_exchange_go(x, MOCK_TOKENS, mock_later(x->first_due, x->due));
}

static bool reached(const struct mock_exchange *x, int64_t k)
{
  return k >= 0 && x->record.tokens >= (uint64_t)k;
}

static void put_error(struct mock_exchange *x)
{
  enum mock_error_form form = x->plan.error_form;
  struct buf *b = scratch(x);
  if (form == MOCK_ERROR_NAMED) {
    /* Its words are in a comment; no data line at all. */
    mock_pipe_put(&x->pipe, STR("event: ERROR\n: worker lost\n\n"), x->out);
    return;
  }
  mock_reply_error(form, b);
  put_event(x, form == MOCK_ERROR_FLAT ? "error" : NULL, buf_str(b));
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
    put_error(x);
    x->record.end = "error";
    mock_exchange_go(x, MOCK_DONE, x->due);
    return true;
  }
  if (reached(x, p->cut_at)) {
    mock_exchange_cut(x, p->cut_reset);
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
  if (is_foreign(x)) {
    struct mock_foreign f = mock_stream_foreign(x);
    mock_foreign_piece(&f, event);
  } else {
    put_choice(x, &e);
  }
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
    mock_exchange_go(x, MOCK_FINISH, x->due + x->plan.late_finish_ns);
  } else if (!mock_engine_steps(engine)) {
    x->due += mock_exchange_gap(x);
  } else if (!x->credit) {
    x->due = MOCK_NEVER;
  }
}

/* ---- the end ---- */

static void act_finish(struct mock_exchange *x)
{
  if (is_foreign(x)) {
    struct mock_foreign f = mock_stream_foreign(x);
    if (!x->plan.no_finish)
      mock_foreign_end(&f);
    mock_exchange_made(x);
    return;
  }
  if (finish_apart(x) && !x->plan.no_finish)
    put_bare(x, MOCK_DELTA_NONE, x->finish);
  mock_exchange_go(x, MOCK_USAGE, x->due);
}

static void act_usage(struct mock_exchange *x)
{
  if ((x->ask.usage || x->plan.usage_always) && !x->plan.no_usage) {
    struct mock_usage u = mock_exchange_usage(x);
    struct buf *b = scratch(x);
    mock_reply_usage(&x->reply, &u, b);
    put_event(x, NULL, buf_str(b));
  }
  mock_exchange_go(x, MOCK_DONE, x->due + x->plan.late_done_ns);
}

static void act_done(struct mock_exchange *x)
{
  if (!x->plan.no_done && !is_foreign(x))
    put_event(x, NULL, STR("[DONE]"));
  mock_exchange_made(x);
}

/* Returns false when the state is none of a stream's. */
bool mock_stream_act(struct mock_exchange *x, uint64_t now)
{
  switch (x->state) {
  case MOCK_ROLE: act_role(x); break;
  case MOCK_TOKENS: act_token(x, now); break;
  case MOCK_FINISH: act_finish(x); break;
  case MOCK_USAGE: act_usage(x); break;
  case MOCK_DONE: act_done(x); break;
  default: return false;
  }
  return true;
}
