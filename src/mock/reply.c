#include "mock/reply.h"

#include <stdio.h>

#include "base/json.h"

void mock_reply_integer(struct buf *out, uint64_t x)
{
  char digits[20];
  size_t n = sizeof digits;
  do
    digits[--n] = (char)('0' + x % 10);
  while (x /= 10);
  buf_add(out, digits + n, sizeof digits - n);
}

static void add_quoted(struct buf *out, const char *s)
{
  buf_addc(out, '"');
  json_escape(out, str_of(s));
  buf_addc(out, '"');
}

static void add_head(struct mock_reply *r, struct buf *out, const char *object,
                     const char *model, uint64_t created)
{
  buf_adds(out, "{\"id\":\"");
  buf_adds(out, r->id);
  buf_adds(out, "\",\"object\":\"");
  buf_adds(out, object);
  buf_adds(out, "\",\"created\":");
  mock_reply_integer(out, created);
  buf_adds(out, ",\"model\":");
  add_quoted(out, model);
  buf_adds(out, ",\"choices\":[");
}

void mock_reply_begin(struct mock_reply *r, const struct mock_plan *plan,
                      enum mock_api api, const char *model,
                      const char *function, uint64_t number, uint64_t created)
{
  static const struct {
    const char *id, *object;
  } names[] = {
      [MOCK_API_COMPLETIONS] = {"cmpl-mock-", "text_completion"},
      [MOCK_API_CHAT] = {"chatcmpl-mock-", "chat.completion.chunk"},
      [MOCK_API_TRANSCRIPTION] = {"trsc-mock-", "transcription.chunk"},
      [MOCK_API_TRANSLATION] = {"trsl-mock-", "translation.chunk"},
  };
  struct buf id = {0};
  enum mock_api like = MOCK_IS_OPENAI(api) ? api : MOCK_API_CHAT;
  r->plan = plan;
  r->api = api;
  r->chat = api != MOCK_API_COMPLETIONS;
  r->model = model;
  r->function = function && *function ? function : "lookup";
  id.p = r->id;
  id.cap = sizeof r->id;
  buf_adds(&id, names[like].id);
  mock_reply_integer(&id, number);
  r->id[id.len] = '\0';
  buf_reset(&r->head);
  add_head(r, &r->head, names[like].object, model, created);
}

void mock_reply_deinit(struct mock_reply *r)
{
  buf_free(&r->head);
}

/* ---- streamed ---- */

static void add_usage(const struct mock_reply *r, const struct mock_usage *u,
                      struct buf *out)
{
  uint64_t completion = u->completion;
  buf_adds(out, "\"usage\":{\"prompt_tokens\":");
  mock_reply_integer(out, u->prompt);
  buf_adds(out, ",\"total_tokens\":");
  mock_reply_integer(out, u->prompt + completion);
  buf_adds(out, ",\"completion_tokens\":");
  mock_reply_integer(out, completion);
  if (u->cached || r->plan->cached_tokens >= 0) {
    buf_adds(out, ",\"prompt_tokens_details\":{\"cached_tokens\":");
    mock_reply_integer(out, u->cached);
    buf_addc(out, '}');
  }
  if (u->reasoning) {
    buf_adds(out, ",\"completion_tokens_details\":{\"reasoning_tokens\":");
    mock_reply_integer(out, u->reasoning);
    buf_addc(out, '}');
  }
  buf_addc(out, '}');
}

static void add_tool(const struct mock_reply *r, const struct mock_event *e,
                     const struct mock_piece *p, struct buf *out)
{
  buf_adds(out, "\"tool_calls\":[{\"index\":");
  mock_reply_integer(out, p->call);
  if (p->kind == MOCK_TOOL_NAME) {
    buf_adds(out, ",\"id\":\"call-");
    buf_adds(out, r->id);
    buf_addc(out, '-');
    mock_reply_integer(out, p->call);
    buf_adds(out, "\",\"type\":\"function\"");
  }
  buf_adds(out, ",\"function\":{");
  if (p->kind == MOCK_TOOL_NAME) {
    buf_adds(out, "\"name\":");
    add_quoted(out, r->function);
    buf_addc(out, ',');
  }
  buf_adds(out, "\"arguments\":\"");
  mock_content_text(e->content, e->event, out);
  buf_adds(out, "\"}}]");
}

static void add_piece(const struct mock_reply *r, const struct mock_event *e,
                      struct buf *out)
{
  struct mock_piece p = mock_content_piece(e->content, e->event);
  switch (p.kind) {
  case MOCK_CONTENT: buf_adds(out, "\"content\":\""); break;
  case MOCK_REFUSAL: buf_adds(out, "\"refusal\":\""); break;
  case MOCK_REASONING:
    buf_addc(out, '"');
    buf_addstr(out, r->plan->reasoning_key);
    buf_adds(out, "\":\"");
    break;
  case MOCK_TOOL_NAME:
  case MOCK_TOOL_ARGS: add_tool(r, e, &p, out); return;
  }
  mock_content_text(e->content, e->event, out);
  buf_addc(out, '"');
}

static void add_delta(const struct mock_reply *r, const struct mock_event *e,
                      struct buf *out)
{
  buf_adds(out, "\"delta\":{");
  if (e->with_role)
    buf_adds(out, "\"role\":\"assistant\",");
  switch (e->delta) {
  case MOCK_DELTA_PIECE: add_piece(r, e, out); break;
  case MOCK_DELTA_ROLE:
    buf_adds(out, "\"role\":\"assistant\",\"content\":\"\"");
    break;
  case MOCK_DELTA_NULL: buf_adds(out, "\"content\":null"); break;
  case MOCK_DELTA_EMPTY: buf_adds(out, "\"content\":\"\""); break;
  case MOCK_DELTA_NONE: break;
  }
  buf_addc(out, '}');
}

static void add_text(const struct mock_event *e, struct buf *out)
{
  buf_adds(out, "\"text\":");
  if (e->delta == MOCK_DELTA_NULL) {
    buf_adds(out, "null");
    return;
  }
  buf_addc(out, '"');
  if (e->delta == MOCK_DELTA_PIECE)
    mock_content_text(e->content, e->event, out);
  buf_addc(out, '"');
}

/* A transcription has one choice, which needs no number. */
static void add_streamed(const struct mock_reply *r, const struct mock_event *e,
                         struct buf *out)
{
  if (MOCK_IS_FORM(r->api)) {
    buf_addc(out, '{');
    add_delta(r, e, out);
    buf_adds(out, ",\"stop_reason\":null");
    return;
  }
  buf_adds(out, "{\"index\":");
  mock_reply_integer(out, e->index);
  buf_addc(out, ',');
  if (r->chat)
    add_delta(r, e, out);
  else
    add_text(e, out);
  buf_adds(out, ",\"logprobs\":null");
}

void mock_reply_event(const struct mock_reply *r, const struct mock_event *e,
                      struct buf *out)
{
  buf_addstr(out, buf_str(&r->head));
  add_streamed(r, e, out);
  buf_adds(out, ",\"finish_reason\":");
  if (e->finish) {
    buf_addc(out, '"');
    buf_adds(out, e->finish);
    buf_adds(out, "\"}]");
  } else {
    buf_adds(out, "null}]");
  }
  if (r->plan->error_field.len) {
    buf_adds(out, ",\"error\":");
    buf_addstr(out, r->plan->error_field);
  }
  if (e->usage) {
    buf_addc(out, ',');
    add_usage(r, e->usage, out);
  }
  buf_addc(out, '}');
}

void mock_reply_usage(const struct mock_reply *r, const struct mock_usage *u,
                      struct buf *out)
{
  buf_addstr(out, buf_str(&r->head));
  buf_adds(out, "],");
  add_usage(r, u, out);
  buf_addc(out, '}');
}

void mock_reply_error(enum mock_error_form form, struct buf *out)
{
  static const char *const texts[] = {
      [MOCK_ERROR_OBJECT] =
          "{\"error\":{\"message\":\"EngineCore died\",\"type\":"
          "\"InternalServerError\",\"code\":500}}",
      [MOCK_ERROR_STRING] = "{\"error\":\"STREAM_EXPLODED\"}",
      [MOCK_ERROR_FLAT] = "{\"message\":\"overloaded\",\"code\":529}",
      [MOCK_ERROR_NAMED] = "",
      [MOCK_ERROR_VLLM] =
          "{\"object\":\"error\",\"message\":\"EngineCore died\",\"type\":"
          "\"InternalServerError\",\"param\":null,\"code\":500}",
  };
  buf_adds(out, texts[form]);
}

/* ---- whole ---- */

static void add_run(const struct mock_content *c, enum mock_kind kind,
                    uint64_t call, struct buf *out)
{
  for (uint64_t e = 0; e < c->events; e++) {
    struct mock_piece p = mock_content_piece(c, e);
    bool tool = p.kind == MOCK_TOOL_NAME || p.kind == MOCK_TOOL_ARGS;
    if (kind == MOCK_TOOL_ARGS ? tool && p.call == call : p.kind == kind)
      mock_content_text(c, e, out);
  }
}

static void add_calls(const struct mock_reply *r, const struct mock_content *c,
                      struct buf *out)
{
  buf_adds(out, ",\"tool_calls\":[");
  for (uint64_t i = 0; i < c->tool_calls; i++) {
    buf_addf(out,
             "%s{\"id\":\"call-%s-%llu\",\"type\":\"function\","
             "\"function\":{\"name\":",
             i ? "," : "", r->id, (unsigned long long)i);
    add_quoted(out, r->function);
    buf_adds(out, ",\"arguments\":\"");
    add_run(c, MOCK_TOOL_ARGS, i, out);
    buf_adds(out, "\"}}");
  }
  buf_addc(out, ']');
}

static void add_field(const struct mock_content *c, const char *key,
                      enum mock_kind kind, bool has, struct buf *out)
{
  buf_addf(out, ",\"%s\":", key);
  if (!has) {
    buf_adds(out, "null");
    return;
  }
  buf_addc(out, '"');
  add_run(c, kind, 0, out);
  buf_addc(out, '"');
}

static void add_message(const struct mock_reply *r,
                        const struct mock_content *c, struct buf *out)
{
  char key[64];
  buf_adds(out, ",\"message\":{\"role\":\"assistant\"");
  add_field(c, "content", MOCK_CONTENT, !c->tool_calls && !r->plan->refusal,
            out);
  add_field(c, "refusal", MOCK_REFUSAL, r->plan->refusal, out);
  snprintf(key, sizeof key, "%.*s", STR_ARG(r->plan->reasoning_key));
  add_field(c, key, MOCK_REASONING, c->reasoning > 0, out);
  if (c->tool_calls)
    add_calls(r, c, out);
  buf_addc(out, '}');
}

static void add_choice(const struct mock_reply *r, const struct mock_content *c,
                       uint64_t index, const char *finish, struct buf *out)
{
  buf_addf(out, "%s{\"index\":%llu", index ? "," : "",
           (unsigned long long)index);
  if (r->chat) {
    add_message(r, c, out);
  } else {
    buf_adds(out, ",\"text\":\"");
    add_run(c, MOCK_CONTENT, 0, out);
    buf_addc(out, '"');
  }
  buf_adds(out, ",\"logprobs\":null,\"finish_reason\":");
  buf_addf(out, finish ? "\"%s\"}" : "null}", finish);
}

/* Its usage is in seconds, and no tokens are told. */
static void add_transcript(const struct mock_content *c,
                           const struct mock_usage *u, struct buf *out)
{
  buf_adds(out, "{\"text\":\"");
  add_run(c, MOCK_CONTENT, 0, out);
  buf_addc(out, '"');
  if (u)
    buf_adds(out, ",\"usage\":{\"type\":\"duration\",\"seconds\":1}");
  buf_addc(out, '}');
}

void mock_reply_body(const struct mock_reply *r,
                     const struct mock_content *contents, uint64_t choices,
                     const char *finish, const struct mock_usage *u,
                     struct buf *out)
{
  struct str head = buf_str(&r->head);
  ptrdiff_t at = str_find(head, STR(".chunk\""));
  if (MOCK_IS_FORM(r->api)) {
    add_transcript(&contents[0], u, out);
    return;
  }
  /* "chat.completion.chunk" is "chat.completion" here. */
  if (at >= 0) {
    buf_add(out, head.p, (size_t)at);
    head.p += at + 6;
    head.len -= (size_t)at + 6;
  }
  buf_addstr(out, head);
  for (uint64_t i = 0; i < choices; i++)
    add_choice(r, &contents[i], i, finish, out);
  buf_addc(out, ']');
  if (u) {
    buf_addc(out, ',');
    add_usage(r, u, out);
  }
  buf_addc(out, '}');
}

static const char *type_of(int status)
{
  switch (status) {
  case 400: return "BadRequestError";
  case 401: return "invalid_request_error";
  case 404: return "NotFoundError";
  case 429: return "rate_limit_error";
  case 503: return "ServiceUnavailableError";
  default: return status < 500 ? "BadRequestError" : "InternalServerError";
  }
}

void mock_reply_failure(int status, const char *message, const char *param,
                        struct buf *out)
{
  buf_addf(out,
           "{\"error\":{\"message\":\"%s\",\"type\":\"%s\",\"param\":", message,
           type_of(status));
  if (param)
    buf_addf(out, "\"%s\"", param);
  else
    buf_adds(out, "null");
  buf_addf(out, ",\"code\":%d}}", status);
}
