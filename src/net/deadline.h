/* deadline.h -- how long an exchange may take, and ends it when it took longer.
 * One libev timer per exchange that is set lazily: arrivals only move a
 * number, and the timer, firing early, sets itself to what is left. It is
 * precise to a millisecond or two. */
#ifndef STOKE_NET_DEADLINE_H
#define STOKE_NET_DEADLINE_H

struct xfer;

void deadline_init(struct xfer *x);
void deadline_deinit(struct xfer *x);
/* After a change that may have brought the next deadline nearer. */
void deadline_arm(struct xfer *x);

#endif
