/* server.h -- what the parts of a running server share.
 * For conn, exchange, route and blast only; others see mock.h. */
#ifndef STOKE_MOCK_SERVER_H
#define STOKE_MOCK_SERVER_H

#include <ev.h>

#include "base/rxtime.h"
#include "mock/blast.h"
#include "mock/conn.h"
#include "mock/mock.h"
#include "mock/prefix.h"
#include "mock/stats.h"

struct mock {
  struct mock_config config;
  struct ev_loop *loop;
  struct mock_deadlines deadlines;
  struct mock_engine engine;
  struct mock_stats stats;
  struct mock_journal journal;
  struct mock_prefix prefix;
  struct mock_blast blast;
  struct rxtime rxtime;
  struct list open, closed, unused; /* connections */
  struct buf scratch, text;         /* of the event being made */
  char *input;                      /* what a read brought */
  char models[256]; /* the first id, for answers without a model */
  int fd, port;
  bool running;
  ev_io acceptable;
  ev_async stop;
  ev_signal sigint, sigterm;
  ev_prepare reap;
  struct mock_deadline end;   /* --duration */
  struct mock_deadline again; /* accept again, after files ran out */
};

#define MOCK_INPUT (256 << 10)

/* Enough generations were served: end the run when this turn is over. */
void mock_count_end(struct mock *m);

#endif
