/* open.h -- net_preconnect from the inside. */
#ifndef STOKE_NET_OPEN_H
#define STOKE_NET_OPEN_H

struct net;

/* Start what may be started, report what is complete. */
void openings_step(struct net *n);
void openings_free(struct net *n);

#endif
