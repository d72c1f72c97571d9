#include "mock/foreign.h"

#include "base/json.h"

#define LLU(x) (unsigned long long)(x)

static void add_quoted(struct buf *out, const char *s)
{
  buf_addc(out, '"');
  json_escape(out, str_of(s));
  buf_addc(out, '"');
}

static void put(const struct mock_foreign *f, const char *name)
{
  f->put(name, buf_str(f->scratch), f->ud);
}

static struct buf *fresh(const struct mock_foreign *f)
{
  buf_reset(f->scratch);
  return f->scratch;
}

static bool is_tool(enum mock_kind kind)
{
  return kind == MOCK_TOOL_NAME || kind == MOCK_TOOL_ARGS;
}

/* Reasoning is the first item or block, if there is any; then the text, or
 * each call. */
static uint64_t place(const struct mock_foreign *f, const struct mock_piece *p)
{
  uint64_t thinking = f->content->reasoning > 0;
  return p->kind == MOCK_REASONING ? 0 : thinking + p->call;
}

/* Does event `e` begin a new one? */
static bool begins(const struct mock_foreign *f, uint64_t e)
{
  struct mock_piece p = mock_content_piece(f->content, e), before;
  if (is_tool(p.kind))
    return p.kind == MOCK_TOOL_NAME;
  if (e == 0)
    return true;
  before = mock_content_piece(f->content, e - 1);
  return before.kind != p.kind;
}

/* How many there were. */
static uint64_t places(const struct mock_foreign *f)
{
  const struct mock_content *c = f->content;
  uint64_t thinking = c->reasoning > 0;
  if (c->tool_calls)
    return thinking + c->tool_calls;
  return thinking + (c->tokens > c->reasoning);
}

/* The texts of all events of a kind (and call), as one. */
static void add_run(const struct mock_foreign *f, enum mock_kind kind,
                    uint64_t call, struct buf *out)
{
  for (uint64_t e = 0; e < f->content->events; e++) {
    struct mock_piece p = mock_content_piece(f->content, e);
    if (kind == MOCK_TOOL_ARGS ? is_tool(p.kind) && p.call == call
                               : p.kind == kind)
      mock_content_text(f->content, e, out);
  }
}

static bool has_kind(const struct mock_foreign *f, enum mock_kind kind)
{
  for (uint64_t e = 0; e < f->content->events; e++)
    if (mock_content_piece(f->content, e).kind == kind)
      return true;
  return false;
}

/* ---- responses ---- */

static void add_response_usage(const struct mock_foreign *f, struct buf *out)
{
  const struct mock_usage *u = &f->usage;
  if (f->reply->plan->no_usage) {
    buf_adds(out, "null");
    return;
  }
  buf_addf(out,
           "{\"input_tokens\":%llu,\"input_tokens_details\":{\"cached_tokens\":"
           "%llu},\"output_tokens\":%llu,\"output_tokens_details\":"
           "{\"reasoning_tokens\":%llu},\"total_tokens\":%llu}",
           LLU(u->prompt), LLU(u->cached), LLU(u->completion),
           LLU(u->reasoning), LLU(u->prompt + u->completion));
}

static void add_response_output(const struct mock_foreign *f, struct buf *out)
{
  const char *id = f->reply->id, *comma = "";
  if (f->content->reasoning) {
    buf_addf(out,
             "{\"id\":\"rs-%s\",\"type\":\"reasoning\",\"summary\":[{\"type\":"
             "\"summary_text\",\"text\":\"",
             id);
    add_run(f, MOCK_REASONING, 0, out);
    buf_adds(out, "\"}]}");
    comma = ",";
  }
  for (uint64_t i = 0; i < f->content->tool_calls; i++, comma = ",") {
    buf_addf(out,
             "%s{\"id\":\"fc-%s-%llu\",\"type\":\"function_call\",\"call_id\":"
             "\"call-%s-%llu\",\"name\":",
             comma, id, LLU(i), id, LLU(i));
    add_quoted(out, f->reply->function);
    buf_adds(out, ",\"arguments\":\"");
    add_run(f, MOCK_TOOL_ARGS, i, out);
    buf_adds(out, "\"}");
  }
  if (f->content->tool_calls)
    return;
  buf_addf(out,
           "%s{\"id\":\"msg-%s\",\"type\":\"message\",\"role\":\"assistant\","
           "\"content\":[{\"type\":\"output_text\",\"text\":\"",
           comma, id);
  add_run(f, MOCK_CONTENT, 0, out);
  buf_adds(out, "\",\"annotations\":[]}]}");
}

static bool is_cut(const struct mock_foreign *f)
{
  return f->finish && strcmp(f->finish, "length") == 0;
}

/* The response object; `done`: with all that it holds. */
static void add_response(const struct mock_foreign *f, bool done,
                         struct buf *out)
{
  const char *status = !done       ? "in_progress"
                       : is_cut(f) ? "incomplete"
                                   : "completed";
  buf_addf(out,
           "{\"id\":\"%s\",\"object\":\"response\",\"status\":\"%s\","
           "\"error\":null,\"incomplete_details\":%s,\"model\":",
           f->reply->id, status,
           done && is_cut(f) ? "{\"reason\":\"max_output_tokens\"}" : "null");
  add_quoted(out, f->reply->model);
  buf_adds(out, ",\"output\":[");
  if (done)
    add_response_output(f, out);
  buf_adds(out, "],\"usage\":");
  if (done)
    add_response_usage(f, out);
  else
    buf_adds(out, "null");
  buf_addc(out, '}');
}

static void put_response(const struct mock_foreign *f, const char *type,
                         bool done)
{
  struct buf *out = fresh(f);
  buf_addf(out, "{\"type\":\"%s\",\"response\":", type);
  add_response(f, done, out);
  buf_addc(out, '}');
  put(f, type);
}

static void put_item(const struct mock_foreign *f, const struct mock_piece *p)
{
  struct buf *out = fresh(f);
  const char *id = f->reply->id;
  buf_addf(out,
           "{\"type\":\"response.output_item.added\",\"output_index\":%llu,"
           "\"item\":",
           LLU(place(f, p)));
  if (is_tool(p->kind)) {
    buf_addf(out,
             "{\"id\":\"fc-%s-%llu\",\"type\":\"function_call\",\"call_id\":"
             "\"call-%s-%llu\",\"arguments\":\"\",\"name\":",
             id, LLU(p->call), id, LLU(p->call));
    add_quoted(out, f->reply->function);
    buf_adds(out, "}}");
  } else {
    buf_adds(out, p->kind == MOCK_REASONING
                      ? "{\"type\":\"reasoning\",\"summary\":[]}}"
                      : "{\"type\":\"message\",\"role\":\"assistant\","
                        "\"content\":[]}}");
  }
  put(f, "response.output_item.added");
}

static const char *response_delta(enum mock_kind kind)
{
  switch (kind) {
  case MOCK_REASONING: return "response.reasoning_text.delta";
  case MOCK_REFUSAL: return "response.refusal.delta";
  case MOCK_TOOL_NAME:
  case MOCK_TOOL_ARGS: return "response.function_call_arguments.delta";
  case MOCK_CONTENT: break;
  }
  return "response.output_text.delta";
}

/* The name of a call is in its item alone. */
static void response_piece(const struct mock_foreign *f, uint64_t e)
{
  struct mock_piece p = mock_content_piece(f->content, e);
  struct buf *out;
  if (begins(f, e))
    put_item(f, &p);
  if (p.kind == MOCK_TOOL_NAME && f->content->events > f->content->tool_calls)
    return;
  out = fresh(f);
  buf_addf(out, "{\"type\":\"%s\",\"output_index\":%llu,\"delta\":\"",
           response_delta(p.kind), LLU(place(f, &p)));
  mock_content_text(f->content, e, out);
  buf_adds(out, "\"}");
  put(f, response_delta(p.kind));
}

/* ---- Anthropic's messages ---- */

static void add_message_usage(const struct mock_foreign *f, uint64_t output,
                              struct buf *out)
{
  const struct mock_usage *u = &f->usage;
  /* Cached tokens stand beside the others here, not among them. */
  uint64_t read = u->prompt > u->cached ? u->prompt - u->cached : 0;
  buf_addf(out,
           "{\"input_tokens\":%llu,\"cache_read_input_tokens\":%llu,"
           "\"output_tokens\":%llu}",
           LLU(read), LLU(u->cached), LLU(output));
}

static const char *stop_reason(const struct mock_foreign *f)
{
  if (is_cut(f))
    return "max_tokens";
  return strcmp(f->finish, "tool_calls") == 0 ? "tool_use" : "end_turn";
}

static void add_message_blocks(const struct mock_foreign *f, struct buf *out)
{
  const char *comma = "";
  if (f->content->reasoning) {
    buf_adds(out, "{\"type\":\"thinking\",\"thinking\":\"");
    add_run(f, MOCK_REASONING, 0, out);
    buf_adds(out, "\"}");
    comma = ",";
  }
  for (uint64_t i = 0; i < f->content->tool_calls; i++, comma = ",") {
    struct buf text = {0};
    json_value *input;
    buf_addf(out, "%s{\"type\":\"tool_use\",\"id\":\"toolu-%s-%llu\",\"name\":",
             comma, f->reply->id, LLU(i));
    add_quoted(out, f->reply->function);
    /* Here the arguments are an object and not its text. */
    buf_addc(&text, '"');
    add_run(f, MOCK_TOOL_ARGS, i, &text);
    buf_addc(&text, '"');
    input = json_parse(buf_str(&text), NULL);
    buf_addf(out, ",\"input\":%s}", json_text(input) ? json_text(input) : "{}");
    json_free(input);
    buf_free(&text);
  }
  if (has_kind(f, MOCK_CONTENT) || has_kind(f, MOCK_REFUSAL)) {
    buf_addf(out, "%s{\"type\":\"text\",\"text\":\"", comma);
    add_run(f, MOCK_CONTENT, 0, out);
    add_run(f, MOCK_REFUSAL, 0, out);
    buf_adds(out, "\"}");
  }
}

static void add_message(const struct mock_foreign *f, bool done,
                        struct buf *out)
{
  buf_addf(out,
           "{\"id\":\"%s\",\"type\":\"message\",\"role\":\"assistant\","
           "\"model\":",
           f->reply->id);
  add_quoted(out, f->reply->model);
  buf_adds(out, ",\"content\":[");
  if (done)
    add_message_blocks(f, out);
  buf_adds(out, "],\"stop_reason\":");
  if (done)
    add_quoted(out, stop_reason(f));
  else
    buf_adds(out, "null");
  if (!f->reply->plan->no_usage) {
    buf_adds(out, ",\"usage\":");
    add_message_usage(f, done ? f->usage.completion : 1, out);
  }
  buf_addc(out, '}');
}

static void put_block(const struct mock_foreign *f, const struct mock_piece *p)
{
  struct buf *out = fresh(f);
  buf_addf(out,
           "{\"type\":\"content_block_start\",\"index\":%llu,"
           "\"content_block\":",
           LLU(place(f, p)));
  if (is_tool(p->kind)) {
    buf_addf(out, "{\"type\":\"tool_use\",\"id\":\"toolu-%s-%llu\",\"name\":",
             f->reply->id, LLU(p->call));
    add_quoted(out, f->reply->function);
    buf_adds(out, ",\"input\":{}}}");
  } else {
    buf_adds(out, p->kind == MOCK_REASONING
                      ? "{\"type\":\"thinking\",\"thinking\":\"\"}}"
                      : "{\"type\":\"text\",\"text\":\"\"}}");
  }
  put(f, "content_block_start");
}

static void message_piece(const struct mock_foreign *f, uint64_t e)
{
  struct mock_piece p = mock_content_piece(f->content, e);
  struct buf *out;
  const char *type = is_tool(p.kind)            ? "input_json"
                     : p.kind == MOCK_REASONING ? "thinking"
                                                : "text";
  if (begins(f, e))
    put_block(f, &p);
  if (p.kind == MOCK_TOOL_NAME && f->content->events > f->content->tool_calls)
    return;
  out = fresh(f);
  buf_addf(out,
           "{\"type\":\"content_block_delta\",\"index\":%llu,\"delta\":"
           "{\"type\":\"%s_delta\",\"%s\":\"",
           LLU(place(f, &p)), type, is_tool(p.kind) ? "partial_json" : type);
  mock_content_text(f->content, e, out);
  buf_adds(out, "\"}}");
  put(f, "content_block_delta");
}

static void message_begin(const struct mock_foreign *f)
{
  struct buf *out = fresh(f);
  buf_adds(out, "{\"type\":\"message_start\",\"message\":");
  add_message(f, false, out);
  buf_addc(out, '}');
  put(f, "message_start");
}

static void message_end(const struct mock_foreign *f)
{
  struct buf *out;
  for (uint64_t i = 0; i < places(f); i++) {
    out = fresh(f);
    buf_addf(out, "{\"type\":\"content_block_stop\",\"index\":%llu}", LLU(i));
    put(f, "content_block_stop");
  }
  out = fresh(f);
  buf_addf(out,
           "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\"}",
           stop_reason(f));
  if (!f->reply->plan->no_usage) {
    buf_adds(out, ",\"usage\":");
    buf_addf(out, "{\"output_tokens\":%llu}", LLU(f->usage.completion));
  }
  buf_addc(out, '}');
  put(f, "message_delta");
  buf_adds(fresh(f), "{\"type\":\"message_stop\"}");
  put(f, "message_stop");
}

/* ---- Ollama's lines ---- */

static void open_line(const struct mock_foreign *f, struct buf *out)
{
  buf_adds(out, "{\"model\":");
  add_quoted(out, f->reply->model);
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
  struct buf *out = fresh(f);
  open_line(f, out);
  open_text(f, mock_content_piece(f->content, e).kind, out);
  mock_content_text(f->content, e, out);
  close_text(f, out);
  buf_adds(out, ",\"done\":false}");
  put(f, NULL);
}

/* The last line; of an answer in one piece the only one, with its text. */
static void ollama_last(const struct mock_foreign *f, bool whole,
                        struct buf *out)
{
  open_line(f, out);
  open_text(f, MOCK_CONTENT, out);
  if (whole) {
    add_run(f, MOCK_CONTENT, 0, out);
    add_run(f, MOCK_REFUSAL, 0, out);
  }
  if (whole && f->content->reasoning) {
    buf_adds(out, "\",\"thinking\":\"");
    add_run(f, MOCK_REASONING, 0, out);
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
  add_quoted(out, f->reply->model);
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
  add_quoted(out, f->reply->model);
  buf_adds(out, ",\"results\":[");
  for (int64_t i = 0; i < a->inputs; i++)
    buf_addf(out, "%s{\"index\":%lld,\"relevance_score\":%.6f}", i ? "," : "",
             (long long)i, 1 / (double)(i + 2));
  buf_addc(out, ']');
  add_pooling_usage(f, out);
}

/* ---- all ---- */

void mock_foreign_begin(const struct mock_foreign *f)
{
  if (f->reply->api == MOCK_API_RESPONSES)
    put_response(f, "response.created", false);
  else if (f->reply->api == MOCK_API_MESSAGES)
    message_begin(f);
}

void mock_foreign_piece(const struct mock_foreign *f, uint64_t e)
{
  if (f->reply->api == MOCK_API_RESPONSES)
    response_piece(f, e);
  else if (f->reply->api == MOCK_API_MESSAGES)
    message_piece(f, e);
  else
    ollama_piece(f, e);
}

void mock_foreign_end(const struct mock_foreign *f)
{
  if (f->reply->api == MOCK_API_RESPONSES) {
    put_response(f, is_cut(f) ? "response.incomplete" : "response.completed",
                 true);
  } else if (f->reply->api == MOCK_API_MESSAGES) {
    message_end(f);
  } else {
    ollama_last(f, false, fresh(f));
    put(f, NULL);
  }
}

void mock_foreign_body(const struct mock_foreign *f, const struct mock_ask *a)
{
  struct buf *out = f->scratch;
  switch (f->reply->api) {
  case MOCK_API_RESPONSES: add_response(f, true, out); break;
  case MOCK_API_MESSAGES: add_message(f, true, out); break;
  case MOCK_API_OLLAMA:
  case MOCK_API_GENERATE: ollama_last(f, true, out); break;
  case MOCK_API_EMBEDDINGS: add_embeddings(f, a, out); break;
  case MOCK_API_RERANK: add_ranks(f, a, out); break;
  case MOCK_API_CHAT:
  case MOCK_API_COMPLETIONS: break;
  }
}
