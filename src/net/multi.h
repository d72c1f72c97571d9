/* multi.h -- one curl multi on libev: its timer and its sockets.
 * The libcurl of it is multi.c's business. */
#ifndef STOKE_NET_MULTI_H
#define STOKE_NET_MULTI_H

#include <ev.h>
#include <stdint.h>

#include "base/list.h"

struct net;
struct sock;
struct xfer;

struct multi {
  struct net *net;
  void *curl; /* CURLM */
  ev_timer timer;
  struct list idle; /* exchanges pinned to it that are free */
  unsigned seats;   /* exchanges pinned to it, */
  unsigned busy;    /* those of them that are taken, */
  unsigned open;    /* and sockets: open > busy: one waits to be used */
  uint64_t recent;  /* when one became free, in net's count of that */
};

struct multi *multi_new(struct net *n);
void multi_free(struct multi *m);
/* A seat more: it keeps a connection for each. */
void multi_seat(struct multi *m);
/* Add the exchange's handle and let it go as far as it can now. */
void multi_add(struct multi *m, struct xfer *x);
/* Take it out; a transfer that still runs is cut off, its socket closed. */
void multi_remove(struct multi *m, struct xfer *x);
/* A socket is ready (EV_READ | EV_WRITE). */
void multi_ready(struct sock *k, int revents);
/* Let curl look at what is due by its own timers. */
void multi_kick(struct multi *m);

#endif
