/* plan.h -- what one answer is to look like, its faults included.
 * Flags, rules by request number, request headers and the body's "mock" object
 * all say it in the same words, `KIND[:ARG[:ARG]]` (README.md lists them): a
 * plan is copied from the server's, then each source in turn changes it. */
#ifndef STOKE_MOCK_PLAN_H
#define STOKE_MOCK_PLAN_H

#include <stdint.h>

#include "base/err.h"
#include "mock/dist.h"

/* "Never" as a time or a place. */
#define MOCK_NEVER UINT64_MAX

enum mock_text {
  MOCK_TEXT_WORDS,
  MOCK_TEXT_CJK,
  MOCK_TEXT_EMOJI,
  MOCK_TEXT_SPACES,
  MOCK_TEXT_SURROGATES
};

/* What is sent in place of an answer. */
enum mock_instead {
  MOCK_ANSWER,       /* nothing: answer */
  MOCK_STATUS,       /* an error status with an error body */
  MOCK_REDIRECT,     /* a 3xx with Location */
  MOCK_JSON_ERROR,   /* 200 and an error object */
  MOCK_HTML,         /* 200 and a page */
  MOCK_GARBAGE,      /* bytes that are not HTTP */
  MOCK_EMPTY_BODY,   /* 200 and nothing */
  MOCK_EMPTY_STREAM, /* 200 and only [DONE] */
  MOCK_HANG,         /* no byte, ever */
  MOCK_CLOSE,        /* FIN before any byte */
  MOCK_RESET,        /* RST before any byte */
};

enum mock_line_end { MOCK_LF, MOCK_CRLF, MOCK_CR };
enum mock_encoding { MOCK_IDENTITY, MOCK_GZIP, MOCK_BR };
enum mock_error_form {
  MOCK_ERROR_OBJECT,
  MOCK_ERROR_STRING,
  MOCK_ERROR_FLAT,
  MOCK_ERROR_NAMED,
  MOCK_ERROR_VLLM
};

/* Strings are borrowed from the text that was parsed. Counts of -1 and times
 * of MOCK_NEVER mean "not asked". */
struct mock_plan {
  struct mock_dist ttft, itl, tokens;
  bool tokens_set; /* else max_tokens decides */
  int64_t chunk;   /* tokens an event */

  enum mock_text text;
  int64_t reasoning;  /* the first so many tokens are reasoning */
  int64_t tool_calls; /* so many calls instead of content */
  struct str reasoning_key;
  bool refusal;
  int64_t usage_tokens, prompt_tokens, cached_tokens; /* said, if >= 0 */
  bool no_usage, usage_each, usage_always;
  double cached_share; /* of the prompt, when cached_tokens is -1 */

  enum mock_instead instead;
  int64_t status;
  struct str retry_after, location, content_type;
  bool only_reused; /* `instead` counts on a connection's 2nd request on */

  int64_t error_at, cut_at, cut_byte, stall_at, bad_json_at, blank_at;
  enum mock_error_form error_form;
  bool cut_reset;
  uint64_t stall_ns; /* MOCK_NEVER: for ever */

  bool no_stream, force_stream; /* whatever was asked for */
  bool early_hints, close_after, not_chunked;
  uint64_t slow_headers_ns, early_role_ns, ping_ns;
  uint64_t late_finish_ns, late_done_ns, late_end_ns;
  bool no_role, no_finish, no_done, finish_apart, one_event;
  int64_t null_deltas, empty_deltas;
  bool comments, bom, multi_line, rising_index;
  struct str error_field; /* JSON text of a falsy "error" in each event */
  int64_t huge_bytes;     /* text of the first token, or of each */
  bool huge_all;

  enum mock_line_end line_end;
  enum mock_encoding encoding;
  int64_t split;    /* every so many bytes a write of its own */
  int64_t split_at; /* one cut there */
  uint64_t split_delay_ns;
};

/* An ordinary answer: TTFT 50 ms, an event of one token each 10 ms. */
void mock_plan_defaults(struct mock_plan *p);

/* Change `p` as the comma-separated `specs` say. A bad one adds a message to
 * *e that begins with `place` and names the kind; the others still count.
 * Returns 0, or -1 if any was bad. */
int mock_plan_apply(struct mock_plan *p, struct str specs, const char *place,
                    struct err *e);
/* One kind with its arguments; -1 without a message for an unknown kind
 * (*known, if given, tells which of the two it was). */
int mock_plan_set(struct mock_plan *p, struct str kind, struct str args,
                  bool *known);
/* The list of kinds with their arguments and meaning, a line each, for
 * --help. */
void mock_plan_help(struct buf *out);

#endif
