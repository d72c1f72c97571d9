/* net.h -- the inside of net's client: what net.c, multi.c, xfer.c, easy.c,
 * deadline.c and open.c share. Others include net/xfer.h. */
#ifndef STOKE_NET_NET_H
#define STOKE_NET_NET_H

#include "base/list.h"
#include "base/rxtime.h"
#include "net/multi.h"
#include "net/socks.h"
#include "net/targets.h"
#include "net/xfer.h"

/* An exchange's life: IDLE in its multi's list; READY in net.ready until it is
 * its turn to be handed to curl; RUNNING in net.running (or net.unnamed as
 * long as its host's address isn't known); OVER in net.over until `done` was
 * called. */
enum xfer_state { XFER_IDLE, XFER_READY, XFER_RUNNING, XFER_OVER };

/* An exchange, its easy handle and its seat in a multi, reused for ever. */
struct xfer {
  struct list node; /* in the list that belongs to the state */
  struct list pause_node;
  struct net *net;
  struct multi *multi;
  void *easy; /* CURL */
  enum xfer_state state;
  bool added; /* the multi has it */

  const struct xfer_ops *ops;
  void *ud;
  struct xfer_headers *headers;
  struct id_line *id; /* x-request-id, in front of `headers` */
  struct str body;
  struct target *target; /* what the handle is set to */
  bool keep_headers, own_connection;
  bool open_only; /* stop when the connection stands, send nothing */
  uint64_t first_ns, idle_ns, total_ns;
  uint64_t name_wait_ns; /* how long its name took */

  struct xfer_info info; /* .message is curl's error buffer until the end */
  struct buf header_lines;
  char encoding[32]; /* Content-Encoding */

  struct sock *sock;   /* the one curl watches, or NULL */
  int opened[2];       /* the sockets opened last for it, or -1 */
  unsigned attempts;   /* requests put on the wire */
  uint64_t opening_ns; /* since when it waits for a connection */
  bool wired;          /* the current connection is ready */
  bool head_complete, first_token;
  int os_errno;  /* seen by us and not by curl */
  uint64_t turn; /* the turn `arrival_ns` belongs to */
  uint64_t arrival_ns;
  const char *last_piece; /* of body, in that turn; compared only */
  size_t turn_bytes;      /* body bytes delivered in that turn */
  struct list fed_node;   /* in net.fed */
  ev_timer deadline;      /* lazily set: it may fire early */
};

struct net {
  struct ev_loop *loop;
  struct net_config config; /* strings are ours */
  enum net_clock clock;
  struct rxtime rx;
  int stamped; /* a socket that has the kernel stamp while we live, or -1 */
  struct socks socks;
  struct names *names;
  struct targets targets;
  void *share; /* CURLSH: what names.c found out, TLS sessions */
  struct multi **multis;
  unsigned n_multis;
  struct net_counts counts;
  struct xfer_headers *no_headers;

  struct list ready, unnamed, running, over, paused, openings;
  struct list fed; /* got data since the last net_flush and want to know when
                    * that was all */
  ev_check kick;   /* never started: fed by net_schedule */
  ev_prepare before_sleep; /* on while somebody is ready */
  ev_timer more;           /* at once: the next turn of the paused */
  bool flushing, in_curl;
  uint64_t turn;   /* counts calls into curl */
  uint64_t leaves; /* counts net_leave */
  unsigned iteration;
  uint64_t spent_ns; /* in starting exchanges, this iteration */
};

/* Have net_flush run soon, if it isn't about to. */
void net_schedule(struct net *n);
/* After every call that may have ended exchanges: call their `done`. */
void net_flush(struct net *n);
/* A free exchange, best where a connection waits to be used. */
struct xfer *net_take(struct net *n);
/* It needs its connection no longer, but isn't free yet … */
void net_leave(struct xfer *x);
/* … and now it is. */
void net_give(struct xfer *x);

struct xfer *xfer_new(struct net *n, struct multi *m);
void xfer_free(struct xfer *x);
/* Fill in what the request says; x stays IDLE. */
void xfer_prepare(struct xfer *x, const struct xfer_request *r,
                  const struct xfer_ops *ops, void *ud);
/* IDLE -> READY */
void xfer_ready(struct xfer *x);
/* READY -> RUNNING */
void xfer_begin(struct xfer *x);
/* Its name's lookup is over: goes on, or ends. */
void xfer_name_answered(struct xfer *x);
/* Anything -> OVER. The first verdict holds. */
void xfer_end(struct xfer *x, enum outcome o, const char *message);
/* That was all the data for now. */
void xfer_read_over(struct xfer *x);
/* OVER -> IDLE, through `done`. */
void xfer_finish(struct xfer *x);
/* The multi reports: curl is about to read from x's socket; the transfer
 * ended with a CURLcode. */
void xfer_before_read(struct xfer *x);
void xfer_ended(struct xfer *x, int code);
/* When did what is being delivered arrive? `piece` is of the body, as curl
 * gave it. */
uint64_t xfer_arrival(struct xfer *x);
uint64_t xfer_arrival_of(struct xfer *x, const char *piece);
/* Would whatever arrives on its connection now be out of place? After a TLS
 * handshake it need not be (session tickets), until an answer followed. */
bool xfer_is_spent(const struct xfer *x);
/* It has no connection, and no socket that could become one. */
bool xfer_is_stuck(const struct xfer *x);
/* curl watches the socket, also for writing or no longer so. */
void xfer_watched(struct xfer *x, bool for_write);
/* `s` as a C string; what is too long is cut. */
void xfer_copy(char *out, size_t size, struct str s);
/* Go on with one that was paused for having had its share of a turn. */
void xfer_resume(struct xfer *x);

#endif
