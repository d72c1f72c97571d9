/* Connections ahead of their use: connected, their TLS handshake done, and
 * not one byte of HTTP sent. */
#include "net/open.h"

#include <stdio.h>

#include "base/mem.h"
#include "net/headers.h"
#include "net/net.h"

/* Handshakes at once: more could overflow a server's listen queue, and a SYN
 * that is dropped is sent again only after a second. */
#define AT_ONCE 64

struct opening {
  struct list node;    /* in net.openings */
  struct list waiting; /* exchanges taken from the pool, by node */
  unsigned running, opened;
  bool ended;
  net_preconnect_cb *cb;
  void *ud;
  char first_error[256];
};

static void on_done(struct xfer *x, void *ud)
{
  struct opening *o = ud;
  o->running--;
  if (x->info.outcome == OUTCOME_OK)
    o->opened++;
  else if (!o->first_error[0] && !o->ended)
    snprintf(o->first_error, sizeof o->first_error, "%s", x->info.message);
}

static const struct xfer_ops ops = {.done = on_done};

void net_preconnect(struct net *n, const char *url, unsigned count,
                    net_preconnect_cb *done, void *ud)
{
  struct opening *o = mem_new(struct opening);
  o->cb = done;
  o->ud = ud;
  list_init(&o->waiting);
  /* All are taken now, so that one which is through is not taken again. */
  for (unsigned i = 0; i < count; i++) {
    struct xfer *x = net_take(n);
    xfer_prepare(x, &(struct xfer_request){.method = "GET", .url = url}, &ops,
                 o);
    x->open_only = true;
    list_append(&o->waiting, &x->node);
  }
  list_append(&n->openings, &o->node);
  net_schedule(n);
}

static void end(struct xfer *x)
{
  xfer_end(x, OUTCOME_CANCELLED, "not needed any more");
}

static void start_some(struct opening *o)
{
  while ((o->running < AT_ONCE || o->ended) && !list_empty(&o->waiting)) {
    struct xfer *x = LIST_ENTRY(list_pop(&o->waiting), struct xfer, node);
    o->running++;
    xfer_ready(x);
    if (o->ended)
      end(x);
  }
}

static void end_those(struct list *exchanges)
{
  for (struct list *i = exchanges->next, *next; i != exchanges; i = next) {
    struct xfer *x = LIST_ENTRY(i, struct xfer, node);
    next = i->next;
    if (x->open_only)
      end(x);
  }
}

void net_preconnect_end(struct net *n)
{
  for (struct list *i = n->openings.next; i != &n->openings; i = i->next)
    LIST_ENTRY(i, struct opening, node)->ended = true;
  end_those(&n->ready);
  end_those(&n->unnamed);
  end_those(&n->running);
  net_schedule(n);
}

void openings_step(struct net *n)
{
  struct list *node = n->openings.next, *next;
  for (; node != &n->openings; node = next) {
    struct opening *o = LIST_ENTRY(node, struct opening, node);
    next = node->next;
    start_some(o);
    if (o->running)
      continue;
    list_remove(node);
    o->cb(o->opened, o->first_error, o->ud);
    mem_free(o);
  }
}

void openings_free(struct net *n)
{
  struct list *node, *x;
  while ((node = list_pop(&n->openings))) {
    struct opening *o = LIST_ENTRY(node, struct opening, node);
    while ((x = list_pop(&o->waiting)))
      xfer_free(LIST_ENTRY(x, struct xfer, node));
    mem_free(o);
  }
}
