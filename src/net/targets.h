/* targets.h -- where requests go: a URL, read once.
 * libcurl would parse it for every request (a tenth of its CPU on short
 * ones). */
#ifndef STOKE_NET_TARGETS_H
#define STOKE_NET_TARGETS_H

#include "base/list.h"
#include "net/names.h"

struct target { /* read-only outside targets.c */
  struct list node;
  unsigned users;
  char *url;
  void *parsed; /* CURLU */
  bool secure;
  const char *error; /* why it cannot be used, or NULL */
  char *proxy;       /* "": none */
  struct name *name; /* to be resolved first, or NULL */
};

struct targets {
  struct list all; /* the one used last is first */
  unsigned n;
  struct names *names;
  const char *proxy; /* as in net_config */
};

void targets_init(struct targets *t, struct names *names, const char *proxy);
void targets_deinit(struct targets *t);
/* The entry for a URL; give it back with target_unref. */
struct target *targets_get(struct targets *t, const char *url);
void target_unref(struct target *g);

#endif
