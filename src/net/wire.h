/* wire.h -- what the bytes of an LLM answer mean.
 * Fed with the body as it arrives, it splits events (SSE, NDJSON, or one
 * plain JSON document, chosen by the response's content type and the first
 * bytes of the body), reads each with a walker that allocates nothing, and
 * tells which carried payload. A dialect is data: paths into an event and
 * what stands there, so that a new API is a table and not new code. It reads
 * no clock and does no I/O. */
#ifndef STOKE_NET_WIRE_H
#define STOKE_NET_WIRE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/outcome.h"

/* What can stand at a path. Nulls, empty strings and values of another type
 * than the one named are as if they weren't there. Of several values for one
 * field in the same choice the last counts, except below an array of its own
 * (content[].text), where texts are joined; what stands behind that array is
 * the same said again, and left out. */
enum wire_field {
  WIRE_CONTENT, /* answer text */
  WIRE_REASONING,
  WIRE_REFUSAL,
  WIRE_AUDIO,
  WIRE_TOOL_INDEX,
  WIRE_TOOL_ID,
  WIRE_TOOL_NAME,
  WIRE_TOOL_ARGUMENTS, /* a string's piece, or a whole object */
  WIRE_CHOICE_INDEX,
  WIRE_FINISH, /* a reason in words; "error", "abort", "failed" and
                * "cancelled" also fail the request */
  WIRE_PROMPT_TOKENS,
  WIRE_COMPLETION_TOKENS,
  WIRE_CACHED_TOKENS,
  WIRE_REASONING_TOKENS,
  WIRE_ERROR,         /* truthy: the request failed; string or object */
  WIRE_TYPE,          /* the event's kind, which `when` compares with */
  WIRE_END,           /* truthy: the answer ends properly */
  WIRE_KIND,          /* a string; "error" in any case: the request failed */
  WIRE_CACHED_BESIDE, /* cached tokens that WIRE_PROMPT_TOKENS leaves out:
                       * they count as cached and as prompt tokens */
  WIRE_FIELD_COUNT,
};

struct wire_rule {
  const char *path; /* "choices[].delta.content" */
  enum wire_field field;
  const char *when; /* only in events whose SSE event name or WIRE_TYPE is
                     * this; NULL: all */
};

struct wire_dialect; /* compiled rules; immutable, shared by threads */

/* A built-in one, or NULL: "chat", "completions", "responses", "anthropic",
 * "ollama" (both /api/chat and /api/generate), "embeddings", "rerank". */
const struct wire_dialect *wire_dialect_find(const char *name);
/* `stream` rules for events and `plain` rules for a whole JSON answer.
 * NULL and messages when a path cannot be read. Free with _free.
 * A dialect without a rule for content, reasoning, refusal, audio or tool
 * calls has no payload: its answers are OK once they have ended properly. */
struct wire_dialect *wire_dialect_new(const struct wire_rule *stream,
                                      size_t n_stream,
                                      const struct wire_rule *plain,
                                      size_t n_plain, struct err *e);
void wire_dialect_free(struct wire_dialect *d);
/* Do streams of this kind carry payload? */
bool wire_dialect_has_payload(const struct wire_dialect *d);

/* One event that carried payload, or the part of one choice in it. */
struct wire_payload {
  unsigned fields; /* 1u << WIRE_CONTENT | … : what was non-empty; for a tool
                    * call 1u << WIRE_TOOL_NAME, _ARGUMENTS */
  int choice;      /* 0 <= choice < max(1, n) and < WIRE_MAX_CHOICES. With n
                    * up to 1 always 0, whatever index the server counts up;
                    * an index out of range counts as 0 too */
  struct str text; /* first non-empty content/reasoning/refusal, still with
                    * JSON's escapes; borrowed for the call */
  int64_t completion_tokens;      /* cumulative usage in this event, or -1; with
                              * several choices in one event on the last */
  size_t text_end, reasoning_end; /* of what wire_kept has, this included */
  bool cut; /* something before it, or its text, was beyond max_text */
};

enum { WIRE_MAX_CHOICES = 128 };

/* Called per payload of a stream, never for a plain answer. Nonzero:
 * wire_feed stops and returns it. */
typedef int wire_payload_cb(const struct wire_payload *p, void *ud);

/* For who collects payloads to look at them later: look now, for the event in
 * hand is about to change more than text. Nonzero: stop before it does. */
typedef int wire_settle_cb(void *ud);

struct wire_tool_call {
  int choice, index; /* index as the server counts, or in order of arrival */
  struct buf id, name, arguments; /* plain text, JSON's escapes undone */
};

struct wire_usage { /* -1: not told */
  int64_t prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens;
};

struct wire_config {
  const struct wire_dialect *dialect; /* NULL: as if raw */
  unsigned choices; /* n of the request; 0 and 1 are the same */
  bool keep_text;   /* collect text and reasoning (unescaped) of choice 0 */
  bool keep_tools;  /* collect tool calls, merged by index */
  bool keep_body;   /* collect the raw body */
  bool raw;         /* not an API answer: any 2xx body is ok */
  wire_settle_cb *settle; /* or NULL; with the payload callback's ud */
  size_t max_event;       /* 0: 16 MiB */
  size_t max_text; /* 0: 64 MiB; bounds text, tool calls and bodies: beyond
                        * it they are cut, never counted; a plain answer
                        * beyond it fails */
  /* Called for an event of a stream that has a choice with nothing in it (a
   * role, a finish), with wire_start's ud; or NULL. */
  void (*hollow)(void *ud);
};

struct wire; /* one answer; reusable through wire_start */

struct wire *wire_new(void);
void wire_free(struct wire *w);
/* Begin another answer; buffers keep their memory (up to a ceiling). */
void wire_start(struct wire *w, const struct wire_config *c,
                wire_payload_cb *cb, void *ud);
/* The response's head: picks SSE, NDJSON or plain. Once per answer, before
 * the first wire_feed. */
void wire_head(struct wire *w, int status, struct str content_type);
/* 0, what the callback returned, or -1 when the answer is beyond repair
 * (event too large): wire_end then says which outcome. After a nonzero
 * return what is fed is ignored. */
int wire_feed(struct wire *w, const char *p, size_t len);
/* Has the end mark been read ("[DONE]", WIRE_END)? */
bool wire_ended(const struct wire *w);
/* The body is over. `complete`: the HTTP message ended properly. Decides the
 * verdict by status, body, payload, finish and end marks.
 * A last event whose empty line (or newline) never came is read all the same
 * when it is whole and the message complete, which may call the callback;
 * from a cut message only "[DONE]" counts. Once the end mark has been read
 * ("[DONE]", WIRE_END) a cut takes nothing away and the answer is OK. */
void wire_end(struct wire *w, bool complete);

struct wire_result {
  enum outcome outcome;  /* OK, or see outcome.h */
  bool streamed;         /* SSE or NDJSON with status 2xx */
  bool content_type_odd; /* the body was not what its content type said */
  uint32_t events;       /* payload callbacks due; 0 when not streamed */
  uint32_t refusals;     /* events with a refusal */
  uint32_t choices;      /* distinct choices with payload */
  struct wire_usage usage;
  char finish_reason[32]; /* of the first choice that told one, or "" */
  char message[320];      /* the server's words, or ours about what was wrong;
                           * one line, <= 300 bytes, valid UTF-8 */
  char error_type[64];    /* the server's, or "" */
  int error_code;         /* 400 to 599 as told inside the body, or 0 */
  struct str text, reasoning; /* if kept; valid until wire_start. Bytes as
                               * the server sent them, which need not be
                               * valid UTF-8 */
  struct str refusal;         /* the same, known at the end */
  struct str body;
  const struct wire_tool_call *tool_calls;
  size_t n_tool_calls;
};
/* Valid after wire_end, until wire_start. */
const struct wire_result *wire_result(const struct wire *w);
/* One verdict out of two: the content's, and the transport's on the HTTP
 * message that held it. The server's own words win over the way in which it
 * hung up afterwards, and an answer whose end mark came is whole. */
enum outcome wire_outcome(const struct wire_result *r, enum outcome transport,
                          int status);
/* The same in the middle of a stream: usage as far as it has come, and text
 * and reasoning up to a payload's ends; no verdict and no tool calls yet.
 * Valid until the next wire_feed. */
const struct wire_result *wire_so_far(struct wire *w, size_t text_end,
                                      size_t reasoning_end);
/* What was kept of WIRE_CONTENT or WIRE_REASONING, still with JSON's escapes:
 * the texts of choice 0 behind each other. */
struct str wire_kept(const struct wire *w, enum wire_field f);
/* From the next payload on another callback, with text kept or not; what was
 * kept goes when not. May be called from within a payload callback. */
void wire_go_on(struct wire *w, wire_payload_cb *cb, bool keep_text);
/* Stop as if the callback had returned nonzero for the payload with these
 * ends. Only text may have come since (see wire_settle_cb). */
void wire_stop_at(struct wire *w, size_t text_end, size_t reasoning_end);

#endif
