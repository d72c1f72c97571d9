#include "net/fetch.h"

#include <ev.h>
#include <stdio.h>

#include "base/clock.h"

/* An exchange under way. */
struct state {
  const struct fetch_request *request;
  struct fetch *f;
  struct xfer *xfer;
  uint64_t first_ns; /* of the payload */
  bool done;
};

static int on_payload(const struct wire_payload *p, void *ud)
{
  struct state *s = ud;
  (void)p;
  if (!s->first_ns) {
    s->first_ns = clock_ns();
    xfer_first_token(s->xfer);
  }
  return 0;
}

static void on_headers(struct xfer *x, void *ud)
{
  struct state *s = ud;
  const struct xfer_info *i = xfer_info(x);
  wire_head(s->f->wire, i->status, str_of(i->content_type));
}

static int on_data(struct xfer *x, const char *p, size_t len, uint64_t at_ns,
                   void *ud)
{
  struct state *s = ud;
  int rc = wire_feed(s->f->wire, p, len);
  (void)x;
  if (rc)
    return rc;
  s->f->hung_up = s->request->enough_ns && s->first_ns &&
                  ns_since(s->first_ns, at_ns) >= s->request->enough_ns;
  return s->f->hung_up;
}

/* Which of two verdicts says more: the content's as soon as there is one, the
 * transport's when it got in the way before. */
static enum outcome verdict(const struct fetch *f)
{
  if (f->hung_up || f->info.outcome == OUTCOME_OK)
    return f->hung_up ? OUTCOME_OK : f->result->outcome;
  if (f->result->outcome == OUTCOME_API_ERROR ||
      f->result->outcome == OUTCOME_MALFORMED)
    return f->result->outcome;
  if (f->info.status >= 300 && f->result->outcome != OUTCOME_TRUNCATED)
    return f->result->outcome;
  return f->info.outcome;
}

static void on_done(struct xfer *x, void *ud)
{
  struct state *s = ud;
  struct fetch *f = s->f;
  f->info = *xfer_info(x);
  buf_addstr(&f->header_lines, xfer_header_lines(x));
  wire_end(f->wire, f->info.outcome == OUTCOME_OK);
  f->result = wire_result(f->wire);
  f->outcome = verdict(f);
  f->message = f->outcome == f->result->outcome && f->result->message[0]
                   ? f->result->message
                   : f->info.message;
  s->done = true;
}

static void on_slow(EV_P_ ev_timer *t, int revents)
{
  const struct fetch_request *r = t->data;
  (void)loop, (void)revents;
  r->slow(r->ud);
}

void fetch_run(struct fetch *f, const struct fetch_request *r)
{
  static const struct xfer_ops ops = {
      .headers = on_headers, .data = on_data, .done = on_done};
  struct state s = {.request = r, .f = f};
  struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
  struct net *net = net_new(loop, &r->net);
  ev_timer slow;
  *f = (struct fetch){.wire = wire_new(), .message = ""};
  wire_start(f->wire, &r->wire, on_payload, &s);
  ev_timer_init(&slow, on_slow, (double)r->patience_ns / 1e9, 0);
  slow.data = (void *)r;
  if (r->slow)
    ev_timer_start(loop, &slow);
  s.xfer = xfer_start(net, &r->http, &ops, &s);
  while (!s.done)
    ev_run(loop, EVRUN_ONCE);
  ev_timer_stop(loop, &slow);
  net_free(net);
  ev_loop_destroy(loop);
}

void fetch_free(struct fetch *f)
{
  wire_free(f->wire);
  buf_free(&f->header_lines);
  *f = (struct fetch){0};
}

const char *fetch_loop_version(char out[32])
{
  snprintf(out, 32, "libev %d.%d", ev_version_major(), ev_version_minor());
  return out;
}
