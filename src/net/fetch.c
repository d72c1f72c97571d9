#include "net/fetch.h"

#include <ev.h>
#include <netdb.h>
#include <stdio.h>

#include "base/clock.h"
#include "net/names.h"

/* An exchange under way. */
struct state {
  const struct fetch_request *request;
  struct fetch *f;
  struct xfer *xfer;
  uint64_t first_ns; /* of the payload */
  uint64_t at_ns;    /* when the bytes came that are being read */
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
  if (s->request->payload)
    s->request->payload(s->at_ns, s->request->ud);
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
  int rc;
  s->at_ns = at_ns;
  s->f->pieces++;
  rc = wire_feed(s->f->wire, p, len);
  if (rc)
    return rc;
  if (wire_ended(s->f->wire))
    xfer_answered(x);
  s->f->hung_up = s->request->enough_ns && s->first_ns &&
                  ns_since(s->first_ns, at_ns) >= s->request->enough_ns;
  return s->f->hung_up;
}

static void on_done(struct xfer *x, void *ud)
{
  struct state *s = ud;
  struct fetch *f = s->f;
  f->info = *xfer_info(x);
  buf_addstr(&f->header_lines, xfer_header_lines(x));
  wire_end(f->wire, f->info.outcome == OUTCOME_OK);
  f->result = wire_result(f->wire);
  f->outcome = f->hung_up
                   ? OUTCOME_OK
                   : wire_outcome(f->result, f->info.outcome, f->info.status);
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
  f->counts = net_counts(net);
  net_free(net);
  ev_loop_destroy(loop);
}

/* ---- a name alone ---- */

struct lookup {
  struct ev_loop *loop;
  bool done;
};

static void on_named(struct name *name, void *ud)
{
  struct lookup *l = ud;
  l->done = name->state != NAME_PENDING;
}

static void on_late(EV_P_ ev_timer *t, int revents)
{
  struct lookup *l = t->data;
  (void)loop, (void)revents;
  l->done = true;
}

static void list_addresses(const struct name *name, struct buf *out)
{
  for (size_t i = 0; i < name->n_addresses; i++) {
    char text[64];
    const struct sockaddr *a = (const struct sockaddr *)&name->addresses[i];
    if (getnameinfo(a, sizeof name->addresses[i], text, sizeof text, NULL, 0,
                    NI_NUMERICHOST) == 0)
      buf_addf(out, "%s\n", text);
  }
}

int fetch_name(struct str host, uint64_t limit_ns, struct buf *addresses,
               char error[128])
{
  struct lookup l = {.loop = ev_loop_new(EVFLAG_AUTO)};
  struct names *names = names_new(l.loop, on_named, &l);
  struct name *name = names_get(names, host, 0);
  ev_timer late;
  int rc;
  ev_timer_init(&late, on_late, (double)limit_ns / 1e9, 0);
  late.data = &l;
  ev_timer_start(l.loop, &late);
  name_ask(name);
  while (!l.done)
    ev_run(l.loop, EVRUN_ONCE);
  rc = name->state == NAME_READY ? 0 : -1;
  snprintf(error, 128, "%s",
           name->state == NAME_PENDING ? "no answer in time" : name->error);
  list_addresses(name, addresses);
  ev_timer_stop(l.loop, &late);
  names_free(names);
  ev_loop_destroy(l.loop);
  return rc;
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
