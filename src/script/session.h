/* session.h -- the users of one worker: what they send and what became of it.
 * A session is one item of the timetable. In a request scenario it is a single
 * request: ask the script for it, put it on the wire (exchange.h), let
 * on_response judge, hand the record over, end. In a session scenario it is a
 * coroutine that runs session(s): every call that waits yields, and nobody
 * but session_coroutine.c resumes. Everything happens on the worker's loop and
 * thread. */
#ifndef STOKE_SCRIPT_SESSION_H
#define STOKE_SCRIPT_SESSION_H

#include "script/exchange.h"
#include "stats/record.h"
#include "stats/sessions.h"

struct ev_loop;
struct script_errors;
struct vm;

/* One item of the timetable. */
struct session_item {
  uint64_t id, due_ns;
  bool capped;
  enum phase phase;
  uint16_t stage;
  const char *stage_label; /* or NULL */
};

struct session_config {
  struct ev_loop *loop;
  struct vm *vm;
  struct exchange_pool *exchanges;
  bool coroutines;       /* the scenario has session() */
  bool judged;           /* it has on_response() */
  uint64_t max_requests; /* of a session scenario; 0: no bound */
  struct script_errors *errors;
  uint64_t max_errors; /* more script errors than this stop the run */

  /* A request ended; the record and what it points to are valid for the
   * call. */
  void (*record)(const struct record *r, void *ud);
  /* Before `ended`, in a session scenario only, and not of a session that did
   * nothing but stop the run. */
  void (*session)(const struct session_record *s, void *ud);
  /* An item's first request has its first token, or will never have one;
   * once per item, before `ended`. */
  void (*prefilled)(void *ud);
  /* An item is over; it may be the one being started. */
  void (*ended)(const struct session_item *item, void *ud);
  /* The script has nothing left to send: start no more. In a request scenario
   * the item that found this out did not count; `ended` follows for it. */
  void (*exhausted)(void *ud);
  /* The script wants the whole run to stop, or failed too often. */
  void (*stop)(const char *why, void *ud);
  void *ud;
};

struct session_pool;

struct session_pool *session_pool_new(const struct session_config *c);
/* Nothing may be in flight any more. */
void session_pool_free(struct session_pool *p);

/* Never fails: what goes wrong becomes a record or a stop. */
void session_start(struct session_pool *p, const struct session_item *item);
/* End everything: requests in flight are hung up on (outcome `cancelled`),
 * sessions are cut. Ends follow from the loop or at once. Until the next
 * session_start nothing new goes out. */
void session_cancel_all(struct session_pool *p, const char *why);

#endif
