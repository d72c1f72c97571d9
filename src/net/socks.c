#include "net/socks.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

static bool nothing_there(int fd)
{
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* libcurl takes a connection for alive as long as there is something to read.
 * Nothing is lost: it comes to nobody. */
static void hang_up(int fd)
{
  char away[4096];
  while (recv(fd, away, sizeof away, MSG_DONTWAIT) > 0)
    ;
  shutdown(fd, SHUT_RDWR);
}

static void on_ready(EV_P_ ev_io *w, int revents)
{
  struct sock *k = (struct sock *)((char *)w - offsetof(struct sock, io));
  if (k->owner) {
    k->in->ready(k, revents);
    return;
  }
  if (nothing_there(sock_fd(k)))
    return; /* told already: what was ready has been read since */
  ev_io_stop(EV_A_ w);
  if (k->spent)
    hang_up(sock_fd(k));
}

void socks_init(struct socks *s, struct ev_loop *loop,
                void (*ready)(struct sock *k, int revents))
{
  *s = (struct socks){.loop = loop, .ready = ready};
}

void socks_deinit(struct socks *s)
{
  for (size_t i = 0; i < s->n; i++)
    if (s->by_fd[i]) {
      ev_io_stop(s->loop, &s->by_fd[i]->io);
      mem_free(s->by_fd[i]);
    }
  mem_free(s->by_fd);
  *s = (struct socks){0};
}

static void grow(struct socks *s, size_t n)
{
  size_t was = s->n;
  if (n <= was)
    return;
  s->n = n < 2 * was ? 2 * was : n;
  s->by_fd = mem_resize(s->by_fd, s->n, sizeof *s->by_fd);
  for (size_t i = was; i < s->n; i++)
    s->by_fd[i] = NULL;
}

struct sock *socks_get(struct socks *s, int fd)
{
  struct sock *k;
  grow(s, (size_t)fd + 1);
  k = s->by_fd[fd];
  if (!k) {
    k = s->by_fd[fd] = mem_new(struct sock);
    ev_io_init(&k->io, on_ready, fd, 0);
    k->in = s;
  }
  return k;
}

static void forget(struct sock *k)
{
  ev_io_stop(k->in->loop, &k->io);
  k->owner = NULL;
  k->kept = k->spent = false;
}

int socks_open(struct socks *s, int family, int type, int protocol)
{
  int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  if (fd >= 0)
    forget(socks_get(s, fd));
  return fd;
}

int socks_close(struct socks *s, int fd)
{
  struct sock *k = socks_get(s, fd);
  forget(k);
  return close(fd);
}

static void watch(struct sock *k, int events)
{
  struct ev_loop *loop = k->in->loop;
  if (ev_is_active(&k->io)) {
    if ((k->io.events & (EV_READ | EV_WRITE)) == events)
      return;
    ev_io_stop(loop, &k->io);
    ev_io_modify(&k->io, events);
  } else {
    /* In this form libev believes nothing that it remembers of the number,
     * which may belong to another socket by now. */
    ev_io_set(&k->io, k->io.fd, events);
  }
  ev_io_start(loop, &k->io);
}

void sock_keep(struct sock *k)
{
  k->kept = true;
}

void sock_watch(struct sock *k, int events, void *owner)
{
  k->owner = owner;
  k->spent = false;
  watch(k, events);
}

void sock_release(struct sock *k, bool quiet)
{
  k->owner = NULL;
  k->spent = k->kept && quiet;
  if (!k->kept)
    forget(k);
  else if (ev_is_active(&k->io))
    watch(k, EV_READ); /* it can always be written to */
}
