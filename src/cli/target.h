/* target.h -- the server's URL as people write it, put in order.
 * People paste a bare host, a base with or without /v1, a whole request URL,
 * a trailing slash, two schemes. Pure: nothing is resolved or contacted. */
#ifndef STOKE_CLI_TARGET_H
#define STOKE_CLI_TARGET_H

#include "base/buf.h"
#include "base/err.h"

/* A request goes to base + path + query. Strings are owned, "" where there is
 * nothing. */
struct target {
  char *base;     /* "https://host:8443/prefix": no slash at its end, no /v1 */
  char *endpoint; /* "chat", "anthropic", … or "": what the URL itself names */
  char *query;    /* "?api-version=2" or "" */
  bool v1;        /* the URL had a /v1 */
  bool other_root;    /* the URL is its own API root: no /v1 behind it */
  struct buf notices; /* what was changed or guessed, a line each */
};

/* `place` names the value's origin in messages. 0, or -1 with a message that
 * never shows a password; *t is then empty. Free with target_free. */
int target_parse(struct target *t, const char *url, const char *place,
                 struct err *e);
/* What to send to, once --endpoint (a name, "/path" or NULL: what the URL
 * names, or chat) is known: a name, or a path that stands behind the base.
 * Owned by the caller. NULL and a message when URL and option contradict each
 * other or the option cannot be read. */
char *target_endpoint(const struct target *t, const char *option,
                      const char *place, struct err *e);
void target_free(struct target *t);

#endif
