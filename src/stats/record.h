/* record.h -- one request, as it was measured.
 * Plain data: instants are monotonic ns (0: did not happen), token counts are
 * -1 when unknown. `net` stamps, `script` fills, `metrics` adds up, `report`
 * writes. */
#ifndef STOKE_STATS_RECORD_H
#define STOKE_STATS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/outcome.h"

enum token_source {
  TOKENS_NONE,      /* not known */
  TOKENS_USAGE,     /* the server's usage */
  TOKENS_TOKENIZER, /* our tokenizer on the joined text */
  TOKENS_CHUNKS,    /* payload events: approximate */
  TOKENS_PLANNED,   /* prompt only: what the data set meant */
};

enum phase { PHASE_WARMUP, PHASE_MEASURE };

struct record {
  uint64_t id;      /* 1, 2, 3 … over the whole run */
  uint64_t session; /* equal to id for request scenarios */
  uint32_t turn;    /* 1-based within the session */
  uint32_t branch;  /* 0: the session itself */
  enum phase phase;
  uint16_t stage;   /* index into the run's stages */

  uint64_t due_ns, sent_ns, connected_ns, written_ns, headers_ns,
      first_byte_ns, first_token_ns, first_answer_ns, last_token_ns, done_ns;

  enum outcome outcome;
  int status;           /* HTTP, or 0 */
  bool streamed, reused, capped; /* capped: a limit of ours held it back */
  uint32_t attempts;    /* requests on the wire */
  uint32_t chunks;      /* payload events */
  uint32_t refusals;
  int64_t tokens, prompt_tokens, cached_tokens, reasoning_tokens,
      planned_prompt_tokens;
  enum token_source token_source, prompt_token_source;
  uint64_t bytes_in, bytes_out;
  double retry_after_s; /* < 0: none */
  char finish_reason[32];

  /* Every gap between consecutive payload events of one choice, ns. Borrowed:
   * valid while the record is handed over. */
  const uint64_t *gaps;
  size_t n_gaps;

  /* Borrowed as well; "" or NULL when there is none. */
  const char *message;  /* the server's or the transport's words */
  const char *tags;     /* "a=b,c=d" or NULL */
  /* SLOs of this request in ns; 0: none. */
  uint64_t slo_ttft_ns, slo_tpot_ns, slo_e2el_ns;
};

#define TOKENS_UNKNOWN INT64_C(-1)

const char *token_source_name(enum token_source s);

/* The figures of METRICS: each writes *out (ns) and returns true, or returns
 * false where the figure is null. */
bool record_queue(const struct record *r, uint64_t *out);
bool record_ttft(const struct record *r, uint64_t *out);
bool record_ttfat(const struct record *r, uint64_t *out);
bool record_ttfb(const struct record *r, uint64_t *out);
bool record_e2el(const struct record *r, uint64_t *out);
bool record_tpot(const struct record *r, double *out_ns);
bool record_ttft_due(const struct record *r, uint64_t *out);
bool record_e2el_due(const struct record *r, uint64_t *out);
/* 0 <= ttft <= e2el and the instants in order; false is a bug of ours. */
bool record_consistent(const struct record *r);

#endif
