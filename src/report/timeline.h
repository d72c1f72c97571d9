/* timeline.h -- a run as one HTML page that needs nothing beside it: every
 * request as a bar over time (waiting, first token, gaps coloured by how long
 * they are), and how long prompts and answers were. */
#ifndef STOKE_REPORT_TIMELINE_H
#define STOKE_REPORT_TIMELINE_H

#include "report/details.h"

struct timeline {
  bool requests, lengths;   /* what to draw */
  double slow_ms, stall_ms; /* gaps from these on are coloured */
  const char *title;
};

/* Append the page; `d` is sorted. */
void timeline_write(struct buf *out, const struct timeline *t,
                    const struct details *d);

#endif
