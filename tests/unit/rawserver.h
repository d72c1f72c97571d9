/* rawserver.h -- a scripted TCP server in threads of the test (header only).
 * Every accepted connection runs the script in a thread of its own, blocking;
 * a script may send any bytes at any time and end in any way. */
#ifndef STOKE_TESTS_RAWSERVER_H
#define STOKE_TESTS_RAWSERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

struct conn {
  struct rawserver *server;
  int fd;
  unsigned nth;     /* connection, from 0 */
  unsigned request; /* requests read on it */
  char *text;       /* the last request, NUL-terminated */
  size_t len, cap;
};

typedef void script_fn(struct conn *c);

struct rawserver {
  int fd;
  unsigned short port;
  script_fn *script;
  void *arg;
  pthread_t thread;
  atomic_uint connections, requests, ended, running;
  pthread_mutex_t lock;
  char last[16 * 1024]; /* head of the last request, under the lock */
};

static inline void nap(double seconds)
{
  struct timespec t = {(time_t)seconds,
                       (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

/* More bytes; false at the end or on an error. */
static inline bool conn_read(struct conn *c)
{
  ssize_t n;
  if (c->cap - c->len < 4096) {
    c->cap = 2 * c->cap + 8192;
    c->text = realloc(c->text, c->cap);
  }
  n = recv(c->fd, c->text + c->len, c->cap - c->len - 1, 0);
  if (n <= 0)
    return false;
  c->len += (size_t)n;
  c->text[c->len] = '\0';
  return true;
}

static inline void remember(struct conn *c)
{
  struct rawserver *s = c->server;
  size_t n = c->len < sizeof s->last - 1 ? c->len : sizeof s->last - 1;
  pthread_mutex_lock(&s->lock);
  memcpy(s->last, c->text, n);
  s->last[n] = '\0';
  pthread_mutex_unlock(&s->lock);
}

/* A whole request, body included; false when the client left. */
static inline bool next_request(struct conn *c)
{
  const char *end, *length;
  size_t total;
  c->len = 0;
  do {
    if (!conn_read(c))
      return false;
  } while (!(end = strstr(c->text, "\r\n\r\n")));
  total = (size_t)(end - c->text) + 4;
  length = strcasestr(c->text, "\r\ncontent-length:");
  if (length && length < end)
    total += strtoul(length + 17, NULL, 10);
  while (c->len < total)
    if (!conn_read(c))
      return false;
  c->request++;
  remember(c);
  atomic_fetch_add(&c->server->requests, 1);
  return true;
}

static inline void send_all(struct conn *c, const void *p, size_t len)
{
  const char *at = p;
  while (len) {
    ssize_t n = send(c->fd, at, len, MSG_NOSIGNAL);
    if (n <= 0)
      return;
    at += n;
    len -= (size_t)n;
  }
}

static inline void say(struct conn *c, const char *text)
{
  send_all(c, text, strlen(text));
}

static inline __attribute__((format(printf, 2, 3))) void
sayf(struct conn *c, const char *fmt, ...)
{
  char text[4096];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  say(c, text);
}

/* "200 OK" with a body and Content-Length. */
static inline void answer(struct conn *c, const char *status,
                          const char *headers, const char *body)
{
  sayf(c, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers,
       strlen(body), body);
}

static inline void chunk(struct conn *c, const char *data)
{
  sayf(c, "%zx\r\n%s\r\n", strlen(data), data);
}

#define SSE_HEAD                                                               \
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"                     \
  "Transfer-Encoding: chunked\r\n\r\n"

/* The connection's end is an RST. */
static inline void reset_at_end(struct conn *c)
{
  struct linger now = {1, 0};
  setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

/* Wait until the counter stands at `n`: what comes after it then did come
 * after it, on any machine. Gives up after 30 s; the test's own assertions
 * say then what is wrong. */
static inline void until_count(atomic_uint *counter, unsigned n)
{
  for (int i = 0; i < 30000 && atomic_load(counter) < n; i++)
    nap(0.001);
}

/* Wait until the client closed. */
static inline void until_closed(struct conn *c)
{
  do
    c->len = 0;
  while (conn_read(c));
}

static inline void *conn_main(void *arg)
{
  struct conn *c = arg;
  struct rawserver *s = c->server;
  s->script(c);
  close(c->fd);
  free(c->text);
  free(c);
  atomic_fetch_add(&s->ended, 1);
  atomic_fetch_sub(&s->running, 1);
  return NULL;
}

static inline void *server_main(void *arg)
{
  struct rawserver *s = arg;
  int fd;
  while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
    struct conn *c = calloc(1, sizeof *c);
    pthread_t t;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *c = (struct conn){.server = s, .fd = fd};
    c->nth = atomic_fetch_add(&s->connections, 1);
    atomic_fetch_add(&s->running, 1);
    pthread_create(&t, NULL, conn_main, c);
    pthread_detach(t);
  }
  return NULL;
}

/* Listens on `address` and a port of the system's choice. */
static inline void server_start_at(struct rawserver *s, in_addr_t address,
                                   script_fn *script, void *arg)
{
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t len = sizeof a;
  memset(s, 0, sizeof *s);
  pthread_mutex_init(&s->lock, NULL);
  s->script = script;
  s->arg = arg;
  a.sin_addr.s_addr = htonl(address);
  s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(s->fd, (struct sockaddr *)&a, sizeof a) != 0 ||
      listen(s->fd, 1024) != 0)
    abort();
  getsockname(s->fd, (struct sockaddr *)&a, &len);
  s->port = ntohs(a.sin_port);
  pthread_create(&s->thread, NULL, server_main, s);
}

static inline void server_start(struct rawserver *s, script_fn *script,
                                void *arg)
{
  server_start_at(s, INADDR_LOOPBACK, script, arg);
}

/* A port that refuses: bound, so that nobody else gets it, until the returned
 * descriptor is closed. */
static inline int refused_port(unsigned short *port)
{
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t len = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
    abort();
  getsockname(fd, (struct sockaddr *)&a, &len);
  *port = ntohs(a.sin_port);
  return fd;
}

/* Scripts end when their client has left. */
static inline void server_stop(struct rawserver *s)
{
  shutdown(s->fd, SHUT_RDWR);
  pthread_join(s->thread, NULL);
  close(s->fd);
  while (atomic_load(&s->running))
    nap(0.001);
  pthread_mutex_destroy(&s->lock);
}

#endif
