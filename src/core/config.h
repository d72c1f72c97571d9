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
#include "stats/threshold.h"

/* Requests a second, at most: far more than a machine sends. Beyond that a
 * timetable is longer than its making may take. */
enum { RATE_MAX = 1000000 };

enum arrival_kind { ARRIVAL_POISSON, ARRIVAL_CONSTANT, ARRIVAL_GAMMA };
enum ramp_shape { RAMP_LINEAR, RAMP_EXPONENTIAL, RAMP_STEP };

/* From one value to another over a stage's time. */
struct ramp {
  double from, to;
  enum ramp_shape shape;
  unsigned steps; /* of RAMP_STEP: equal steps, the first at `from`, the last
                   * at `to`; 0: 10 */
};

/* A stretch of the run with one rule. */
struct stage {
  char *label;          /* NULL only in a run without stages */
  uint64_t duration_ns; /* 0: until num_requests are sent; the last one only */
  /* Per second; INFINITY: num_requests at once; 0: closed loop, or silence
   * when there is no concurrency either. */
  struct ramp rate;
  enum arrival_kind arrival;
  double burstiness; /* gamma's shape: 1 is Poisson, below 1 is burstier */
  /* Explicit arrivals instead of a rate: offsets from the stage's start in
   * order, ns (a trace, a script's gaps); owned. */
  uint64_t *offsets;
  size_t n_offsets;
  /* Closed loop: slots. Open loop: the cap; 0: none. Rounded down. */
  struct ramp concurrency;
  uint64_t max_prefill;  /* cap on requests that wait for their first token;
                          * 0: none */
  uint64_t num_requests; /* 0: no bound */
  uint64_t pacing_ns;    /* closed loop: a slot starts no sooner than this
                          * after its last start */
  bool drop;             /* at the cap: count and forget, don't queue */
};

struct load {
  /* The only stage, or what all of `stages` have where they say nothing. */
  double request_rate; /* per second; INFINITY: all at once; 0: closed */
  enum arrival_kind arrival;
  double burstiness;        /* gamma's shape */
  uint64_t max_concurrency; /* 0: no cap */
  uint64_t max_prefill;     /* 0: no cap */
  uint64_t pacing_ns;
  bool drop;
  uint64_t num_requests; /* of the whole run; 0: no bound */
  uint64_t duration_ns;  /* of the whole run; 0: no bound */

  struct stage *stages; /* in turn; owned */
  size_t n_stages;      /* 0: one stage, from the fields above */

  uint64_t warmup_requests; /* either of the two, or neither; with the first */
  uint64_t warmup_ns;       /* stage's rule */
  bool warmup_at_once;      /* or all at once, under its cap alone */
  uint64_t drain_ns;        /* default 30 s */
};

/* The number of stages: at least 1. */
size_t load_stages(const struct load *l);
/* The i-th; strings and offsets stay the load's. */
struct stage load_stage(const struct load *l, size_t i);
/* The only stage of a warm-up, in which each of the workers has a slot. */
struct stage load_warmup(const struct load *l, unsigned workers);
/* The whole time of the run, ns; 0 when nothing bounds it. */
uint64_t load_duration(const struct load *l);
/* The highest concurrency of any stage; 0: some stage has no cap. */
uint64_t load_max_concurrency(const struct load *l);
/* The fewest that may be in flight, or without a token, all through the stage;
 * 0: no such bound, or one that moves. */
uint64_t stage_cap(const struct stage *s);
/* How many workers there are of `threads`: one that has no request, or in some
 * stage no slot of its own, would keep its share of the arrivals for ever. */
unsigned load_workers(const struct load *l, unsigned threads);

struct config {
  /* target */
  char *base_url; /* normalised: scheme://host:port[/prefix], no /v1 */
  char *query;    /* to append to every URL: "" or "?api-version=2" */
  char *proxy;    /* "" none, NULL: environment; loopback never */
  char *model;
  char *api_key;           /* never shown */
  char *endpoint;          /* "chat" or another backend's name, or "/path" */
  struct buf headers;      /* "Name: value\n" lines from -H */
  char *request_id_prefix; /* x-request-id: prefix + id; NULL: none sent */
  bool insecure;
  char *cacert;
  bool stream;
  bool keep_text;     /* records carry the answers' text */
  unsigned fail_fast; /* end the run when so many results came, all of them
                       * the same failure that no later one will escape;
                       * 0: never */
  bool plain;         /* no headers of ours: any HTTP server */
  int64_t max_tokens; /* -1: the scenario's */
  char *extra_body;   /* a JSON object's text, or NULL */

  struct load load;
  uint64_t max_requests; /* of a session scenario, whose items are sessions;
                          * 0: no bound */
  uint64_t seed;
  unsigned threads; /* 0: inline */
  bool busy_poll, preconnect;
  uint64_t timeout_ns, ttft_timeout_ns, idle_timeout_ns, connect_timeout_ns;
  size_t lua_memory;
  size_t max_answer; /* bytes kept of one */
  uint64_t max_script_errors;
  struct slo slo; /* zeroed: none */
  struct thresholds thresholds;
};

struct body_defaults;
struct net_config;
struct xfer_headers;
/* What the configuration says about all request bodies; strings borrowed. */
struct body_defaults config_body(const struct config *c);
/* The same about connections; `connections` is left to the caller. */
struct net_config config_net(const struct config *c);
struct backend;
/* The header lines of all requests to a backend (NULL: to any): ours, the key,
 * the backend's, then -H's on top. Problems are added to *e. The caller's; one
 * set per thread. */
struct xfer_headers *config_headers(const struct config *c,
                                    const struct backend *b, struct err *e);

#endif
