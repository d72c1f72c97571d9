/* control_impl.h -- a control coroutine from the inside, for control.c and
 * bind_run.c. */
#ifndef STOKE_SCRIPT_CONTROL_IMPL_H
#define STOKE_SCRIPT_CONTROL_IMPL_H

#include "script/control.h"

struct lua_State;

/* What Lua holds: the run may be over before its last reference. */
struct control_box {
  struct control *control;
};

struct control {
  struct vm *vm;
  struct control_ops ops;
  struct lua_State *co;
  int co_ref, n_args;
  bool over; /* control_end was called: nothing can be set any more */
  struct control_box *box;
  struct control_want want;
  struct buf label;   /* of the measurement under way */
  struct buf reports; /* a JSON object, or empty */
  struct buf said;    /* run:say's lines */
  struct buf stop;
  struct buf failure; /* it returned nil, and this */
};

/* bind_run.c: the `run` of control(run); sets c->box. [-0, +1, m] */
void control_push(struct lua_State *L, struct control *c);

/* bind_measure.c: what run:measure returns; takes *s over. [-0, +1, m] */
void measure_push(struct lua_State *L, struct summary *s, const char *label,
                  const uint64_t in_flight[2]);

#endif
