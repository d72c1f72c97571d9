#include <assert.h>

#include "net/wire_error.h"
#include "net/wire_int.h"

/* What became of the request, once its body is over. */

static enum outcome status_outcome(int status)
{
  switch (status) {
  case 400:
  case 422: return OUTCOME_UNPROCESSABLE;
  case 401:
  case 403: return OUTCOME_AUTH;
  case 404: return OUTCOME_NOT_FOUND;
  case 407: return OUTCOME_PROXY;
  case 429: return OUTCOME_RATE_LIMITED;
  default: break;
  }
  if (status >= 300 && status <= 399)
    return OUTCOME_REDIRECT;
  if (status >= 400 && status <= 499)
    return OUTCOME_HTTP_4XX;
  /* Nothing else is a final status; what claims one is broken. */
  return status >= 500 ? OUTCOME_HTTP_5XX : OUTCOME_TRUNCATED;
}

static unsigned size(const uint64_t *set)
{
  unsigned n = 0;
  for (size_t i = 0; i < WIRE_MAX_CHOICES / 64; i++)
    n += (unsigned)__builtin_popcountll(set[i]);
  return n;
}

/* Every choice that said something also said how it finished. */
static bool all_finished(const struct wire *w)
{
  unsigned n = size(w->finished);
  return n > 0 && n >= size(w->chosen);
}

static bool has_payload(const struct wire *w, const struct dialect_rules *d)
{
  return d->has_payload ? w->r.choices > 0 : w->ended;
}

bool wire_ended(const struct wire *w)
{
  return w->done || w->ended;
}

/* Behind the end mark nothing can be missing, even if the transfer was cut
 * there; behind a finish_reason the usage can. */
static void end_stream(struct wire *w)
{
  bool proper = wire_ended(w) || (w->complete && all_finished(w));
  if (proper && has_payload(w, &w->c.dialect->stream))
    return;
  if (proper || (w->complete && w->n_bytes == 0))
    wire_fail(w, OUTCOME_EMPTY, "the stream ended properly without any token");
  else if (w->complete)
    wire_fail(w, OUTCOME_TRUNCATED,
              "the stream ended without finish_reason and without [DONE]");
  else
    wire_fail(w, OUTCOME_TRUNCATED, "the transfer was cut");
}

/* What isn't JSON speaks for itself: a page's title, a line of text. */
static void fail_not_json(struct wire *w, struct str body)
{
  struct wire_error e;
  wire_error_read(&e, body);
  wire_fail_quoting(w, OUTCOME_NOT_JSON, "the answer is not JSON",
                    str_of(e.message));
}

static void end_plain(struct wire *w)
{
  struct str body = str_without_bom(buf_str(&w->body));
  if (!w->complete)
    wire_fail(w, OUTCOME_TRUNCATED, "the transfer was cut");
  else if (str_trim(body).len == 0)
    wire_fail(w, OUTCOME_EMPTY, "the answer has no body");
  else if (wire_event_read_plain(w, body) < 0)
    fail_not_json(w, body);
  else if (has_payload(w, &w->c.dialect->plain))
    return;
  else if (w->answer)
    wire_fail(w, OUTCOME_EMPTY, "the answer has no text and no tool call");
  else
    wire_fail_quoting(w, OUTCOME_NOT_JSON, "not an answer of this API", body);
}

static void end_success(struct wire *w)
{
  if (w->c.raw) {
    if (!w->complete)
      wire_fail(w, OUTCOME_TRUNCATED, "the transfer was cut");
    return;
  }
  wire_settle_mode(w);
  if (w->mode == WIRE_MODE_SSE)
    sse_end(&w->sse);
  else if (w->mode == WIRE_MODE_NDJSON)
    ndjson_end(&w->ndjson);
  if (w->mode == WIRE_MODE_PLAIN)
    end_plain(w);
  else
    end_stream(w);
}

static void collect(struct wire *w)
{
  struct wire_result *r = &w->r;
  wire_tools_end(&w->tools);
  r->text = kept_text(&w->text, w->text.raw.len, true);
  r->reasoning = kept_text(&w->reasoning, w->reasoning.raw.len, true);
  r->refusal = kept_text(&w->refusal, w->refusal.raw.len, true);
  r->tool_calls = w->tools.calls;
  r->n_tool_calls = w->tools.n;
  if (w->c.keep_body)
    r->body = buf_str(&w->body);
  if (w->cached_beside >= 0) {
    r->usage.cached_tokens = w->cached_beside;
    if (r->usage.prompt_tokens >= 0)
      r->usage.prompt_tokens += w->cached_beside;
  }
}

void wire_end(struct wire *w, bool complete)
{
  w->complete = complete;
  if (!w->is_success && status_outcome(w->status) == OUTCOME_TRUNCATED)
    wire_fail(w, OUTCOME_TRUNCATED, "no final status came");
  else if (!w->is_success)
    wire_fail_with(w, status_outcome(w->status), buf_str(&w->body));
  else
    end_success(w);
  collect(w);
}

const struct wire_result *wire_so_far(struct wire *w, size_t text_end,
                                      size_t reasoning_end)
{
  w->r.text = kept_text(&w->text, text_end, false);
  w->r.reasoning = kept_text(&w->reasoning, reasoning_end, false);
  return &w->r;
}

struct str wire_kept(const struct wire *w, enum wire_field f)
{
  assert(f == WIRE_CONTENT || f == WIRE_REASONING);
  return buf_str(f == WIRE_CONTENT ? &w->text.raw : &w->reasoning.raw);
}

void wire_go_on(struct wire *w, wire_payload_cb *cb, bool keep_text)
{
  w->cb = cb;
  w->c.keep_text = keep_text;
  if (keep_text)
    return;
  w->shape.kept = NULL;
  kept_cut(&w->text, 0);
  kept_cut(&w->reasoning, 0);
  kept_cut(&w->refusal, 0);
}

void wire_stop_at(struct wire *w, size_t text_end, size_t reasoning_end)
{
  w->stopped = 1;
  w->mode = WIRE_MODE_OVER;
  kept_cut(&w->text, text_end);
  kept_cut(&w->reasoning, reasoning_end);
}

const struct wire_result *wire_result(const struct wire *w)
{
  return &w->r;
}

/* ---- with the transport's ---- */

/* Ways in which a message may lack its own end. */
static bool is_endless(enum outcome o)
{
  return o == OUTCOME_TRUNCATED || o == OUTCOME_RESET ||
         o == OUTCOME_MALFORMED || o == OUTCOME_TIMEOUT_IDLE ||
         o == OUTCOME_TIMEOUT_TOTAL;
}

enum outcome wire_outcome(const struct wire_result *r, enum outcome transport,
                          int status)
{
  if (transport == OUTCOME_OK)
    return r->outcome;
  if (r->outcome == OUTCOME_API_ERROR || r->outcome == OUTCOME_MALFORMED)
    return r->outcome;
  if (r->outcome == OUTCOME_OK && is_endless(transport))
    return OUTCOME_OK;
  /* An error status whose body did not arrive whole. */
  if (status >= 300 && r->outcome != OUTCOME_OK &&
      r->outcome != OUTCOME_TRUNCATED)
    return r->outcome;
  if (transport == OUTCOME_RESET && status)
    return OUTCOME_TRUNCATED;
  return transport;
}
