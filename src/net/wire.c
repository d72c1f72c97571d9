#include "net/wire.h"

#include <stdio.h>

#include "base/mem.h"
#include "net/wire_error.h"
#include "net/wire_int.h"

enum {
  ERROR_BODY_MAX = 64 << 10, /* of an answer that failed by its status */
  GUESS_MAX = 4 << 10,       /* blanks in front of an answer */
  FIRST_LINE_MAX = 16 << 10, /* of a stream under another type */
  MAX_TEXT = 64 << 20,
  KEEP_MAX = 256 << 10, /* memory that a buffer takes to the next one */
};

/* ---- failures ---- */

void wire_fail(struct wire *w, enum outcome o, const char *message)
{
  if (w->r.outcome != OUTCOME_OK || !wire_settle(w))
    return;
  w->r.outcome = o;
  if (message)
    wire_error_line(w->r.message, str_of(message));
}

void wire_fail_with(struct wire *w, enum outcome o, struct str body)
{
  struct wire_error e;
  if (w->r.outcome != OUTCOME_OK || !wire_settle(w))
    return;
  wire_error_read(&e, body);
  if (o == OUTCOME_UNPROCESSABLE && wire_error_is_context_length(&e))
    o = OUTCOME_CONTEXT_LENGTH;
  w->r.outcome = o;
  memcpy(w->r.message, e.message, sizeof e.message);
  if (o == OUTCOME_API_ERROR && !e.message[0])
    wire_error_line(w->r.message, STR("an error without a word"));
  memcpy(w->r.error_type, e.type, sizeof e.type);
  w->r.error_code = e.code;
}

void wire_fail_quoting(struct wire *w, enum outcome o, const char *what,
                       struct str text)
{
  char line[320], message[sizeof line + 64];
  wire_error_line(line, text);
  snprintf(message, sizeof message, "%s%s%s", what, line[0] ? ": " : "", line);
  wire_fail(w, o, message);
}

/* Nothing more is read, and what was collected for it goes. */
static int give_up(struct wire *w)
{
  w->mode = WIRE_MODE_OVER;
  sse_deinit(&w->sse);
  ndjson_deinit(&w->ndjson);
  if (!w->c.keep_body)
    buf_free(&w->body);
  return -1;
}

static int too_large(struct wire *w, const char *what, size_t limit)
{
  char message[96];
  snprintf(message, sizeof message, "%s is larger than %zu bytes", what, limit);
  wire_fail(w, OUTCOME_MALFORMED, message);
  return give_up(w);
}

/* ---- events ---- */

static bool is_json(struct str text)
{
  static const struct paths nowhere;
  return walk(&nowhere, text, NULL, NULL) == 0;
}

static int on_document(struct wire *w, struct str name, struct str data)
{
  if (w->done || str_trim(data).len == 0)
    return 0;
  if (str_eq(str_trim(data), STR("[DONE]")))
    w->done = true;
  else if (wire_event_read(w, name, data) < 0)
    wire_fail_quoting(w, OUTCOME_MALFORMED, "an event is not JSON", data);
  return w->stopped;
}

/* An event without an end counts when nothing can be missing from it. */
static bool is_whole(const struct wire *w, struct str data)
{
  return str_eq(str_trim(data), STR("[DONE]")) ||
         (w->complete && is_json(data));
}

static int on_sse_event(const struct sse_event *e, void *ud)
{
  struct wire *w = ud;
  bool is_error = e->name.len == 5 && str_ieq(e->name, STR("error"));
  if (e->unfinished && !is_whole(w, e->data) && !(is_error && w->complete))
    return 0;
  if (!is_error)
    return on_document(w, e->name, e->data);
  if (!w->done)
    wire_fail_with(w, OUTCOME_API_ERROR,
                   str_trim(e->data).len ? e->data : e->comment);
  return 0;
}

static int on_ndjson_line(struct str line, bool unfinished, void *ud)
{
  struct wire *w = ud;
  if (unfinished && !is_whole(w, line))
    return 0;
  return on_document(w, STR(""), line);
}

/* ---- life ---- */

struct wire *wire_new(void)
{
  struct wire *w = mem_new(struct wire);
  sse_init(&w->sse, 0, on_sse_event, w);
  ndjson_init(&w->ndjson, 0, on_ndjson_line, w);
  return w;
}

void wire_free(struct wire *w)
{
  if (!w)
    return;
  sse_deinit(&w->sse);
  ndjson_deinit(&w->ndjson);
  buf_free(&w->waiting);
  buf_free(&w->body);
  kept_free(&w->text);
  kept_free(&w->reasoning);
  kept_free(&w->refusal);
  buf_free(&w->shape.bytes);
  wire_tools_free(&w->tools);
  mem_free(w);
}

void wire_start(struct wire *w, const struct wire_config *c,
                wire_payload_cb *cb, void *ud)
{
  struct wire old = *w;
  *w = (struct wire){.c = *c,
                     .cb = cb,
                     .ud = ud,
                     .cached_beside = -1,
                     .r.usage = {-1, -1, -1, -1},
                     .sse = old.sse,
                     .ndjson = old.ndjson,
                     .body = old.body,
                     .text = old.text,
                     .reasoning = old.reasoning,
                     .refusal = old.refusal,
                     .shape.bytes = old.shape.bytes,
                     .tools = old.tools};
  buf_free(&old.waiting);
  w->c.raw |= !w->c.dialect;
  if (!w->c.max_event)
    w->c.max_event = SSE_MAX_EVENT;
  if (!w->c.max_text)
    w->c.max_text = MAX_TEXT;
  w->sse.max_event = w->ndjson.max_line = w->c.max_event;
  sse_reset(&w->sse);
  ndjson_reset(&w->ndjson);
  buf_recycle(&w->body, KEEP_MAX);
  kept_reset(&w->text, w->c.max_text, KEEP_MAX);
  kept_reset(&w->reasoning, w->c.max_text, KEEP_MAX);
  kept_reset(&w->refusal, w->c.max_text, KEEP_MAX);
  w->body.max = w->c.max_text;
  wire_tools_reset(&w->tools);
}

static bool is_type(struct str content_type, const char *type)
{
  struct str head = str_trim(str_split(&content_type, ';'));
  return str_ieq(head, str_of(type));
}

static bool is_ndjson(struct str content_type)
{
  static const char *const types[] = {
      "application/x-ndjson", "application/ndjson",
      "application/jsonl",    "application/x-jsonlines",
      "application/json-seq", "application/stream+json"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (is_type(content_type, types[i]))
      return true;
  return false;
}

void wire_head(struct wire *w, int status, struct str content_type)
{
  w->status = status;
  w->is_success = status >= 200 && status <= 299;
  if (!w->is_success || w->c.raw) {
    w->mode = WIRE_MODE_BYTES;
    return;
  }
  w->mode = WIRE_MODE_GUESS;
  w->declared = is_type(content_type, "text/event-stream") ? WIRE_MODE_SSE
                : is_ndjson(content_type)                  ? WIRE_MODE_NDJSON
                                                           : WIRE_MODE_PLAIN;
}

/* ---- the first bytes ---- */

/* One document, unless its first line is an event that says that it is not
 * the end, as Ollama's do: then lines of a stream, which gateways pass on as
 * JSON. */
static enum wire_mode guess_json(const struct wire *w, struct str s)
{
  const struct dialect_rules *rules = &w->c.dialect->stream;
  const char *end = memchr(s.p, '\n', s.len);
  if (*s.p != '{' || !rules->says_end || (!end && s.len >= FIRST_LINE_MAX))
    return WIRE_MODE_PLAIN;
  if (!end)
    return WIRE_MODE_GUESS;
  s.len = (size_t)(end - s.p);
  return dialect_goes_on(rules, s) ? WIRE_MODE_NDJSON : WIRE_MODE_PLAIN;
}

/* The mode that the bytes speak for; GUESS when they are too few. Servers
 * and gateways put wrong content types on right bodies, and the other way
 * round; what can be read is read. */
static enum wire_mode guess(const struct wire *w, struct str s)
{
  static const char *const fields[] = {":", "data:", "event:", "id:", "retry:"};
  enum wire_mode declared = w->declared;
  size_t all = s.len;
  if (str_starts(s, STR("\xef\xbb\xbf")))
    s = (struct str){s.p + 3, s.len - 3};
  else if (s.len < 3 && str_starts(STR("\xef\xbb\xbf"), s))
    return WIRE_MODE_GUESS;
  while (s.len && (*s.p == ' ' || *s.p == '\n' || *s.p == '\r' || *s.p == '\t'))
    s = (struct str){s.p + 1, s.len - 1};
  if (s.len == 0)
    return all < GUESS_MAX ? WIRE_MODE_GUESS : declared;
  if (*s.p == '<') /* a page */
    return WIRE_MODE_PLAIN;
  if (*s.p == '{' || *s.p == '[')
    return declared == WIRE_MODE_NDJSON ? declared : guess_json(w, s);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (str_starts(s, str_of(fields[i])))
      return WIRE_MODE_SSE;
    if (str_starts(str_of(fields[i]), s))
      return WIRE_MODE_GUESS;
  }
  return declared;
}

static void set_mode(struct wire *w, enum wire_mode mode)
{
  w->mode = mode;
  w->r.content_type_odd = mode != w->declared;
  w->r.streamed = mode != WIRE_MODE_PLAIN;
}

/* ---- feeding ---- */

static int feed_plain(struct wire *w, const char *p, size_t len)
{
  if (w->n_bytes > w->c.max_text)
    return too_large(w, "the answer", w->c.max_text);
  if (!w->c.keep_body)
    buf_add(&w->body, p, len);
  return 0;
}

static int feed_as(struct wire *w, const char *p, size_t len)
{
  int rc = w->mode == WIRE_MODE_SSE      ? sse_feed(&w->sse, p, len)
           : w->mode == WIRE_MODE_NDJSON ? ndjson_feed(&w->ndjson, p, len)
                                         : feed_plain(w, p, len);
  if (w->stopped)
    w->mode = WIRE_MODE_OVER;
  else if (rc < 0 && w->mode != WIRE_MODE_OVER)
    return too_large(w, "an event", w->c.max_event);
  return w->stopped ? w->stopped : rc;
}

/* Until the mode is known the bytes wait, unless they come all at once. */
static int feed_guess(struct wire *w, const char *p, size_t len)
{
  struct buf first = w->waiting;
  enum wire_mode mode;
  int rc;
  if (first.len) {
    buf_add(&first, p, len);
    p = first.p;
    len = first.len;
  }
  mode = guess(w, (struct str){p, len});
  if (mode == WIRE_MODE_GUESS) {
    if (!first.len)
      buf_add(&first, p, len);
    w->waiting = first;
    return 0;
  }
  w->waiting = (struct buf){.len = 0};
  set_mode(w, mode);
  rc = feed_as(w, p, len);
  buf_free(&first);
  return rc;
}

static void keep_body(struct wire *w, const char *p, size_t len)
{
  size_t max = w->c.max_text, room;
  if (!w->c.keep_body && max > ERROR_BODY_MAX)
    max = ERROR_BODY_MAX;
  room = max - w->body.len;
  buf_add(&w->body, p, len < room ? len : room);
}

void wire_settle_mode(struct wire *w)
{
  struct buf first = w->waiting;
  if (w->mode != WIRE_MODE_GUESS)
    return;
  set_mode(w, w->declared);
  w->waiting = (struct buf){.len = 0};
  if (first.len)
    feed_as(w, first.p, first.len);
  buf_free(&first);
}

int wire_feed(struct wire *w, const char *p, size_t len)
{
  if (len == 0 || w->mode == WIRE_MODE_OVER)
    return 0;
  w->n_bytes += len;
  if (w->c.keep_body || (w->mode == WIRE_MODE_BYTES && !w->is_success))
    keep_body(w, p, len);
  if (w->mode == WIRE_MODE_BYTES)
    return 0;
  return w->mode == WIRE_MODE_GUESS ? feed_guess(w, p, len)
                                    : feed_as(w, p, len);
}
