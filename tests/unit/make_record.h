/* make_record.h -- records for the tests of stats and report. */
#ifndef STOKE_TESTS_MAKE_RECORD_H
#define STOKE_TESTS_MAKE_RECORD_H

#include "base/clock.h"
#include "stats/record.h"

#define MS NS_PER_MS
#define T0 (1000 * NS_PER_SEC) /* time zero of every test */

/* A streamed answer that succeeded: n events, the first ttft after sent, the
 * others gap apart, done with the last. `events` must outlive the record. */
static inline struct record make_stream(struct record_event *events, size_t n,
                                        uint64_t sent_ns, uint64_t ttft_ns,
                                        uint64_t gap_ns)
{
  struct record r = {
      .id = 1,
      .phase = PHASE_MEASURE,
      .due_ns = sent_ns,
      .sent_ns = sent_ns,
      .connected_ns = sent_ns,
      .reused = true,
      .headers_ns = sent_ns + ttft_ns / 2,
      .first_byte_ns = sent_ns + ttft_ns / 2,
      .first_token_ns = sent_ns + ttft_ns,
      .first_answer_ns = sent_ns + ttft_ns,
      .outcome = OUTCOME_OK,
      .status = 200,
      .stream_asked = true,
      .streamed = true,
      .attempts = 1,
      .chunks = (uint32_t)n,
      .tokens = (int64_t)n,
      .prompt_tokens = 5,
      .cached_tokens = TOKENS_UNKNOWN,
      .reasoning_tokens = TOKENS_UNKNOWN,
      .planned_prompt_tokens = TOKENS_UNKNOWN,
      .token_source = TOKENS_USAGE,
      .prompt_token_source = TOKENS_USAGE,
      .retry_after_s = -1,
      .finish_reason = "stop",
      .content_type = "text/event-stream",
      .events = events,
      .n_events = n,
  };
  for (size_t i = 0; i < n; i++)
    events[i] =
        record_event_make(sent_ns, sent_ns + ttft_ns + i * gap_ns, 0, 0);
  r.last_token_ns = r.first_token_ns + (n - 1) * gap_ns;
  r.done_ns = r.last_token_ns;
  return r;
}

/* A plain JSON answer that succeeded, `tokens` by usage. */
static inline struct record make_plain(uint64_t sent_ns, uint64_t e2el_ns,
                                       int64_t tokens)
{
  struct record r = make_stream(NULL, 0, sent_ns, 0, 0);
  r.stream_asked = r.streamed = false;
  r.chunks = 0;
  r.tokens = tokens;
  r.headers_ns = r.first_byte_ns = r.done_ns = sent_ns + e2el_ns;
  r.first_token_ns = r.first_answer_ns = r.last_token_ns = 0;
  r.content_type = "application/json";
  return r;
}

static inline struct record make_failed(uint64_t sent_ns, uint64_t after_ns,
                                        enum outcome o, int status,
                                        const char *message)
{
  struct record r = make_plain(sent_ns, after_ns, TOKENS_UNKNOWN);
  r.stream_asked = true;
  r.outcome = o;
  r.status = status;
  r.message = message;
  r.prompt_tokens = TOKENS_UNKNOWN;
  r.token_source = r.prompt_token_source = TOKENS_NONE;
  r.finish_reason[0] = '\0';
  return r;
}

#endif
