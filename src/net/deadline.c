#include "net/deadline.h"

#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/units.h"
#include "net/net.h"

/* Data waits to be read while its deadline passes: look again so soon. */
#define RECHECK_NS NS_PER_MS

struct due {
  uint64_t at_ns;
  enum outcome outcome;
  const char *what; /* "no … within" */
};

static void sooner(struct due *d, uint64_t from_ns, uint64_t after_ns,
                   enum outcome o, const char *what)
{
  if (after_ns && from_ns + after_ns < d->at_ns)
    *d = (struct due){from_ns + after_ns, o, what};
}

static struct due next_due(const struct xfer *x)
{
  const struct xfer_info *i = &x->info;
  struct due d = {UINT64_MAX, OUTCOME_OK, ""};
  sooner(&d, i->sent_ns, x->total_ns, OUTCOME_TIMEOUT_TOTAL, "not finished");
  if (!x->first_token)
    sooner(&d, i->sent_ns, x->first_ns, OUTCOME_TIMEOUT_TTFT, "no first token");
  if (i->last_byte_ns)
    sooner(&d, i->last_byte_ns, x->idle_ns, OUTCOME_TIMEOUT_IDLE, "no data");
  if (!x->wired) {
    sooner(&d, x->opening_ns, x->net->config.connect_timeout_ns,
           OUTCOME_TIMEOUT_CONNECT, "");
    d.outcome = OUTCOME_TIMEOUT_CONNECT;
    d.what = "no connection";
  }
  return d;
}

/* Arm the timer unless it fires early enough anyway: it is left running when
 * a deadline moves away, and when an exchange ends. */
static void arm(struct xfer *x, uint64_t at_ns)
{
  struct ev_loop *loop = x->net->loop;
  uint64_t now = clock_ns();
  double after = ns_to_sec(ns_since(now, at_ns));
  if (at_ns == UINT64_MAX)
    return;
  if (ev_is_active(&x->deadline)) {
    if (ev_timer_remaining(loop, &x->deadline) <= after)
      return;
    ev_timer_stop(loop, &x->deadline);
  }
  ev_timer_set(&x->deadline, after, 0);
  ev_timer_start(loop, &x->deadline);
}

/* If our own loop was late the server must not be blamed for it. */
static bool data_waits(const struct xfer *x)
{
  struct pollfd p = {.events = POLLIN};
  if (!x->sock || !x->wired)
    return list_linked(&x->pause_node);
  p.fd = sock_fd(x->sock);
  return poll(&p, 1, 0) > 0;
}

static void on_deadline(EV_P_ ev_timer *w, int revents)
{
  struct xfer *x = w->data;
  struct due d;
  char message[64], within[32];
  uint64_t now = clock_ns();
  (void)loop;
  (void)revents;
  if (x->state != XFER_RUNNING)
    return;
  d = next_due(x);
  if (now < d.at_ns) {
    arm(x, d.at_ns);
    return;
  }
  if (d.outcome != OUTCOME_TIMEOUT_TOTAL && data_waits(x)) {
    arm(x, now + RECHECK_NS);
    return;
  }
  units_show_duration(d.at_ns - (d.outcome == OUTCOME_TIMEOUT_IDLE
                                     ? x->info.last_byte_ns
                                     : x->info.sent_ns),
                      within);
  snprintf(message, sizeof message, "%s within %s", d.what, within);
  xfer_end(x, d.outcome, message);
}

void deadline_init(struct xfer *x)
{
  ev_timer_init(&x->deadline, on_deadline, 0, 0);
  x->deadline.data = x;
}

void deadline_deinit(struct xfer *x)
{
  ev_timer_stop(x->net->loop, &x->deadline);
}

void deadline_arm(struct xfer *x)
{
  arm(x, next_due(x).at_ns);
}
