/* preflight.h -- one real request before the load.
 * It is made by the scenario like those of the run, read like them, and not
 * counted. What it shows is said in words on stderr: what would fail for all
 * of them stops the run, what may be an accident does not. */
#ifndef STOKE_CLI_PREFLIGHT_H
#define STOKE_CLI_PREFLIGHT_H

#include "cli/options.h"
#include "core/config.h"
#include "script/request.h"

struct preflight {
  const struct config *config;
  const struct request *request;     /* as request(ctx) described it; NULL for
                                  * preflight_model */
  const struct option_list *secrets; /* for no eyes */
  const char *key_from; /* where the key came from, or NULL: there is none */
  bool default_url;     /* nobody said --url */
  bool quiet;           /* no remarks about what works */
  bool first_model;     /* of several models the first will do */
};

/* 0: go on. -1: the run would fail as a whole, and why has been said. */
int preflight_run(const struct preflight *p);
/* Try the request until it succeeds, for at most so long. 0, or -1 when it
 * did not, or would never, and why has been said. */
int preflight_wait(const struct preflight *p, uint64_t timeout_ns);
/* The model to use when nobody named one: the only one that the server lists.
 * Owned by the caller. NULL and messages when there is none, or a choice;
 * *hopeless tells that the server could not even be asked. */
char *preflight_model(const struct preflight *p, bool *hopeless, struct err *e);
/* The environment variable whose proxy a request to `url` would go through,
 * or NULL. Borrowed from the environment's names. */
const char *preflight_proxy(const char *url);

#endif
