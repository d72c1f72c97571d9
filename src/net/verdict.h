/* verdict.h -- what libcurl says about a transfer's end, as an outcome.
 * Knows libcurl's codes (7.88) and the sentences in which it hides what a
 * code doesn't say. */
#ifndef STOKE_NET_VERDICT_H
#define STOKE_NET_VERDICT_H

#include <stdbool.h>

#include "base/outcome.h"

struct verdict_facts {
  int code;     /* CURLcode */
  int os_errno; /* of the socket, or 0 */
  bool wired;   /* the connection was ready and a request went out */
  bool proxied;
  bool head_complete;   /* the final status line and headers were in */
  const char *error;    /* libcurl's error text, may be "" */
  const char *encoding; /* Content-Encoding, may be "" */
};

/* OUTCOME_OK means a complete HTTP message of any status. `message` is for
 * people ("" when OK). */
enum outcome verdict(const struct verdict_facts *f, char message[256]);

#endif
