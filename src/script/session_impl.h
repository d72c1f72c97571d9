/* session_impl.h -- a session from the inside, for session.c (their life, and
 * request scenarios), session_coroutine.c (session scenarios) and what binds
 * it to Lua (bind_session.c). */
#ifndef STOKE_SCRIPT_SESSION_IMPL_H
#define STOKE_SCRIPT_SESSION_IMPL_H

#include "base/list.h"
#include "base/rng.h"
#include "net/alarm.h"
#include "script/session.h"

struct lua_State;

/* What a coroutine waits for. A binding sets it right before it yields, with
 * what belongs to it; session_coroutine.c does it when the yield has
 * succeeded. */
enum waiting {
  WAIT_NOTHING,  /* it runs, or has not begun */
  WAIT_EXCHANGE, /* s:request: pool->request */
  WAIT_ALARM,    /* s:sleep: wait_ns */
  WAIT_THINK,    /* s:think: wait_ns */
  WAIT_BRANCHES, /* s:parallel, s:race: it yields the list of functions */
  WAIT_FAIL,     /* never comes back: pool->reason */
};

/* What Lua holds: the session may be gone before its last reference. */
struct session_box {
  struct session *session;
  bool is_branch; /* for messages when it is gone */
};

struct session {
  struct list node;  /* in the pool's `live` (roots) or `idle`, or in the
                      * root's `tree` */
  struct list ready; /* in the pool's `ready`: to be resumed */
  struct session_pool *pool;
  struct session_item item;
  bool prefilled; /* the callback was called; of the root */

  /* ---- coroutine mode ---- */
  struct session *root, *parent; /* of a branch; root == self otherwise */
  struct lua_State *co;
  int co_ref;  /* the coroutine */
  int env_ref; /* {box, rng, results of s:parallel}: keeps them alive */
  int n_args;  /* on co's stack, for the next resume */
  struct session_box *box;
  struct rng *rng;
  uint32_t branch; /* 0: the session itself */
  enum waiting waiting;
  struct exchange *exchange; /* in flight */
  struct alarm alarm;
  uint64_t wait_ns;
  uint32_t open_branches; /* not ended yet */
  uint32_t index;         /* of this branch in its parallel call */
  bool racing;            /* s:race: the first to win ends the others */
  uint32_t winner;        /* its index; 0: none */
  bool dead;              /* not to be resumed any more */

  /* of the root */
  struct list tree; /* branches alive */
  uint32_t turns, planned, next_branch;
  size_t bodies;   /* bytes on the wire, of all its branches */
  bool has_waited; /* for anything: it no longer keeps the timetable */
  uint64_t started_ns, think_ns;
  uint32_t thinking;   /* branches in s:think, */
  uint64_t thought_ns; /* since when there are any */
  enum session_end end;
  struct buf reason;
};

struct session_pool {
  struct session_config config;
  struct list idle, live, ready;
  bool draining;          /* `ready` is being worked off */
  struct alarm more;      /* `ready` was not worked off to its end */
  struct buf reason;      /* of a verdict or a failure, reused */
  struct request request; /* what a script describes, before it has a slot */
  uint64_t requests;      /* started, of max_requests */
  bool stopped;           /* the run was asked to stop */
  bool cancelled;         /* nothing new goes out */
  const char *why;        /* it was */
};

/* ---- session.c ---- */

/* An idle one or a new one, in no list yet. */
struct session *session_take(struct session_pool *p,
                             const struct session_item *item);
void session_give_back(struct session *s);
/* After every way into Lua: does the script want the run to end? `failed`:
 * this was a new error. */
void session_watch_script(struct session_pool *p, bool failed);
/* The item is over: given back and told. */
void session_end_item(struct session *s);
/* For exchange_start; `ud` is the session. */
void session_first_token(void *ud);
/* What scripts see of an exchange; as long as that is there. */
struct response session_response(struct exchange *x);
/* An exchange ended: on_response's word on it, and its record handed over. */
void session_settle(struct session *s, struct exchange *x);

/* ---- session_coroutine.c ---- */

/* Make the coroutine of a session, and let it run. */
void session_begin(struct session *s);
/* End the whole session, whoever of it found the reason. */
void session_kill(struct session *root, enum session_end end, const char *why);
/* A branch of s that runs the function on top of `L` (popped), as number
 * `index` of the parallel call that it waits for. [-1, +0, m] */
void session_branch(struct session *s, struct lua_State *L, uint32_t index);

/* ---- bind_session.c ---- */

/* The `s` of a session, on top of L; sets s->box, s->rng (not seeded) and
 * s->env_ref. [-0, +1, m] */
void session_push(struct lua_State *L, struct session *s);
/* Begin the branches of the list of functions that s has yielded.
 * [-0, +0, m] */
void session_open_branches(struct lua_State *L, struct session *s);
/* Keep the value on top of L as the result of branch `index` of s. [-1, +0, m]
 */
void session_keep_result(struct lua_State *L, struct session *s,
                         uint32_t index);
/* Push what s:parallel or s:race returns; how many. [-0, +(1|2), m] */
int session_push_results(struct lua_State *L, struct session *s);

#endif
