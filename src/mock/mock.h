/* mock.h -- a simulated LLM endpoint on loopback.
 * The whole of what others see of src/mock: a configuration, and a server
 * that runs on one thread until it is told to stop. README.md says what the
 * endpoints, the timing model, the faults and the log are. */
#ifndef STOKE_MOCK_MOCK_H
#define STOKE_MOCK_MOCK_H

#include "base/err.h"
#include "mock/engine.h"
#include "mock/rule.h"

/* The longest answer of a choice, where --max-model-len does not say. */
#define MOCK_MAX_TOKENS (1 << 20)

/* Plain data; every pointer is borrowed and must outlive the server. */
struct mock_config {
  const char *host;       /* a loopback address */
  int port;               /* 0: any free one */
  const char *models;     /* ids, comma-separated; "none": no /v1/models */
  const char *api_key;    /* asked for, if not NULL */
  bool strict_model;      /* another model than those is a 404 */
  bool by_end;            /* "/any/thing/chat/completions" is that API, too */
  uint64_t max_model_len; /* tokens; 0: no limit */
  uint64_t max_body;      /* bytes */

  struct mock_plan plan; /* of every answer, before rules and headers */
  const struct mock_rule *rules;
  size_t rules_count;
  struct mock_engine_config engine;
  int reject_status;      /* when the line is full: 503 or 429 */
  uint64_t prefix_blocks; /* size of the prefix cache; 0: none */
  /* Prepared bytes, as fast as the socket takes them; `plan` must have no
   * faults then. */
  bool blast;
  uint64_t seed;

  const char *log; /* file, "-" or NULL */
  bool log_tokens, log_headers, log_bodies;

  uint64_t ready_after_ns; /* 503 until then */
  uint64_t idle_close_ns;  /* close connections idle for so long; 0: never */
  uint64_t duration_ns;    /* stop by itself; 0: never */
  uint64_t max_requests;   /* stop after so many generations; 0: never */
  bool signals;            /* SIGINT and SIGTERM stop it */
};

void mock_config_defaults(struct mock_config *c);
/* Returns 0, or -1 and a message per mistake. */
int mock_config_check(const struct mock_config *c, struct err *e);

struct mock;

/* Bind and listen; nothing is answered before mock_run. NULL and a message
 * when that fails. `c` is copied. */
struct mock *mock_open(const struct mock_config *c, struct err *e);
int mock_port(const struct mock *m);
/* Serve until mock_stop, a signal, or the configured end. */
void mock_run(struct mock *m);
/* From any thread; mock_run returns soon. */
void mock_stop(struct mock *m);
/* After mock_run: what was served and how late, for people; one line each. */
void mock_summary(const struct mock *m, struct buf *out);
/* After mock_run (or instead of it). Requests under way are cut and logged. */
void mock_close(struct mock *m);

#endif
