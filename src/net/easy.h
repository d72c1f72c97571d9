/* easy.h -- the easy handle of an exchange: a request turned into libcurl's
 * options, libcurl's callbacks turned into instants, headers and bytes. */
#ifndef STOKE_NET_EASY_H
#define STOKE_NET_EASY_H

#include "net/xfer.h"

void easy_init(struct xfer *x);
void easy_deinit(struct xfer *x);
/* As new: libcurl counts a handle's retries over its whole life and gives up
 * at the sixth. */
void easy_renew(struct xfer *x);
/* Set what the request says, of which only `body` must live on. */
void easy_prepare(struct xfer *x, const struct xfer_request *r);
/* Into its multi, and as far as it goes at once. */
void easy_launch(struct xfer *x);
/* Out of its multi; what still runs is cut off. */
void easy_leave(struct xfer *x);
/* Deliver what was held back while paused, and read on. A CURLcode. */
int easy_resume(struct xfer *x);
/* Have curl run it when its multi is kicked. Not while it is paused. */
void easy_nudge(struct xfer *x);
uint64_t easy_body_sent(struct xfer *x);
/* The errno of the socket call that failed last. */
int easy_errno(struct xfer *x);

#endif
