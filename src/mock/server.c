#include "mock/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"

#define BACKLOG 4096
/* How long to leave new connections waiting when there are no files left. */
#define NO_FILES_NS (20 * NS_PER_MS)

void mock_config_defaults(struct mock_config *c)
{
  *c = (struct mock_config){.host = "127.0.0.1",
                            .models = "mock",
                            .max_body = 256 << 20,
                            .engine = {.queue = -1},
                            .reject_status = 503,
                            .seed = 1};
  mock_plan_defaults(&c->plan);
}

/* ---- addresses ---- */

struct address {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } u;
  socklen_t len;
};

/* A numeric loopback address, or "localhost". */
static int parse_address(const char *host, int port, struct address *a)
{
  const char *name = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
  *a = (struct address){0};
  if (inet_pton(AF_INET, name, &a->u.v4.sin_addr) == 1 &&
      (ntohl(a->u.v4.sin_addr.s_addr) >> 24) == 127) {
    a->u.v4.sin_family = AF_INET;
    a->u.v4.sin_port = htons((uint16_t)port);
    a->len = sizeof a->u.v4;
    return 0;
  }
  if (inet_pton(AF_INET6, name, &a->u.v6.sin6_addr) == 1 &&
      IN6_IS_ADDR_LOOPBACK(&a->u.v6.sin6_addr)) {
    a->u.v6.sin6_family = AF_INET6;
    a->u.v6.sin6_port = htons((uint16_t)port);
    a->len = sizeof a->u.v6;
    return 0;
  }
  return -1;
}

int mock_config_check(const struct mock_config *c, struct err *e)
{
  unsigned before = e->count;
  const struct mock_engine_config *g = &c->engine;
  struct address a;
  if (parse_address(c->host, 0, &a) < 0)
    err_add(e,
            "--host %s: the mock serves this machine only; say 127.0.0.1, "
            "another 127.x.x.x, ::1 or localhost",
            c->host);
  if (c->port < 0 || c->port > 65535)
    err_add(e, "--port %d: not a port; say 0 (any) to 65535", c->port);
  if (!*c->models)
    err_add(e, "--models: empty; say one or more ids, or none");
  if (g->queue >= 0 && !g->slots)
    err_add(e, "--queue: nothing waits without --slots; give both");
  if ((g->step_ns || g->step_each_ns) && !g->slots)
    err_add(e, "--step: the batch model needs --slots, the size of a batch");
  if (c->blast && (g->step_ns || g->step_each_ns))
    err_add(e, "--blast: has no steps; leave --step out");
  if (c->reject_status < 400 || c->reject_status > 599)
    err_add(e, "--reject-status %d: say 503 or 429", c->reject_status);
  return e->count == before ? 0 : -1;
}

static int listen_on(const struct mock_config *c, int *port, struct err *e)
{
  struct address a;
  int on = 1, fd;
  parse_address(c->host, c->port, &a);
  fd = socket(a.u.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    err_add(e, "socket: %s", strerror(errno));
    return -1;
  }
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  /* Accepted sockets inherit these. */
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  rxtime_enable(fd);
  if (bind(fd, &a.u.any, a.len) < 0 || listen(fd, BACKLOG) < 0 ||
      getsockname(fd, &a.u.any, &a.len) < 0) {
    err_add(e, "--port %d: %s%s", c->port, strerror(errno),
            errno == EADDRINUSE ? "; --port 0 takes any free one" : "");
    close(fd);
    return -1;
  }
  *port =
      ntohs(a.u.any.sa_family == AF_INET ? a.u.v4.sin_port : a.u.v6.sin6_port);
  return fd;
}

/* ---- the loop's events ---- */

static void on_acceptable(EV_P_ ev_io *w, int revents)
{
  struct mock *m = w->data;
  (void)revents;
  for (;;) {
    int fd = accept4(m->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      mock_conn_open(m, fd, clock_ns());
      continue;
    }
    if (errno == EMFILE || errno == ENFILE) {
      /* Level-triggered: without a pause this would spin. */
      ev_io_stop(EV_A_ w);
      mock_deadline_set(&m->deadlines, &m->again, clock_ns() + NO_FILES_NS);
    }
    if (errno != EINTR && errno != ECONNABORTED)
      return;
  }
}

static void on_again(struct mock_deadline *d)
{
  struct mock *m = LIST_ENTRY(d, struct mock, again);
  ev_io_start(m->loop, &m->acceptable);
}

static void stop(struct mock *m)
{
  m->running = false;
  ev_break(m->loop, EVBREAK_ALL);
}

static void on_stop(EV_P_ ev_async *w, int revents)
{
  (void)loop;
  (void)revents;
  stop(w->data);
}

static void on_signal(EV_P_ ev_signal *w, int revents)
{
  (void)loop;
  (void)revents;
  stop(w->data);
}

static void on_end(struct mock_deadline *d)
{
  stop(LIST_ENTRY(d, struct mock, end));
}

static void on_reap(EV_P_ ev_prepare *w, int revents)
{
  (void)loop;
  (void)revents;
  mock_conn_reap(w->data);
}

void mock_count_end(struct mock *m)
{
  uint64_t most = m->config.max_requests;
  if (most && m->stats.generations >= most && !m->stats.in_flight)
    stop(m);
}

/* ---- life ---- */

static void watch(struct mock *m)
{
  ev_io_init(&m->acceptable, on_acceptable, m->fd, EV_READ);
  ev_io_start(m->loop, &m->acceptable);
  ev_async_init(&m->stop, on_stop);
  ev_async_start(m->loop, &m->stop);
  ev_prepare_init(&m->reap, on_reap);
  ev_prepare_start(m->loop, &m->reap);
  ev_signal_init(&m->sigint, on_signal, SIGINT);
  ev_signal_init(&m->sigterm, on_signal, SIGTERM);
  if (m->config.signals) {
    ev_signal_start(m->loop, &m->sigint);
    ev_signal_start(m->loop, &m->sigterm);
  }
  m->acceptable.data = m->stop.data = m->reap.data = m;
  m->sigint.data = m->sigterm.data = m;
  m->end.fire = on_end;
  m->again.fire = on_again;
}

static void prepare(struct mock *m)
{
  struct str list = str_of(m->config.models);
  struct str first = str_trim(str_split(&list, ','));
  snprintf(m->models, sizeof m->models, "%.*s", STR_ARG(first));
  list_init(&m->open);
  list_init(&m->closed);
  list_init(&m->unused);
  m->input = mem_alloc(MOCK_INPUT);
  mock_engine_init(&m->engine, &m->config.engine, &m->deadlines);
  mock_prefix_init(&m->prefix, m->config.prefix_blocks);
  if (m->config.blast)
    m->config.plan.ttft = m->config.plan.itl = (struct mock_dist){0};
}

struct mock *mock_open(const struct mock_config *c, struct err *e)
{
  struct mock *m;
  if (mock_config_check(c, e) < 0)
    return NULL;
  m = mem_new(struct mock);
  m->config = *c;
  m->fd = m->journal.fd = m->deadlines.fd = -1;
  prepare(m);
  m->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
  if (!m->loop || mock_deadlines_init(&m->deadlines, m->loop) < 0) {
    err_add(e, "no event loop: %s", strerror(errno));
    goto fail;
  }
  if (mock_journal_open(&m->journal, c->log, &m->deadlines, e) < 0)
    goto fail;
  m->journal.tokens = c->log_tokens;
  m->journal.headers = c->log_headers;
  m->journal.bodies = c->log_bodies;
  m->fd = listen_on(&m->config, &m->port, e);
  if (m->fd < 0)
    goto fail;
  watch(m);
  m->stats.start_ns = clock_ns();
  return m;
fail:
  mock_close(m);
  return NULL;
}

int mock_port(const struct mock *m)
{
  return m->port;
}

void mock_run(struct mock *m)
{
  m->running = true;
  if (m->config.duration_ns)
    mock_deadline_set(&m->deadlines, &m->end,
                      clock_ns() + m->config.duration_ns);
  while (m->running)
    ev_run(m->loop, 0);
}

void mock_stop(struct mock *m)
{
  ev_async_send(m->loop, &m->stop);
}

static void close_all(struct mock *m)
{
  while (!list_empty(&m->open)) {
    struct mock_conn *c = LIST_ENTRY(m->open.next, struct mock_conn, node);
    c->x.record.end = "open";
    mock_conn_close(c, MOCK_FIN);
  }
  mock_conn_reap(m);
}

static void unwatch(struct mock *m)
{
  ev_io_stop(m->loop, &m->acceptable);
  ev_async_stop(m->loop, &m->stop);
  ev_prepare_stop(m->loop, &m->reap);
  ev_signal_stop(m->loop, &m->sigint);
  ev_signal_stop(m->loop, &m->sigterm);
}

void mock_close(struct mock *m)
{
  struct list *node;
  if (m->fd >= 0) {
    close_all(m);
    unwatch(m);
    close(m->fd);
  }
  while ((node = list_pop(&m->unused)))
    mock_conn_free(LIST_ENTRY(node, struct mock_conn, node));
  mock_journal_close(&m->journal);
  mock_deadlines_deinit(&m->deadlines);
  if (m->loop)
    ev_loop_destroy(m->loop);
  mock_prefix_deinit(&m->prefix);
  mock_blast_deinit(&m->blast);
  buf_free(&m->scratch);
  buf_free(&m->text);
  mem_free(m->input);
  mem_free(m);
}

static void add_us(struct buf *out, const char *name, uint64_t ns)
{
  char text[32];
  buf_addf(out, "%s %s", name, units_show_duration(ns, text));
}

void mock_summary(const struct mock *m, struct buf *out)
{
  const struct mock_stats *s = &m->stats;
  buf_addf(out,
           "%llu requests (%llu generations, %llu tokens) on %llu "
           "connections, at most %llu in flight\n",
           (unsigned long long)s->requests, (unsigned long long)s->generations,
           (unsigned long long)s->generation_tokens,
           (unsigned long long)s->connections,
           (unsigned long long)s->peak_in_flight);
  if (!s->late.count)
    return;
  add_us(out, "events written late by: p50", mock_late_quantile(&s->late, 0.5));
  add_us(out, ", p99", mock_late_quantile(&s->late, 0.99));
  add_us(out, ", max", s->late.max_ns);
  buf_addc(out, '\n');
}
