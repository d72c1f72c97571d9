/* The life of an exchange, and when what it read arrived. */
#include "net/xfer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "net/deadline.h"
#include "net/easy.h"
#include "net/headers.h"
#include "net/net.h"
#include "net/verdict.h"

/* From an answer's last word to the end of its HTTP message. */
#define TAIL_NS (2 * NS_PER_SEC)

/* ---- arrivals ---- */

static void begin_turn(struct xfer *x)
{
  x->turn = x->net->turn;
  x->turn_bytes = 0;
  x->last_piece = NULL;
}

void xfer_before_read(struct xfer *x)
{
  struct net *n = x->net;
  begin_turn(x);
  if (x->wired && n->clock == NET_CLOCK_KERNEL)
    x->arrival_ns =
        rxtime_peek(&n->rx, sock_fd(x->sock), x->arrival_ns, &x->os_errno);
  else
    x->arrival_ns = clock_ns();
}

/* If curl read of its own accord (right after sending, say), the first to ask
 * in that turn reads the clock. */
uint64_t xfer_arrival(struct xfer *x)
{
  if (x->turn != x->net->turn) {
    begin_turn(x);
    x->arrival_ns = clock_ns();
  }
  return x->arrival_ns;
}

/* curl reads again while there is more; a piece that lies before the last one
 * comes from a further read, and may have arrived since the first. */
uint64_t xfer_arrival_of(struct xfer *x, const char *piece)
{
  xfer_arrival(x);
  if (x->last_piece && (uintptr_t)piece <= (uintptr_t)x->last_piece)
    x->arrival_ns = clock_ns();
  x->last_piece = piece;
  return x->arrival_ns;
}

/* ---- life ---- */

void xfer_copy(char *out, size_t size, struct str s)
{
  size_t len = s.len < size - 1 ? s.len : size - 1;
  memcpy(out, s.p, len);
  out[len] = '\0';
}

struct xfer *xfer_new(struct net *n, struct multi *m)
{
  struct xfer *x = mem_new(struct xfer);
  x->net = n;
  x->multi = m;
  easy_init(x);
  deadline_init(x);
  multi_seat(m);
  return x;
}

void xfer_free(struct xfer *x)
{
  deadline_deinit(x);
  if (x->added)
    easy_leave(x);
  easy_deinit(x);
  xfer_headers_unref(x->headers);
  buf_free(&x->header_lines);
  mem_free(x);
}

void xfer_prepare(struct xfer *x, const struct xfer_request *r,
                  const struct xfer_ops *ops, void *ud)
{
  x->ops = ops;
  x->ud = ud;
  x->headers = xfer_headers_ref(r->headers ? r->headers : x->net->no_headers);
  x->body = r->body;
  x->keep_headers = r->keep_headers;
  x->own_connection = r->own_connection;
  x->open_only = false;
  x->first_ns = r->first_ns;
  x->idle_ns = r->idle_ns;
  x->total_ns = r->total_ns;
  easy_prepare(x, r);
}

struct xfer *xfer_start(struct net *n, const struct xfer_request *r,
                        const struct xfer_ops *ops, void *ud)
{
  struct xfer *x = net_take(n);
  xfer_prepare(x, r, ops, ud);
  xfer_ready(x);
  return x;
}

void xfer_ready(struct xfer *x)
{
  x->info = (struct xfer_info){.retry_after_s = -1};
  x->encoding[0] = '\0';
  x->attempts = 0;
  x->wired = x->head_complete = x->first_token = false;
  x->os_errno = 0;
  x->opened[0] = x->opened[1] = -1;
  x->turn = x->name_wait_ns = 0;
  buf_reset(&x->header_lines);
  x->state = XFER_READY;
  list_append(&x->net->ready, &x->node);
  net_schedule(x->net);
}

/* RUNNING, but its name isn't known yet: wait among net.unnamed. */
static void wait_for_name(struct xfer *x)
{
  list_remove(&x->node);
  list_append(&x->net->unnamed, &x->node);
}

void xfer_name_answered(struct xfer *x)
{
  const struct name *name = x->target->name;
  if (name->state == NAME_FAILED) {
    xfer_end(x, OUTCOME_DNS, name->error);
    return;
  }
  x->name_wait_ns = clock_ns() - x->info.sent_ns;
  list_remove(&x->node);
  list_append(&x->net->ready, &x->node);
  x->state = XFER_READY;
}

void xfer_begin(struct xfer *x)
{
  struct name *name = x->target->name;
  x->state = XFER_RUNNING;
  list_append(&x->net->running, &x->node);
  if (!x->info.sent_ns) { /* else it waited for its name since then */
    x->info.sent_ns = x->opening_ns = x->arrival_ns = clock_ns();
    deadline_arm(x);
  }
  if (name)
    name_ask(name); /* a fresh answer does for the next */
  if (x->target->error)
    xfer_end(x, OUTCOME_CONNECT, x->target->error);
  else if (name && name->state != NAME_READY)
    wait_for_name(x);
  else
    easy_launch(x);
}

void xfer_end(struct xfer *x, enum outcome o, const char *message)
{
  if (x->state == XFER_OVER || x->state == XFER_IDLE)
    return;
  list_remove(&x->node);
  list_remove(&x->pause_node);
  x->state = XFER_OVER;
  x->info.outcome = o;
  if (message != x->info.message)
    xfer_copy(x->info.message, sizeof x->info.message, str_of(message));
  list_append(&x->net->over, &x->node);
  net_schedule(x->net);
}

void xfer_ended(struct xfer *x, int code)
{
  char error[sizeof x->info.message];
  struct verdict_facts f = {
      .code = code,
      .wired = x->wired,
      .proxied = x->target->proxy[0],
      .head_complete = x->head_complete || x->open_only,
      .error = error,
      .encoding = x->encoding,
  };
  if (x->state != XFER_RUNNING)
    return;
  memcpy(error, x->info.message, sizeof error);
  f.os_errno = x->os_errno ? x->os_errno : code ? easy_errno(x) : 0;
  x->info.done_ns = xfer_arrival(x);
  xfer_end(x, verdict(&f, x->info.message), x->info.message);
}

static void last_stamps(struct xfer *x)
{
  struct xfer_info *i = &x->info;
  i->bytes_out = i->written_ns ? x->body.len : easy_body_sent(x);
}

/* curl must have no last word in its error buffer, which is ours by now. */
static void leave(struct xfer *x)
{
  char message[sizeof x->info.message];
  memcpy(message, x->info.message, sizeof message);
  easy_leave(x);
  memcpy(x->info.message, message, sizeof message);
  x->added = false;
}

void xfer_read_over(struct xfer *x)
{
  list_remove(&x->fed_node);
  x->ops->read_over(x, x->ud);
}

void xfer_finish(struct xfer *x)
{
  if (list_linked(&x->fed_node))
    xfer_read_over(x);
  if (x->info.sent_ns && !x->info.done_ns) /* also where curl had no part */
    x->info.done_ns = clock_ns();
  if (x->added) {
    last_stamps(x);
    leave(x);
  }
  net_leave(x); /* what `done` starts may have its connection */
  x->ops->done(x, x->ud);
  xfer_headers_unref(x->headers);
  x->headers = NULL;
  if (x->info.retries)
    easy_renew(x);
  x->state = XFER_IDLE;
  net_give(x);
}

void xfer_resume(struct xfer *x)
{
  struct net *n = x->net;
  int code;
  n->turn++;
  begin_turn(x); /* but keep arrival_ns: what is left was read then */
  n->in_curl = true;
  code = easy_resume(x);
  if (code)
    xfer_ended(x, code);
  n->in_curl = false;
  if (x->state != XFER_RUNNING || list_linked(&x->pause_node))
    return;
  if (x->sock)
    multi_ready(x->sock, EV_READ);
  else
    multi_kick(x->multi); /* the body is complete already */
}

bool xfer_is_spent(const struct xfer *x)
{
  bool paused = list_linked(&x->pause_node);
  return x->wired && !paused && (x->head_complete || !x->target->secure);
}

bool xfer_is_stuck(const struct xfer *x)
{
  return x->state == XFER_RUNNING && x->added && !x->wired && !x->sock;
}

void xfer_watched(struct xfer *x, bool for_write)
{
  if (!for_write && x->wired && !x->info.written_ns)
    x->info.written_ns = clock_ns();
}

void xfer_cancel(struct xfer *x, enum outcome o, const char *why)
{
  xfer_end(x, o, why);
}

void xfer_first_token(struct xfer *x)
{
  x->first_token = true;
}

void xfer_answered(struct xfer *x)
{
  if (x->idle_ns && x->idle_ns <= TAIL_NS)
    return;
  x->idle_ns = TAIL_NS;
  deadline_arm(x);
}

const struct xfer_info *xfer_info(const struct xfer *x)
{
  return &x->info;
}

struct str xfer_header_lines(const struct xfer *x)
{
  return buf_str(&x->header_lines);
}
