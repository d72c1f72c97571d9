/* names.h -- host names, resolved beside the loop.
 * One getaddrinfo in a thread of its own per name, however many exchanges
 * wait for it: curl would start a thread for each. An answer serves until a
 * newer one arrives; one older than a minute is asked for again by the way.
 * Nothing here ever blocks the loop, not even the end. */
#ifndef STOKE_NET_NAMES_H
#define STOKE_NET_NAMES_H

#include <ev.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/list.h"

struct names;

enum name_state { NAME_PENDING, NAME_READY, NAME_FAILED };

struct name { /* read-only outside names.c but for the last member */
  struct list node;
  char *host;
  unsigned port;
  enum name_state state;
  char error[128];     /* NAME_FAILED: why */
  unsigned generation; /* counts answers */
  struct sockaddr_storage *addresses;
  size_t n_addresses;
  size_t next; /* whose turn it is */
  uint64_t asked_ns;
  bool asking;
  struct names *in;
  unsigned used_generation; /* the user's: the answer it knows */
};

/* From the loop: `name` has its first or a newer answer, or has failed. */
typedef void names_cb(struct name *name, void *ud);

struct names *names_new(struct ev_loop *loop, names_cb *cb, void *ud);
void names_free(struct names *n);
/* The entry for a name; lives as long as `n`. Nothing is asked yet. */
struct name *names_get(struct names *n, struct str host, unsigned port);
/* Ask, unless that was done a moment ago or the answer is still good. A name
 * that failed is asked again. */
void name_ask(struct name *name);
/* The addresses of a family in turn, so that connections spread over all of
 * them; NULL when there is none. */
const struct sockaddr *name_next(struct name *name, int family);
/* "host:port:address,address", as CURLOPT_RESOLVE has it. */
void name_print(const struct name *name, struct buf *out);

#endif
