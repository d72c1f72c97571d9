/* notes.h -- what a reader must know beside the table.
 * Before it: that the client was the limit, that the run was cut, and, below
 * 90 % success, why requests failed. After it: failures by outcome with one
 * sample each, the success rate, the client's verdict, and warnings about
 * what the numbers mean. Each line ends in a newline; "" when there is
 * nothing to say. */
#ifndef STOKE_REPORT_NOTES_H
#define STOKE_REPORT_NOTES_H

#include "report/run_info.h"
#include "stats/summary.h"

void notes_before(struct buf *out, const struct summary *s,
                  const struct run_info *r);
void notes_after(struct buf *out, const struct summary *s,
                 const struct run_info *r);

/* What to try when requests end like this, or NULL. For the notes, the
 * results' `hint` and the pre-flight. */
const char *outcome_hint(enum outcome o, int status);

#endif
