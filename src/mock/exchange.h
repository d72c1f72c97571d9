/* exchange.h -- one request and its answer: what is sent when.
 * A state machine over absolute deadlines. Each action appends bytes to the
 * connection; what is due at the same time is sent with one write. */
#ifndef STOKE_MOCK_EXCHANGE_H
#define STOKE_MOCK_EXCHANGE_H

#include "mock/ask.h"
#include "mock/engine.h"
#include "mock/foreign.h"
#include "mock/journal.h"
#include "mock/pipe.h"
#include "mock/reply.h"

struct mock;
struct mock_conn;

/* A stream goes HEAD ROLE TOKENS FINISH USAGE DONE END; an answer in one
 * piece (SILENT) HEAD BODY END; a scripted one HEAD SCRIPT END. */
enum mock_state {
  MOCK_IDLE,   /* no request */
  MOCK_QUEUED, /* not begun: held, waiting in line, or never to be answered */
  MOCK_SILENT, /* tokens are made but not shown */
  MOCK_HEAD,
  MOCK_ROLE,
  MOCK_TOKENS,
  MOCK_FINISH,
  MOCK_USAGE,
  MOCK_DONE,
  MOCK_SCRIPT,
  MOCK_BODY,
  MOCK_END,
  MOCK_DRAIN, /* everything is made, not all of it is written */
};

struct mock_exchange {
  struct mock_conn *conn;
  struct mock_job job;
  struct mock_deadline timer;
  struct mock_plan plan;
  struct mock_ask ask;
  struct mock_reply reply;
  struct mock_pipe pipe;
  struct mock_record record;
  struct rng rng;
  struct buf *out; /* where bytes go: the connection's, or a page's */

  enum mock_state state, after_head;
  uint64_t base;      /* ns; what TTFT and scripted events count from */
  uint64_t due;       /* ns; of the state's next action */
  uint64_t first_due; /* ns; of the first token, MOCK_NEVER: not known yet */
  uint64_t ping_due;
  bool generation;          /* chat or completions: numbered, in flight */
  bool close;               /* the connection, after the answer */
  bool parked;              /* waits for the socket to take what there is */
  bool custom;              /* the plan is this request's own */
  bool stalled, broke_json; /* those faults have happened */

  struct mock_content *contents; /* one a choice */
  size_t contents_cap;
  uint64_t choices, events, sent; /* events of a choice; sent of all */
  uint64_t credit; /* events that the engine's steps still allow */
  uint64_t fresh;  /* payload events that are not written yet */
  const char *finish;
  const json_value *script; /* the next scripted event */

  /* A body that is no generation: of an endpoint, an error or a fault. */
  int status;
  struct str content_type;
  struct buf body;
  bool fixed;
};

/* A connection's one exchange. */
void mock_exchange_init(struct mock_exchange *x, struct mock_conn *c);
void mock_exchange_deinit(struct mock_exchange *x);

/* A request is complete (in the connection's http) since `now`. */
void mock_exchange_begin(struct mock_exchange *x, uint64_t now);
/* Everything written so far has left. */
void mock_exchange_drained(struct mock_exchange *x);
/* The connection is gone; `end` says why, for the log. */
void mock_exchange_abandon(struct mock_exchange *x, const char *end);
static inline bool mock_exchange_active(const struct mock_exchange *x)
{
  return x->state != MOCK_IDLE;
}

/* ---- between the parts of it ---- */

/* route.c: decide what a request gets; leaves the state, its due time and
 * what the state needs. May close the connection. */
void mock_route(struct mock_exchange *x, uint64_t now);
/* generate.c: the same for chats, completions and their like. */
void mock_generate(struct mock_exchange *x, enum mock_api api, uint64_t now);

/* stream.c: the exchange as foreign.c sees it. */
struct mock_foreign mock_stream_foreign(struct mock_exchange *x);

/* plan_source.c: change the plan as the request's headers, or the rules, or
 * the body's "mock" object say. Mistakes go to *e. */
void mock_plan_of_headers(struct mock_exchange *x, struct err *e);
void mock_plan_of_rules(struct mock_exchange *x, struct err *e);
void mock_plan_of_body(struct mock_exchange *x, struct err *e);
/* answer.c: a plan with mistakes is answered with them (and *e is freed), one
 * that wants something in place of an answer gets it. False: go on. */
bool mock_answer_plan(struct mock_exchange *x, struct err *e, uint64_t now);
/* Answer with x->body, or with an error in place of anything
 * else (`message` is escaped JSON text; `param` may be NULL). */
void mock_answer_body(struct mock_exchange *x, int status,
                      struct str content_type, uint64_t now);
void mock_answer_text(struct mock_exchange *x, int status, const char *text,
                      struct str content_type, uint64_t now);
void mock_answer_failure(struct mock_exchange *x, int status,
                         const char *message, const char *param, uint64_t now);

/* act.c: do what the state has due and go on to the next; begin, when the
 * engine gave the job its slot at `at`; a step of the engine. */
void mock_act(struct mock_exchange *x, uint64_t now);
void mock_act_start(struct mock_exchange *x, uint64_t at);
void mock_act_step(struct mock_exchange *x, uint64_t at);
/* stream.c: the states ROLE to DONE (false: the state is another); a comment
 * between them. */
bool mock_stream_act(struct mock_exchange *x, uint64_t now);
void mock_stream_ping(struct mock_exchange *x);

/* exchange.c, for all of these. */
void mock_exchange_go(struct mock_exchange *x, enum mock_state state,
                      uint64_t due);
/* The body is made, all of it. */
void mock_exchange_made(struct mock_exchange *x);
/* Write what there is, note when. */
void mock_exchange_flush(struct mock_exchange *x);
/* Write what there is and break the connection off. */
void mock_exchange_cut(struct mock_exchange *x, bool reset);
/* A gap between events, ns. */
uint64_t mock_exchange_gap(struct mock_exchange *x);
/* The tokens so far, or what the plan wants said. */
struct mock_usage mock_exchange_usage(const struct mock_exchange *x);

static inline uint64_t mock_later(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

#endif
