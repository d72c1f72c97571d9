/* netclient.h -- a loop, a net and exchanges whose results are kept (header
 * only), for tests of net/xfer. */
#ifndef STOKE_TESTS_NETCLIENT_H
#define STOKE_TESTS_NETCLIENT_H

#include <ev.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "net/xfer.h"

struct client {
  struct ev_loop *loop;
  struct net *net;
  unsigned running;
};

struct result {
  struct client *client;
  struct xfer *x;
  struct xfer_info info;
  struct buf body, lines;
  unsigned heads, pieces, dones;
  uint64_t arrivals[64];  /* of the first pieces */
  uint64_t callbacks[64]; /* when they were handed over */
  bool backwards;         /* an arrival before its predecessor */
  unsigned stop_at;       /* data returns nonzero at this piece */
  void (*on_data)(struct result *r);
  void (*on_done)(struct result *r);
  void *arg;
};

static inline void client_init(struct client *c, const struct net_config *n)
{
  *c = (struct client){.loop = ev_loop_new(EVFLAG_AUTO)};
  c->net = net_new(c->loop, n);
}

static inline void client_deinit(struct client *c)
{
  net_free(c->net);
  ev_loop_destroy(c->loop);
}

static inline void on_headers_(struct xfer *x, void *ud)
{
  struct result *r = ud;
  (void)x;
  r->heads++;
}

static inline int on_data_(struct xfer *x, const char *p, size_t len,
                           uint64_t at_ns, void *ud)
{
  struct result *r = ud;
  (void)x;
  if (r->pieces < 64) {
    r->arrivals[r->pieces] = at_ns;
    r->callbacks[r->pieces] = clock_ns();
  }
  if (r->pieces && r->pieces < 64 && at_ns < r->arrivals[r->pieces - 1])
    r->backwards = true;
  r->pieces++;
  buf_add(&r->body, p, len);
  if (r->on_data)
    r->on_data(r);
  return r->stop_at && r->pieces == r->stop_at;
}

static inline void on_done_(struct xfer *x, void *ud)
{
  struct result *r = ud;
  r->dones++;
  r->info = *xfer_info(x);
  buf_addstr(&r->lines, xfer_header_lines(x));
  r->client->running--;
  if (r->on_done)
    r->on_done(r);
  if (r->client->running == 0)
    ev_break(r->client->loop, EVBREAK_ONE); /* it would sleep first */
}

static const struct xfer_ops result_ops = {
    .headers = on_headers_, .data = on_data_, .done = on_done_};

static inline void start(struct client *c, struct result *r,
                         const struct xfer_request *q)
{
  r->client = c;
  c->running++;
  r->x = xfer_start(c->net, q, &result_ops, r);
}

static inline void too_long_(EV_P_ ev_timer *w, int revents)
{
  (void)loop;
  (void)revents;
  *(bool *)w->data = true;
}

/* Turn the loop until `*left` is 0; ends the process when that
 * takes 90 s (a sanitizer can need 30). */
static inline void turn_until(struct client *c, const unsigned *left)
{
  bool late = false;
  ev_timer t;
  ev_timer_init(&t, too_long_, 90, 0);
  t.data = &late;
  ev_now_update(c->loop);
  ev_timer_start(c->loop, &t);
  while (*left && !late)
    ev_run(c->loop, EVRUN_ONCE);
  ev_timer_stop(c->loop, &t);
  if (late) {
    fprintf(stderr, "# exchanges still run after 90 s\n");
    abort();
  }
}

static inline void run(struct client *c)
{
  turn_until(c, &c->running);
}

/* Turn the loop for a while, whatever runs. */
static inline void turn_for(struct client *c, double seconds)
{
  bool over = false;
  ev_timer t;
  ev_timer_init(&t, too_long_, seconds, 0);
  t.data = &over;
  ev_now_update(c->loop);
  ev_timer_start(c->loop, &t);
  while (!over)
    ev_run(c->loop, EVRUN_ONCE);
}

static inline void result_free(struct result *r)
{
  buf_free(&r->body);
  buf_free(&r->lines);
}

#endif
