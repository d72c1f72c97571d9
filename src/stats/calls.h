/* calls.h -- the HTTP exchanges beside the load: retrieval, admin, whatever a
 * session did by s:http. They are in no figure of the LLM requests; each name
 * has its own. A worker adds, the main thread merges. The warm-up's are not
 * counted. */
#ifndef STOKE_STATS_CALLS_H
#define STOKE_STATS_CALLS_H

#include "stats/hist.h"
#include "stats/record.h"

/* Names beyond these share the last, "(other)". */
#define CALL_NAMES 64

struct call {
  char name[96];
  uint64_t count, failed;
  struct hist latency; /* done - sent, of those that succeeded */
};

/* A zeroed one is valid and empty. */
struct calls {
  struct call *list; /* in order of appearance */
  size_t n;
};

void calls_deinit(struct calls *c);
/* `r->http` is its name. */
void calls_add(struct calls *c, const struct record *r);
void calls_merge(struct calls *into, const struct calls *from);

#endif
