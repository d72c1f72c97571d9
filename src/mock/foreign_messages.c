#include "base/json.h"
#include "mock/foreign_impl.h"

/* Anthropic's messages. */

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
  if (mock_foreign_is_cut(f))
    return "max_tokens";
  return strcmp(f->finish, "tool_calls") == 0 ? "tool_use" : "end_turn";
}

static void add_message_blocks(const struct mock_foreign *f, struct buf *out)
{
  const char *comma = "";
  if (f->content->reasoning) {
    buf_adds(out, "{\"type\":\"thinking\",\"thinking\":\"");
    mock_foreign_run(f, MOCK_REASONING, 0, out);
    buf_adds(out, "\"}");
    comma = ",";
  }
  for (uint64_t i = 0; i < f->content->tool_calls; i++, comma = ",") {
    struct buf text = {0};
    json_value *input;
    buf_addf(out, "%s{\"type\":\"tool_use\",\"id\":\"toolu-%s-%llu\",\"name\":",
             comma, f->reply->id, LLU(i));
    mock_foreign_quote(out, f->reply->function);
    /* Here the arguments are an object and not its text. */
    buf_addc(&text, '"');
    mock_foreign_run(f, MOCK_TOOL_ARGS, i, &text);
    buf_addc(&text, '"');
    input = json_parse(buf_str(&text), NULL);
    buf_addf(out, ",\"input\":%s}", json_text(input) ? json_text(input) : "{}");
    json_free(input);
    buf_free(&text);
  }
  if (mock_foreign_has(f, MOCK_CONTENT) || mock_foreign_has(f, MOCK_REFUSAL)) {
    buf_addf(out, "%s{\"type\":\"text\",\"text\":\"", comma);
    mock_foreign_run(f, MOCK_CONTENT, 0, out);
    mock_foreign_run(f, MOCK_REFUSAL, 0, out);
    buf_adds(out, "\"}");
  }
}

void mock_messages_add(const struct mock_foreign *f, bool done, struct buf *out)
{
  buf_addf(out,
           "{\"id\":\"%s\",\"type\":\"message\",\"role\":\"assistant\","
           "\"model\":",
           f->reply->id);
  mock_foreign_quote(out, f->reply->model);
  buf_adds(out, ",\"content\":[");
  if (done)
    add_message_blocks(f, out);
  buf_adds(out, "],\"stop_reason\":");
  if (done)
    mock_foreign_quote(out, stop_reason(f));
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
  struct buf *out = mock_foreign_fresh(f);
  buf_addf(out,
           "{\"type\":\"content_block_start\",\"index\":%llu,"
           "\"content_block\":",
           LLU(mock_foreign_place(f, p)));
  if (mock_foreign_is_tool(p->kind)) {
    buf_addf(out, "{\"type\":\"tool_use\",\"id\":\"toolu-%s-%llu\",\"name\":",
             f->reply->id, LLU(p->call));
    mock_foreign_quote(out, f->reply->function);
    buf_adds(out, ",\"input\":{}}}");
  } else {
    buf_adds(out, p->kind == MOCK_REASONING
                      ? "{\"type\":\"thinking\",\"thinking\":\"\"}}"
                      : "{\"type\":\"text\",\"text\":\"\"}}");
  }
  mock_foreign_put(f, "content_block_start");
}

void mock_messages_piece(const struct mock_foreign *f, uint64_t e)
{
  struct mock_piece p = mock_content_piece(f->content, e);
  struct buf *out;
  const char *type = mock_foreign_is_tool(p.kind) ? "input_json"
                     : p.kind == MOCK_REASONING   ? "thinking"
                                                  : "text";
  if (mock_foreign_begins(f, e))
    put_block(f, &p);
  if (p.kind == MOCK_TOOL_NAME && f->content->events > f->content->tool_calls)
    return;
  out = mock_foreign_fresh(f);
  buf_addf(out,
           "{\"type\":\"content_block_delta\",\"index\":%llu,\"delta\":"
           "{\"type\":\"%s_delta\",\"%s\":\"",
           LLU(mock_foreign_place(f, &p)), type,
           mock_foreign_is_tool(p.kind) ? "partial_json" : type);
  mock_content_text(f->content, e, out);
  buf_adds(out, "\"}}");
  mock_foreign_put(f, "content_block_delta");
}

void mock_messages_begin(const struct mock_foreign *f)
{
  struct buf *out = mock_foreign_fresh(f);
  buf_adds(out, "{\"type\":\"message_start\",\"message\":");
  mock_messages_add(f, false, out);
  buf_addc(out, '}');
  mock_foreign_put(f, "message_start");
}

void mock_messages_end(const struct mock_foreign *f)
{
  struct buf *out;
  for (uint64_t i = 0; i < mock_foreign_places(f); i++) {
    out = mock_foreign_fresh(f);
    buf_addf(out, "{\"type\":\"content_block_stop\",\"index\":%llu}", LLU(i));
    mock_foreign_put(f, "content_block_stop");
  }
  out = mock_foreign_fresh(f);
  buf_addf(out,
           "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\"}",
           stop_reason(f));
  if (!f->reply->plan->no_usage) {
    buf_adds(out, ",\"usage\":");
    buf_addf(out, "{\"output_tokens\":%llu}", LLU(f->usage.completion));
  }
  buf_addc(out, '}');
  mock_foreign_put(f, "message_delta");
  buf_adds(mock_foreign_fresh(f), "{\"type\":\"message_stop\"}");
  mock_foreign_put(f, "message_stop");
}
