/* control.h -- the script that drives the load: control(run), a coroutine on
 * the main thread. It asks for things and yields until they are done; whoever
 * owns the run (core) does them and resumes it here. */
#ifndef STOKE_SCRIPT_CONTROL_H
#define STOKE_SCRIPT_CONTROL_H

#include "base/json.h"
#include "stats/summary.h"

struct control;
struct vm;

enum control_wish {
  CONTROL_NOTHING, /* it has ended */
  CONTROL_MEASURE, /* resume with control_measured */
  CONTROL_SLEEP,   /* resume with control_resume after settle_ns */
  CONTROL_FAILED,  /* a script error, counted and shown already; or it has
                    * returned nil and why: see control_failure */
};

struct control_want {
  enum control_wish wish;
  const char *label;     /* of a measurement; valid until resumed */
  uint64_t settle_ns;    /* before it begins */
  uint64_t duration_ns;  /* that it takes */
  uint64_t num_requests; /* or until so many have ended; 0: no bound */
};

struct control_ops {
  /* run:set: the load from now on, an object with the keys of a stage. -1
   * with what is wrong with it in *e: an error in the script. */
  int (*set)(const json_value *load, struct err *e, void *ud);
  void *ud;
};

/* NULL, with the error counted and shown, when it could not be made. */
struct control *control_new(struct vm *vm, const struct control_ops *ops);
void control_free(struct control *c);
/* Run until it wants something. */
const struct control_want *control_resume(struct control *c);
/* The same, with the measurement's figures, which are taken over (*s is empty
 * after); in_flight at its begin and end. */
const struct control_want *control_measured(struct control *c,
                                            struct summary *s,
                                            uint64_t in_flight_begin,
                                            uint64_t in_flight_end);
/* The run ends for a reason of its own: what it waits for comes back empty, so
 * that it can report what it knows. It is not resumed after this, and its
 * errors are nobody's. False: it waits for nothing, being at work itself. */
bool control_end(struct control *c);
/* What it waits for. */
const struct control_want *control_wanted(const struct control *c);
/* Why it gave up, or NULL. */
const char *control_failure(const struct control *c);
/* run:stop's reason, or NULL. */
const char *control_stop_reason(const struct control *c);
/* What run:report collected: a JSON object, or nothing. */
struct str control_reports(const struct control *c);
/* What run:say wants under the result table. */
struct str control_said(const struct control *c);

#endif
