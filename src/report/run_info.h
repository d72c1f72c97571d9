/* run_info.h -- what a run was, for everything that is written about it.
 * `report` doesn't know `core`: whoever starts a run copies here what readers
 * need. Strings are borrowed and may be NULL where that is said; nothing in
 * here may hold a key (`command` comes masked). */
#ifndef STOKE_REPORT_RUN_INFO_H
#define STOKE_REPORT_RUN_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_pair {
  const char *key, *value;
};

struct summary;

/* A stage of the load, or a measurement of control(run). */
struct run_stage_info {
  const char *label;
  double start_s, duration_s; /* from time zero; NaN: to the run's end */
  bool by_end; /* figures of requests that ended in it, not began */
  double rate_from, rate_to, concurrency_from, concurrency_to; /* 0: none */
  const char *arrival; /* NULL: closed loop */
  const struct summary *summary;
};

/* What `bench serve` measures beside its requests. */
struct probe_figures {
  uint64_t completed, failed;
  double median_ms, p99_ms, max_ms; /* NaN without one that succeeded */
};

/* Speculative decoding, as the server's counters grew during the run. */
#define SPEC_POSITIONS_MAX 32
struct spec_decode {
  double drafts, draft_tokens, accepted_tokens;
  double per_position[SPEC_POSITIONS_MAX]; /* accepted, of the drafts */
  size_t n_positions;
};

/* Decoding by diffusion, likewise. */
struct diffusion {
  double steps, positions, committed;
};

/* When the configured rate came past a whole number. */
struct rate_change {
  uint64_t rps;
  uint64_t wall_ns; /* CLOCK_REALTIME */
};

struct details;

struct run_info {
  /* vLLM's setup keys */
  uint64_t started_wall_ns;  /* CLOCK_REALTIME at time zero */
  uint64_t started_ns;       /* CLOCK_MONOTONIC at the same moment */
  const char *backend;       /* "openai-chat", "openai", … */
  const char *endpoint_type; /* NULL: the backend */
  bool pooling;              /* its answers have no text: no tokens are made */
  const char *label;         /* NULL: null */
  const char *model_id;
  const char *tokenizer_id; /* NULL: null */
  uint64_t num_prompts;     /* asked for; 0: no bound (sent is written) */
  const struct run_pair *metadata;
  size_t n_metadata;

  /* load */
  double request_rate;      /* INFINITY: "inf"; 0: closed loop, "inf" */
  const char *arrival;      /* "poisson", …; NULL: closed loop */
  double burstiness;        /* 1: Poisson */
  uint64_t max_concurrency; /* 0: none */
  double duration_s, warmup_s, drain_s;   /* asked for; 0: none */
  uint64_t num_requests, warmup_requests; /* asked for; 0: none */
  uint64_t num_sessions, sessions_begun;  /* asked for (0: none), and begun */

  /* `bench serve` alone */
  const char *metric_mode;   /* "stoke", "vllm"; NULL: the first */
  bool counts_sequences;     /* of pooling: input_sequences is told */
  uint64_t input_sequences;  /* of pooling: texts, of which a request may hold
                             * several */
  const char *ramp_strategy; /* "linear", "exponential"; NULL: no ramp */
  double ramp_from, ramp_to;
  const struct rate_change *rate_changes;
  size_t n_rate_changes;
  const struct details *details;      /* for --save-detailed; NULL: not saved */
  const struct probe_figures *probes; /* NULL: none */
  const struct diffusion *diffusion;  /* NULL: none; goes before the next */
  const struct spec_decode *spec_decode; /* NULL: none */

  /* identity */
  const char *version; /* of stoke */
  const char *command; /* secrets masked */
  const char *url;     /* user and password masked */
  const char *scenario_name, *scenario_version, *scenario_sha256; /* NULL */
  const char *pack_sha256; /* of the file that it came in; NULL: none */
  const char *params_json; /* an object; NULL: {} */
  uint64_t seed;
  unsigned threads;
  const char *shard; /* "2/4"; NULL: none */
  const char *clock; /* "kernel" or "readable" */
  bool insecure;     /* certificates were not checked */
  bool unsafe;       /* the scenario ran unboxed */

  /* end */
  const char *stop_reason; /* "requests", "duration", "interrupted",
                                * "script: …", "threshold: …", "exhausted",
                                * "hopeless: …" */
  bool interrupted;

  /* network sums; means are over `opened` */
  uint64_t opened, reused;
  uint64_t dns_ns, connect_ns, tls_ns;

  const struct run_stage_info *stages;
  size_t n_stages;

  /* JSON texts of what other modules measured; NULL: nothing */
  const char *sessions_json;   /* object -> null */
  const char *http_json;       /* object -> {} */
  const char *turns_json;      /* array -> [] */
  const char *tags_json;       /* object -> {} */
  const char *thresholds_json; /* array -> [] */
  const char *checks_json;     /* array -> [] */
  const char *custom_json;     /* object -> {} */
};

#endif
