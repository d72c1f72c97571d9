/* socks.h -- the sockets of one loop, by descriptor.
 * One ev_io per socket, which stays in place (and in epoll) while a kept
 * connection waits for its next request: start and stop cost no system call.
 * A watcher that fires without an owner stops itself, and what the other end
 * said to nobody is not left there for the next request to read as its answer
 * (some servers say 408 before they close an idle connection). */
#ifndef STOKE_NET_SOCKS_H
#define STOKE_NET_SOCKS_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct socks;

struct sock {
  ev_io io;
  struct socks *in;
  void *owner; /* whom readiness is reported for; NULL: nobody */
  bool kept;   /* see sock_keep */
  bool spent;  /* idle: whatever arrives now ends the connection */
};

struct socks {
  struct ev_loop *loop;
  struct sock **by_fd;
  size_t n;
  void (*ready)(struct sock *k, int revents); /* EV_READ | EV_WRITE */
};

void socks_init(struct socks *s, struct ev_loop *loop,
                void (*ready)(struct sock *k, int revents));
void socks_deinit(struct socks *s);
/* socket(2), non-blocking and close-on-exec; -1 and errno as it has them. */
int socks_open(struct socks *s, int family, int type, int protocol);
/* The watcher goes, then the descriptor is closed. */
int socks_close(struct socks *s, int fd);
/* The entry of any descriptor (libcurl's own too, such as its resolver's). */
struct sock *socks_get(struct socks *s, int fd);
/* Report these events (EV_READ | EV_WRITE) on behalf of `owner`. */
void sock_watch(struct sock *k, int events, void *owner);
/* It is connected, and socks_close will be called for it. */
void sock_keep(struct sock *k);
/* Nobody is interested any more. Unless it is kept the descriptor may have
 * been closed, and the number may be another thread's by now. `quiet`: there
 * is nothing that the other end could have to say before it is spoken to, but
 * goodbye. */
void sock_release(struct sock *k, bool quiet);

static inline int sock_fd(const struct sock *k)
{
  return k->io.fd;
}

#endif
