/* config.h -- what a run is: the load, the target, the limits.
 * Filled by cli/options (flags, environment, files) on top of what the
 * scenario's `load` says, checked once by config_check, then read-only and
 * shared by all workers. Strings are owned by the config. */
#ifndef STOKE_CORE_CONFIG_H
#define STOKE_CORE_CONFIG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "stats/slo.h"

enum arrival_kind { ARRIVAL_POISSON, ARRIVAL_CONSTANT, ARRIVAL_GAMMA };

struct load {
  double request_rate; /* per second; INFINITY: all at once; 0: closed */
  enum arrival_kind arrival;
  double burstiness;        /* gamma's shape */
  uint64_t max_concurrency; /* 0: no cap */
  uint64_t num_requests;    /* 0: no bound */
  uint64_t duration_ns;     /* 0: no bound */
  uint64_t warmup_requests; /* either of the two, or neither */
  uint64_t warmup_ns;
  uint64_t drain_ns; /* default 30 s */
};

struct config {
  /* target */
  char *base_url; /* normalised: scheme://host:port[/prefix], no /v1 */
  char *query;    /* to append to every URL: "" or "?api-version=2" */
  char *proxy;    /* "" none, NULL: environment; loopback never */
  char *model;
  char *api_key;           /* never shown */
  char *endpoint;          /* "chat", "completions" or "/path" */
  struct buf headers;      /* "Name: value\n" lines from -H */
  char *request_id_prefix; /* x-request-id: prefix + id; NULL: none sent */
  bool insecure;
  char *cacert;
  bool stream;
  int64_t max_tokens; /* -1: the scenario's */
  char *extra_body;   /* a JSON object's text, or NULL */

  struct load load;
  uint64_t seed;
  unsigned threads; /* 0: inline */
  bool busy_poll, preconnect;
  uint64_t timeout_ns, ttft_timeout_ns, idle_timeout_ns, connect_timeout_ns;
  size_t lua_memory;
  uint64_t max_script_errors;
  struct slo slo; /* zeroed: none */
};

struct body_defaults;
struct net_config;
struct xfer_headers;
/* What the configuration says about all request bodies; strings borrowed. */
struct body_defaults config_body(const struct config *c);
/* The same about connections; `connections` is left to the caller. */
struct net_config config_net(const struct config *c);
/* The header lines of all requests: ours, the key, then -H's on top. Problems
 * are added to *e. The caller's; one set per thread. */
struct xfer_headers *config_headers(const struct config *c, struct err *e);

#endif
