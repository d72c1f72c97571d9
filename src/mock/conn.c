#include "mock/conn.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mock/head.h"
#include "mock/server.h"

/* A page is sent in parts, so that no connection waits long for another. */
#define PAGE_PART (128 << 10)
/* Buffers of more than this are given back between requests. */
#define KEPT     (64 << 10)
#define MAX_HEAD (64 << 10)
/* What may come behind the request that is being answered. */
#define MAX_REST (1 << 20)

static void on_readable(EV_P_ ev_io *w, int revents);
static void on_writable(EV_P_ ev_io *w, int revents);
static void on_idle(struct mock_deadline *d);
static void read_on(struct mock_conn *c, const char *p, size_t len,
                    uint64_t now);

/* ---- birth and death ---- */

static struct mock_conn *new_conn(struct mock *m)
{
  struct mock_conn *c = mem_new(struct mock_conn);
  c->m = m;
  mock_http_init(&c->http, MAX_HEAD, m->config.max_body);
  mock_exchange_init(&c->x, c);
  c->idle.fire = on_idle;
  return c;
}

void mock_conn_free(struct mock_conn *c)
{
  mock_exchange_deinit(&c->x);
  mock_http_deinit(&c->http);
  buf_free(&c->rest);
  buf_free(&c->out);
  mem_free(c);
}

static void wait_idle(struct mock_conn *c, uint64_t now)
{
  if (c->m->config.idle_close_ns)
    mock_deadline_set(&c->m->deadlines, &c->idle,
                      now + c->m->config.idle_close_ns);
}

void mock_conn_open(struct mock *m, int fd, uint64_t now)
{
  struct list *node = list_pop(&m->unused);
  struct mock_conn *c =
      node ? LIST_ENTRY(node, struct mock_conn, node) : new_conn(m);
  c->fd = fd;
  c->number = ++m->stats.connections;
  c->requests = 0;
  c->request_bytes = 0;
  c->accept_ns = now;
  list_append(&m->open, &c->node);
  if (++m->stats.open > m->stats.peak_open)
    m->stats.peak_open = m->stats.open;
  ev_io_init(&c->readable, on_readable, fd, EV_READ);
  ev_io_init(&c->writable, on_writable, fd, EV_WRITE);
  c->readable.data = c->writable.data = c;
  ev_io_start(m->loop, &c->readable);
  wait_idle(c, now);
}

void mock_conn_close(struct mock_conn *c, enum mock_close how)
{
  struct mock *m = c->m;
  struct linger now = {.l_onoff = 1, .l_linger = 0};
  if (c->fd < 0)
    return;
  ev_io_stop(m->loop, &c->readable);
  ev_io_stop(m->loop, &c->writable);
  mock_deadline_clear(&m->deadlines, &c->idle);
  if (how == MOCK_RST)
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(c->fd);
  c->fd = -1;
  m->stats.open--;
  list_remove(&c->node);
  list_append(&m->closed, &c->node);
  mock_exchange_abandon(&c->x, c->x.record.end);
}

void mock_conn_reap(struct mock *m)
{
  struct list *node;
  while ((node = list_pop(&m->closed))) {
    struct mock_conn *c = LIST_ENTRY(node, struct mock_conn, node);
    mock_http_deinit(&c->http);
    mock_http_init(&c->http, MAX_HEAD, m->config.max_body);
    buf_reset(&c->rest);
    buf_reset(&c->out);
    c->out_at = 0;
    c->page = (struct str){NULL, 0};
    list_append(&m->unused, &c->node);
  }
}

/* The other side went away, or the socket broke. */
static void lose(struct mock_conn *c)
{
  c->x.record.end = "aborted";
  mock_conn_close(c, MOCK_FIN);
}

/* ---- out ---- */

static ssize_t send_some(struct mock_conn *c, size_t *wanted)
{
  struct iovec parts[2] = {{c->out.p + c->out_at, c->out.len - c->out_at},
                           {(void *)(uintptr_t)c->page.p, c->page.len}};
  struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
  if (parts[1].iov_len > PAGE_PART)
    parts[1].iov_len = PAGE_PART;
  *wanted = parts[0].iov_len + parts[1].iov_len;
  if (!parts[1].iov_len)
    return send(c->fd, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL);
  return sendmsg(c->fd, &msg, MSG_NOSIGNAL);
}

static void sent(struct mock_conn *c, size_t n)
{
  size_t of_out = c->out.len - c->out_at;
  c->m->stats.bytes_out += n;
  c->x.record.bytes_out += n;
  if (n < of_out) {
    c->out_at += n;
    return;
  }
  c->out_at = 0;
  if (c->out.cap > KEPT)
    buf_free(&c->out);
  else
    buf_reset(&c->out);
  c->page.p += n - of_out;
  c->page.len -= n - of_out;
}

void mock_conn_flush(struct mock_conn *c)
{
  size_t wanted;
  ssize_t n;
  if (c->fd < 0 || ev_is_active(&c->writable))
    return; /* what waits goes first, when the socket is ready */
  n = send_some(c, &wanted);
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    lose(c);
    return;
  }
  if (n > 0)
    sent(c, (size_t)n);
  if (n < (ssize_t)wanted)
    c->x.record.blocked++;
  if (mock_conn_backlog(c))
    ev_io_start(c->m->loop, &c->writable);
}

static void on_writable(EV_P_ ev_io *w, int revents)
{
  struct mock_conn *c = w->data;
  (void)revents;
  ev_io_stop(EV_A_ w);
  mock_conn_flush(c);
  if (c->fd >= 0 && !mock_conn_backlog(c))
    mock_exchange_drained(&c->x);
}

/* ---- in ---- */

static void refuse(struct mock_conn *c)
{
  struct mock_head h = {.status = c->http.too_large ? 413 : 400,
                        .framing = MOCK_LENGTH,
                        .close = true};
  mock_head_write(&h, 0, &c->out);
  mock_conn_flush(c);
  mock_conn_close(c, MOCK_FIN);
}

static void read_on(struct mock_conn *c, const char *p, size_t len,
                    uint64_t now)
{
  ptrdiff_t used = mock_http_feed(&c->http, p, len);
  if (used < 0) {
    refuse(c);
    return;
  }
  c->request_bytes += (uint64_t)used;
  c->m->stats.bytes_in += (uint64_t)used;
  if (!c->http.complete)
    return;
  buf_add(&c->rest, p + used, len - (size_t)used);
  c->requests++;
  mock_deadline_clear(&c->m->deadlines, &c->idle);
  mock_exchange_begin(&c->x, now);
}

static void on_readable(EV_P_ ev_io *w, int revents)
{
  struct mock_conn *c = w->data;
  uint64_t now;
  ssize_t n = rxtime_recv(&c->m->rxtime, c->fd, c->m->input, MOCK_INPUT, 0,
                          c->m->stats.start_ns, &now);
  (void)revents;
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n <= 0) {
    lose(c);
  } else if (mock_exchange_active(&c->x) || c->rest.len) {
    buf_add(&c->rest, c->m->input, (size_t)n);
    if (c->rest.len > MAX_REST)
      ev_io_stop(EV_A_ w);
  } else {
    read_on(c, c->m->input, (size_t)n, now);
  }
}

void mock_conn_next(struct mock_conn *c, bool keep)
{
  uint64_t now;
  if (!keep) {
    mock_conn_close(c, MOCK_FIN);
    return;
  }
  now = clock_ns();
  mock_http_next(&c->http);
  c->request_bytes = 0;
  if (c->rest.len)
    mock_deadline_set(&c->m->deadlines, &c->idle, 0);
  else
    wait_idle(c, now);
}

static void on_idle(struct mock_deadline *d)
{
  struct mock_conn *c = LIST_ENTRY(d, struct mock_conn, idle);
  struct buf rest = c->rest;
  if (!rest.len) {
    mock_conn_close(c, MOCK_FIN);
    return;
  }
  /* read_on may leave a new rest behind. */
  c->rest = (struct buf){0};
  ev_io_start(c->m->loop, &c->readable);
  read_on(c, rest.p, rest.len, clock_ns());
  buf_free(&rest);
}
