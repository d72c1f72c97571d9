#include "mock/foreign_impl.h"

#include "base/json.h"

void mock_foreign_quote(struct buf *out, const char *s)
{
  buf_addc(out, '"');
  json_escape(out, str_of(s));
  buf_addc(out, '"');
}

void mock_foreign_put(const struct mock_foreign *f, const char *name)
{
  f->put(name, buf_str(f->scratch), f->ud);
}

struct buf *mock_foreign_fresh(const struct mock_foreign *f)
{
  buf_reset(f->scratch);
  return f->scratch;
}

bool mock_foreign_is_tool(enum mock_kind kind)
{
  return kind == MOCK_TOOL_NAME || kind == MOCK_TOOL_ARGS;
}

/* Reasoning is the first item or block, if there is any; then the text, or
 * each call. */
uint64_t mock_foreign_place(const struct mock_foreign *f,
                            const struct mock_piece *p)
{
  uint64_t thinking = f->content->reasoning > 0;
  return p->kind == MOCK_REASONING ? 0 : thinking + p->call;
}

/* Does event `e` begin a new one? */
bool mock_foreign_begins(const struct mock_foreign *f, uint64_t e)
{
  struct mock_piece p = mock_content_piece(f->content, e), before;
  if (mock_foreign_is_tool(p.kind))
    return p.kind == MOCK_TOOL_NAME;
  if (e == 0)
    return true;
  before = mock_content_piece(f->content, e - 1);
  return before.kind != p.kind;
}

/* How many there were. */
uint64_t mock_foreign_places(const struct mock_foreign *f)
{
  const struct mock_content *c = f->content;
  uint64_t thinking = c->reasoning > 0;
  if (c->tool_calls)
    return thinking + c->tool_calls;
  return thinking + (c->tokens > c->reasoning);
}

/* The texts of all events of a kind (and call), as one. */
void mock_foreign_run(const struct mock_foreign *f, enum mock_kind kind,
                      uint64_t call, struct buf *out)
{
  for (uint64_t e = 0; e < f->content->events; e++) {
    struct mock_piece p = mock_content_piece(f->content, e);
    if (kind == MOCK_TOOL_ARGS ? mock_foreign_is_tool(p.kind) && p.call == call
                               : p.kind == kind)
      mock_content_text(f->content, e, out);
  }
}

bool mock_foreign_has(const struct mock_foreign *f, enum mock_kind kind)
{
  for (uint64_t e = 0; e < f->content->events; e++)
    if (mock_content_piece(f->content, e).kind == kind)
      return true;
  return false;
}

bool mock_foreign_is_cut(const struct mock_foreign *f)
{
  return f->finish && strcmp(f->finish, "length") == 0;
}

/* ---- Ollama's lines ---- */

static void open_line(const struct mock_foreign *f, struct buf *out)
{
  buf_adds(out, "{\"model\":");
  mock_foreign_quote(out, f->reply->model);
  buf_adds(out, ",\"created_at\":\"2026-01-01T00:00:00Z\"");
}

/* Its text, under the names of the two APIs. */
static void open_text(const struct mock_foreign *f, enum mock_kind kind,
                      struct buf *out)
{
  bool chat = f->reply->api == MOCK_API_OLLAMA;
  buf_adds(out, chat ? ",\"message\":{\"role\":\"assistant\"," : ",");
  if (kind == MOCK_REASONING)
    buf_adds(out, "\"thinking\":\"");
  else
    buf_adds(out, chat ? "\"content\":\"" : "\"response\":\"");
}

static void close_text(const struct mock_foreign *f, struct buf *out)
{
  buf_adds(out, f->reply->api == MOCK_API_OLLAMA ? "\"}" : "\"");
}

static void ollama_piece(const struct mock_foreign *f, uint64_t e)
{
  struct buf *out = mock_foreign_fresh(f);
  open_line(f, out);
  open_text(f, mock_content_piece(f->content, e).kind, out);
  mock_content_text(f->content, e, out);
  close_text(f, out);
  buf_adds(out, ",\"done\":false}");
  mock_foreign_put(f, NULL);
}

/* The last line; of an answer in one piece the only one, with its text. */
static void ollama_last(const struct mock_foreign *f, bool whole,
                        struct buf *out)
{
  open_line(f, out);
  open_text(f, MOCK_CONTENT, out);
  if (whole) {
    mock_foreign_run(f, MOCK_CONTENT, 0, out);
    mock_foreign_run(f, MOCK_REFUSAL, 0, out);
  }
  if (whole && f->content->reasoning) {
    buf_adds(out, "\",\"thinking\":\"");
    mock_foreign_run(f, MOCK_REASONING, 0, out);
  }
  close_text(f, out);
  buf_addf(out, ",\"done\":true,\"done_reason\":\"%s\"", f->finish);
  if (!f->reply->plan->no_usage)
    buf_addf(out, ",\"prompt_eval_count\":%llu,\"eval_count\":%llu",
             LLU(f->usage.prompt), LLU(f->usage.completion));
  buf_addc(out, '}');
}

/* ---- embeddings and rankings ---- */

static void add_pooling_usage(const struct mock_foreign *f, struct buf *out)
{
  if (!f->reply->plan->no_usage)
    buf_addf(out, ",\"usage\":{\"prompt_tokens\":%llu,\"total_tokens\":%llu}",
             LLU(f->usage.prompt), LLU(f->usage.prompt));
  buf_addc(out, '}');
}

static void add_embeddings(const struct mock_foreign *f,
                           const struct mock_ask *a, struct buf *out)
{
  buf_adds(out, "{\"object\":\"list\",\"model\":");
  mock_foreign_quote(out, f->reply->model);
  buf_adds(out, ",\"data\":[");
  for (int64_t i = 0; i < a->inputs; i++) {
    buf_addf(out, "%s{\"object\":\"embedding\",\"index\":%lld,\"embedding\":[",
             i ? "," : "", (long long)i);
    for (int64_t d = 0; d < a->dimensions; d++)
      buf_addf(out, "%s%.3f", d ? "," : "", (double)((i + d) % 7) / 8);
    buf_adds(out, "]}");
  }
  buf_addc(out, ']');
  add_pooling_usage(f, out);
}

static void add_ranks(const struct mock_foreign *f, const struct mock_ask *a,
                      struct buf *out)
{
  buf_addf(out, "{\"id\":\"%s\",\"model\":", f->reply->id);
  mock_foreign_quote(out, f->reply->model);
  buf_adds(out, ",\"results\":[");
  for (int64_t i = 0; i < a->inputs && i < a->top; i++)
    buf_addf(out, "%s{\"index\":%lld,\"relevance_score\":%.6f}", i ? "," : "",
             (long long)i, 1 / (double)(i + 2));
  buf_addc(out, ']');
  add_pooling_usage(f, out);
}

/* ---- all ---- */

void mock_foreign_begin(const struct mock_foreign *f)
{
  if (f->reply->api == MOCK_API_RESPONSES)
    mock_responses_put(f, "response.created", false);
  else if (f->reply->api == MOCK_API_MESSAGES)
    mock_messages_begin(f);
}

void mock_foreign_piece(const struct mock_foreign *f, uint64_t e)
{
  if (f->reply->api == MOCK_API_RESPONSES)
    mock_responses_piece(f, e);
  else if (f->reply->api == MOCK_API_MESSAGES)
    mock_messages_piece(f, e);
  else
    ollama_piece(f, e);
}

void mock_foreign_end(const struct mock_foreign *f)
{
  if (f->reply->api == MOCK_API_RESPONSES) {
    mock_responses_put(f,
                       mock_foreign_is_cut(f) ? "response.incomplete"
                                              : "response.completed",
                       true);
  } else if (f->reply->api == MOCK_API_MESSAGES) {
    mock_messages_end(f);
  } else {
    ollama_last(f, false, mock_foreign_fresh(f));
    mock_foreign_put(f, NULL);
  }
}

void mock_foreign_body(const struct mock_foreign *f, const struct mock_ask *a)
{
  struct buf *out = f->scratch;
  switch (f->reply->api) {
  case MOCK_API_RESPONSES: mock_responses_add(f, true, out); break;
  case MOCK_API_MESSAGES: mock_messages_add(f, true, out); break;
  case MOCK_API_OLLAMA:
  case MOCK_API_GENERATE: ollama_last(f, true, out); break;
  case MOCK_API_EMBEDDINGS: add_embeddings(f, a, out); break;
  case MOCK_API_RERANK: add_ranks(f, a, out); break;
  case MOCK_API_CHAT:
  case MOCK_API_TRANSCRIPTION:
  case MOCK_API_TRANSLATION:
  case MOCK_API_COMPLETIONS: break;
  }
}
