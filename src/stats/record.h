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
#include "base/str.h"

enum token_source {
  TOKENS_NONE,      /* not known */
  TOKENS_USAGE,     /* the server's usage */
  TOKENS_TOKENIZER, /* our tokenizer on the joined text */
  TOKENS_CHUNKS,    /* payload events: approximate */
  TOKENS_PLANNED,   /* prompt only: what the data set meant */
  TOKEN_SOURCES
};

enum phase { PHASE_WARMUP, PHASE_MEASURE };

/* One payload event in eight bytes: a stream keeps all of its events until
 * its end, because only then does `usage` say how many tokens they shared. */
struct record_event {
  uint64_t after_ns : 46; /* since sent_ns; saturates after 19.5 hours */
  uint64_t choice : 6;    /* choices beyond 63 share number 63 */
  uint64_t tokens : 12;   /* told by usage inside the stream for this event;
                           * 0: not told; saturates */
};

#define RECORD_EVENT_MAX_NS     ((UINT64_C(1) << 46) - 1)
#define RECORD_EVENT_MAX_CHOICE 63
#define RECORD_EVENT_MAX_TOKENS 4095

/* The event that arrived at `at_ns` in the request sent at `sent_ns`.
 * `tokens`: how much cumulative usage grew with it, <= 0 when not told. */
static inline struct record_event
record_event_make(uint64_t sent_ns, uint64_t at_ns, int choice, int64_t tokens)
{
  uint64_t after = at_ns > sent_ns ? at_ns - sent_ns : 0;
  uint64_t n = tokens > 0 ? (uint64_t)tokens : 0;
  uint64_t c = choice > 0 ? (uint64_t)choice : 0;
  return (struct record_event){
      .after_ns = after < RECORD_EVENT_MAX_NS ? after : RECORD_EVENT_MAX_NS,
      .choice = c < RECORD_EVENT_MAX_CHOICE ? c : RECORD_EVENT_MAX_CHOICE,
      .tokens = n < RECORD_EVENT_MAX_TOKENS ? n : RECORD_EVENT_MAX_TOKENS,
  };
}

struct record {
  uint64_t id;      /* 1, 2, 3 … over the whole run */
  uint64_t session; /* equal to id for request scenarios */
  uint32_t turn;    /* 1-based within the session */
  uint32_t branch;  /* 0: the session itself */
  enum phase phase;
  uint16_t stage; /* index into the run's stages */

  uint64_t due_ns, sent_ns, connected_ns, written_ns, headers_ns, first_byte_ns,
      first_token_ns, first_answer_ns, last_token_ns, done_ns;

  /* Events of choices without payload, which other tools take for tokens: the
   * first one before any payload, the last one behind some. */
  uint64_t role_ns, finish_ns;

  enum outcome outcome;
  int status;        /* HTTP, or 0 */
  bool stream_asked; /* the request asked for a stream … */
  bool streamed;     /* … and the answer was one */
  bool reused;       /* found an open connection */
  bool capped;       /* a limit of ours held it back after due_ns */
  uint32_t attempts; /* requests on the wire */
  uint32_t chunks;   /* payload events */
  uint32_t refusals;
  int64_t tokens, prompt_tokens, cached_tokens, reasoning_tokens,
      planned_prompt_tokens;
  uint64_t audio_ns; /* how long the sound is that was sent; 0: none, or not
                      * known */
  enum token_source token_source, prompt_token_source;
  uint64_t bytes_in, bytes_out;
  double retry_after_s; /* < 0: none */
  char finish_reason[32];

  /* Every payload event in the order of arrival; several choices of one
   * request stand in one list. Borrowed: valid while the record is handed
   * over. The first is first_token_ns, the last last_token_ns. */
  const struct record_event *events;
  size_t n_events;

  /* Borrowed as well; "" or NULL when there is none. */
  const char *message;      /* the server's or the transport's words */
  const char *content_type; /* of the answer */
  const char *tags;         /* "a=b,c=d" */
  struct str text;          /* the answer's, where the run keeps it */
  const char *http; /* the name of what s:http did; NULL: an LLM request */
  /* SLOs of this request in ns; 0: the run's. */
  uint64_t slo_ttft_ns, slo_tpot_ns, slo_e2el_ns;
};

#define TOKENS_UNKNOWN INT64_C(-1)

/* "usage", "tokenizer", "chunks", "planned", "none". */
const char *token_source_name(enum token_source s);

/* The figures as README.md defines them: each writes *out (ns) and returns
 * true, or returns false where the figure is null. All but queue and ttfb are
 * null for a request that failed. */
/* sent - due */
bool record_queue(const struct record *r, uint64_t *out);
/* first token - sent; ttfat: first token that is no reasoning */
bool record_ttft(const struct record *r, uint64_t *out);
bool record_ttfat(const struct record *r, uint64_t *out);
/* first byte of the answer - sent */
bool record_ttfb(const struct record *r, uint64_t *out);
/* last token - sent; not streamed: done - sent */
bool record_e2el(const struct record *r, uint64_t *out);
/* (last token - first token) / (tokens - 1) */
bool record_tpot(const struct record *r, double *out_ns);
/* from due instead of sent */
bool record_ttft_due(const struct record *r, uint64_t *out);
bool record_e2el_due(const struct record *r, uint64_t *out);
/* What opening the connection took; null when one was reused. */
bool record_connect(const struct record *r, uint64_t *out);

/* Calls `gap` for every gap between consecutive payload events of one choice
 * (ns), in the order of arrival. With one choice their sum is
 * last_token - first_token. */
typedef void record_gap_cb(uint64_t gap_ns, void *ud);
void record_gaps(const struct record *r, record_gap_cb *gap, void *ud);

/* Calls `arrived` for every payload event with its instant (monotonic ns) and
 * its share of r->tokens: as usage inside the stream told, else equal shares,
 * whole numbers that add up to r->tokens. An answer that was not streamed
 * arrives at once, at done_ns; one without a token never, whatever its usage
 * says. */
typedef void record_token_cb(uint64_t at_ns, uint64_t tokens, void *ud);
void record_token_times(const struct record *r, record_token_cb *arrived,
                        void *ud);

/* 0 <= ttft <= e2el and the instants in order; false is a bug of ours. */
bool record_consistent(const struct record *r);

#endif
