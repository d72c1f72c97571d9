/* exchange_impl.h -- the inside of an exchange, for exchange.c and the file
 * about the hooks of its stream, exchange_hooks.c. */
#ifndef STOKE_SCRIPT_EXCHANGE_IMPL_H
#define STOKE_SCRIPT_EXCHANGE_IMPL_H

#include "base/list.h"
#include "net/joiner.h"
#include "script/exchange.h"
#include "script/vm_stream.h"

struct exchange {
  struct list node; /* in the pool's `busy` or `idle` */
  struct exchange_pool *pool;
  struct request request;
  struct xfer *xfer; /* while on the wire */
  struct wire *wire;
  struct record record;
  uint64_t arrival_ns; /* of the bytes being read */
  int64_t told_tokens; /* cumulative usage so far; 0: none yet */
  struct record_event *events;
  size_t events_cap;
  struct buf url;
  char message[320];
  bool hangs_up;      /* the total limit is cancel_after, no time-out */
  bool hooked;        /* its stream is shown to the script */
  bool script_failed; /* one of its hooks did */
  bool hung_up;       /* the script, or its cancel_after, had enough */
  bool first_waits;   /* to be told, once the hooks have seen it */
  bool ending;        /* no data will come, but perhaps an event */
  size_t text_end, reasoning_end; /* of the last that hooks have seen */
  struct joiner joiner;           /* of the texts that on_chunk is given */
  void (*first)(void *ud);
  exchange_done_cb *done;
  void *ud;
};

/* Where the texts of unseen events lie: in what wire keeps, or here. */
enum unseen_source { UNSEEN_TEXT, UNSEEN_REASONING, UNSEEN_OWN };

/* Payload events that are in their record already and that the hooks have not
 * been shown: of one read of one exchange, all of one kind, their texts behind
 * each other in one place. */
struct unseen {
  struct exchange *of; /* NULL: there are none */
  unsigned n, max;
  unsigned lot;    /* what max is to be: as many as take a moment */
  unsigned fields; /* of each, as in a payload, */
  bool cut;        /* and this */
  enum unseen_source source;
  size_t start;               /* there the first one's text begins, */
  size_t ends[VM_EVENTS_MAX]; /* and there each of them ends, as they came */
  uint32_t before;            /* events of the answer before the first */
  struct buf own;
  struct {
    size_t text, reasoning; /* that wire had kept, where `ends` doesn't say */
  } kept[VM_EVENTS_MAX];
  struct buf plain; /* the texts without escapes, if there are any, */
  size_t plain_ends[VM_EVENTS_MAX]; /* and their ends */
};

struct exchange_pool {
  struct exchange_config config;
  struct exchange_live live;
  struct list busy, idle;
  struct unseen unseen;
};

/* exchange.c: a payload's place in the record. Nonzero: that is enough; so
 * says the client that hangs up, with cancel_after of the request. */
int exchange_add_payload(struct exchange *x, const struct wire_payload *p);

/* The same for all but a few payloads, without a call. False: not for this
 * one, and nothing is done. */
static inline bool exchange_add_plainly(struct exchange *x,
                                        const struct wire_payload *p)
{
  struct record *r = &x->record;
  if (!r->first_answer_ns || r->n_events == x->events_cap || p->choice ||
      p->completion_tokens >= 0 || x->request.cancel_after_tokens)
    return false;
  r->chunks++;
  x->pool->live.tokens++;
  r->last_token_ns = x->arrival_ns;
  x->events[r->n_events++] = record_event_make(r->sent_ns, x->arrival_ns, 0, 0);
  return true;
}

int exchange_on_payload(const struct wire_payload *p, void *ud);

/* exchange_hooks.c: instead, when hooks want to see it. They are called when
 * a read is over, or what is to be seen is about to change. */
int exchange_on_hooked_payload(const struct wire_payload *p, void *ud);
int exchange_settle(void *ud);
void exchange_read_over(struct xfer *xf, void *ud);

#endif
