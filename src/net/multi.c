#include "net/multi.h"

#include <curl/curl.h>

#include "base/mem.h"
#include "net/easy.h"
#include "net/net.h"

/* Of a name, at most so many are tried in one go. */
#define MAX_ADDRESSES 32

static struct xfer *xfer_of(CURL *easy)
{
  char *x = NULL;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &x);
  return (struct xfer *)(void *)x;
}

static void drain(struct multi *m)
{
  CURLMsg *msg;
  int left;
  while ((msg = curl_multi_info_read(m->curl, &left)))
    if (msg->msg == CURLMSG_DONE)
      xfer_ended(xfer_of(msg->easy_handle), (int)msg->data.result);
}

/* Every call that may run callbacks is a turn: what is read in one turn from
 * one socket shares an arrival and a ration of bytes. */
static void act(struct multi *m, curl_socket_t fd, int events)
{
  int running;
  struct net *n = m->net;
  n->in_curl = true;
  curl_multi_socket_action(m->curl, fd, events, &running);
  drain(m);
  n->in_curl = false;
}

void multi_kick(struct multi *m)
{
  m->net->turn++;
  act(m, CURL_SOCKET_TIMEOUT, 0);
}

/* When an address has failed libcurl 7.88 prepares the next, but opens its
 * socket only when it is run again: by a timer of 200 ms, or of minutes. */
static void move_on(struct multi *m, struct xfer *x)
{
  for (int i = 0; i < MAX_ADDRESSES && xfer_is_stuck(x); i++) {
    m->net->in_curl = true;
    easy_nudge(x);
    m->net->in_curl = false;
    multi_kick(m);
  }
}

void multi_ready(struct sock *k, int revents)
{
  struct xfer *x = k->owner;
  struct net *n = x->net;
  if (!list_linked(&x->pause_node)) {
    n->turn++;
    if (revents & EV_READ)
      xfer_before_read(x);
    act(x->multi, sock_fd(k),
        (revents & EV_READ ? CURL_CSELECT_IN : 0) |
            (revents & EV_WRITE ? CURL_CSELECT_OUT : 0));
    move_on(x->multi, x);
  }
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *multi,
                     void *sock)
{
  struct multi *m = multi;
  struct sock *k = sock;
  struct xfer *x = xfer_of(easy);
  if (what == CURL_POLL_REMOVE) {
    if (k)
      sock_release(k, xfer_is_spent(x));
    if (x->sock == k)
      x->sock = NULL;
    return 0;
  }
  if (!k) {
    k = socks_get(&m->net->socks, fd);
    curl_multi_assign(m->curl, fd, k);
  }
  x->sock = k;
  sock_watch(k,
             (what & CURL_POLL_IN ? EV_READ : 0) |
                 (what & CURL_POLL_OUT ? EV_WRITE : 0),
             x);
  xfer_watched(x, what & CURL_POLL_OUT);
  return 0;
}

static int on_timeout_change(CURLM *curl, long ms, void *multi)
{
  struct multi *m = multi;
  (void)curl;
  ev_timer_stop(m->net->loop, &m->timer);
  if (ms < 0)
    return 0;
  /* Relative to the loop's idea of now, so it may fire too early: curl then
   * finds nothing due and asks again for the rest. */
  ev_timer_set(&m->timer, (double)ms / 1e3, 0);
  ev_timer_start(m->net->loop, &m->timer);
  return 0;
}

static void on_timeout(EV_P_ ev_timer *w, int revents)
{
  struct multi *m = w->data;
  (void)loop;
  (void)revents;
  multi_kick(m);
  net_flush(m->net);
}

struct multi *multi_new(struct net *n)
{
  struct multi *m = mem_new(struct multi);
  m->net = n;
  list_init(&m->idle);
  m->curl = curl_multi_init();
  ev_timer_init(&m->timer, on_timeout, 0, 0);
  m->timer.data = m;
  curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m);
  curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, on_timeout_change);
  curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m);
  curl_multi_setopt(m->curl, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
  return m;
}

void multi_free(struct multi *m)
{
  curl_multi_cleanup(m->curl);
  ev_timer_stop(m->net->loop, &m->timer);
  mem_free(m);
}

void multi_seat(struct multi *m)
{
  m->seats++;
  /* Room for two origins; with less, kept connections would be closed to
   * make place, each then costing a new handshake. */
  curl_multi_setopt(m->curl, CURLMOPT_MAXCONNECTS, (long)m->seats * 2 + 8);
}

void multi_add(struct multi *m, struct xfer *x)
{
  curl_multi_add_handle(m->curl, x->easy);
  multi_kick(m);
  move_on(m, x);
}

void multi_remove(struct multi *m, struct xfer *x)
{
  bool was = m->net->in_curl;
  m->net->in_curl = true;
  curl_multi_remove_handle(m->curl, x->easy);
  m->net->in_curl = was;
}
