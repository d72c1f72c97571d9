/* probe.h -- single questions to a server, for `stoke check`.
 * Each is one exchange (or a name's lookup, or a TLS handshake) whose facts
 * are handed over as JSON; which question comes next and what an answer means
 * is lua/stoke/cmd/check.lua's business. Blocks, within limits. */
#ifndef STOKE_CLI_PROBE_H
#define STOKE_CLI_PROBE_H

#include "cli/run_options.h"

struct probe {
  struct run_options *options; /* target, key, headers; its model is set by
                                * the first "request" that names one */
  struct scenario *scenario;   /* that makes the requests */
  struct option_list models;   /* that the server listed */
  bool listed;
};

/* A tool_ask_cb; `ud` is the probe. Questions:
 *   {"op": "name", "host"}            addresses[], error, seconds
 *   {"op": "certificate"}             lines[], chain, error
 *   {"op": "models"}                  GET of the list: an exchange, and ids[]
 *   {"op": "get", "path"}             of the base URL: an exchange
 *   {"op": "post", "path", "body"}
 *   {"op": "request", "stream", "max_tokens", "model"}: as `stoke run` would
 *                                     send it: an exchange
 * An exchange has url, outcome, said (the outcome in words), status, message,
 * content_type, location, peer, http, headers[], seconds{…}, body (at most
 * 64 KiB; not of "request"), hints[] (what to do when it failed) and, of a
 * "request", streamed, arrivals[] (of payloads, s after sent), pieces,
 * hung_up, finish_reason and the usage as far as told. No secret is in it. */
void probe_ask(struct str question, struct buf *answer, void *ud);
void probe_free(struct probe *p);

#endif
