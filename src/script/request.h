/* request.h -- what passes between a script and the wire: a request as
 * request(ctx) or s:request{} described it, and the answer to one.
 * Plain data without Lua in it. */
#ifndef STOKE_SCRIPT_REQUEST_H
#define STOKE_SCRIPT_REQUEST_H

#include "base/buf.h"
#include "net/wire.h"
#include "net/xfer.h"
#include "script/backend.h"
#include "stats/record.h"

/* Owned by whoever sends it and made for reuse: request_reset keeps the
 * buffers. A zeroed one is valid and empty. */
struct request {
  const struct backend *backend; /* the scenario's; NULL: plain HTTP, where any
                                  * 2xx answer is fine */
  struct buf path;    /* to append to the base URL: "/v1/chat/completions" */
  struct buf url;     /* of s:http, absolute; empty: the base URL and `path` */
  struct buf http;    /* the name of what s:http does; empty: an LLM request */
  char method[16];    /* "GET"; empty: POST */
  uint64_t delay_ns;  /* to wait before it is sent; of a request scenario */
  struct buf body;    /* complete */
  struct buf headers; /* "Name: value\n" lines; checked, names unique */
  struct buf model;
  bool stream;      /* what the body asks for */
  bool keep_body;   /* the script wants the raw body: r.body */
  unsigned choices; /* n; at least 1 */
  int64_t max_tokens, planned_prompt_tokens; /* -1: not told */
  uint64_t audio_ns; /* of the sound in it; 0: none, or not known */
  /* ns; 0: the run's */
  uint64_t timeout_ns, ttft_timeout_ns, idle_timeout_ns;
  struct buf tags; /* "a=b,c=d" sorted by name; empty: none */
  uint64_t slo_ttft_ns, slo_tpot_ns, slo_e2el_ns; /* 0: none */
  uint32_t cancel_after_tokens;                   /* 0: no */
  uint64_t cancel_after_ns;                       /* after sent; 0: no */
};

void request_reset(struct request *r);
void request_free(struct request *r);
/* Append its URL; `query` is "" or "?…" and joins one that the path has. */
void request_url(const struct request *r, const char *base_url,
                 const char *query, struct buf *out);
/* `common` with the request's own on top, for the caller to unref; NULL when
 * `common` is all. What leads to another server than base_url's gets nothing
 * of `common`: the key is in it. */
struct xfer_headers *request_headers(const struct request *r,
                                     const char *base_url,
                                     struct xfer_headers *common);

/* What a script sees of an answer. Everything is borrowed for the call. */
struct response {
  const struct record *record;    /* instants, tokens, outcome, message */
  const struct wire_result *wire; /* text, tool calls, usage; NULL: no answer */
  struct str headers;             /* "name: value\n" lines */
  const char *error_type;         /* or NULL */
};

/* What on_response said. */
struct verdict {
  bool failed;
  struct buf reason; /* of a failed one */
};

#endif
