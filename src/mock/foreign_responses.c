#include "mock/foreign_impl.h"

/* OpenAI's responses. */

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
    mock_foreign_run(f, MOCK_REASONING, 0, out);
    buf_adds(out, "\"}]}");
    comma = ",";
  }
  for (uint64_t i = 0; i < f->content->tool_calls; i++, comma = ",") {
    buf_addf(out,
             "%s{\"id\":\"fc-%s-%llu\",\"type\":\"function_call\",\"call_id\":"
             "\"call-%s-%llu\",\"name\":",
             comma, id, LLU(i), id, LLU(i));
    mock_foreign_quote(out, f->reply->function);
    buf_adds(out, ",\"arguments\":\"");
    mock_foreign_run(f, MOCK_TOOL_ARGS, i, out);
    buf_adds(out, "\"}");
  }
  if (f->content->tool_calls)
    return;
  buf_addf(out,
           "%s{\"id\":\"msg-%s\",\"type\":\"message\",\"role\":\"assistant\","
           "\"content\":[{\"type\":\"output_text\",\"text\":\"",
           comma, id);
  mock_foreign_run(f, MOCK_CONTENT, 0, out);
  buf_adds(out, "\",\"annotations\":[]}]}");
}

/* The response object; `done`: with all that it holds. */
void mock_responses_add(const struct mock_foreign *f, bool done,
                        struct buf *out)
{
  const char *status = !done                    ? "in_progress"
                       : mock_foreign_is_cut(f) ? "incomplete"
                                                : "completed";
  buf_addf(out,
           "{\"id\":\"%s\",\"object\":\"response\",\"status\":\"%s\","
           "\"error\":null,\"incomplete_details\":%s,\"model\":",
           f->reply->id, status,
           done && mock_foreign_is_cut(f) ? "{\"reason\":\"max_output_tokens\"}"
                                          : "null");
  mock_foreign_quote(out, f->reply->model);
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

void mock_responses_put(const struct mock_foreign *f, const char *type,
                        bool done)
{
  struct buf *out = mock_foreign_fresh(f);
  buf_addf(out, "{\"type\":\"%s\",\"response\":", type);
  mock_responses_add(f, done, out);
  buf_addc(out, '}');
  mock_foreign_put(f, type);
}

static void put_item(const struct mock_foreign *f, const struct mock_piece *p)
{
  struct buf *out = mock_foreign_fresh(f);
  const char *id = f->reply->id;
  buf_addf(out,
           "{\"type\":\"response.output_item.added\",\"output_index\":%llu,"
           "\"item\":",
           LLU(mock_foreign_place(f, p)));
  if (mock_foreign_is_tool(p->kind)) {
    buf_addf(out,
             "{\"id\":\"fc-%s-%llu\",\"type\":\"function_call\",\"call_id\":"
             "\"call-%s-%llu\",\"arguments\":\"\",\"name\":",
             id, LLU(p->call), id, LLU(p->call));
    mock_foreign_quote(out, f->reply->function);
    buf_adds(out, "}}");
  } else {
    buf_adds(out, p->kind == MOCK_REASONING
                      ? "{\"type\":\"reasoning\",\"summary\":[]}}"
                      : "{\"type\":\"message\",\"role\":\"assistant\","
                        "\"content\":[]}}");
  }
  mock_foreign_put(f, "response.output_item.added");
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
void mock_responses_piece(const struct mock_foreign *f, uint64_t e)
{
  struct mock_piece p = mock_content_piece(f->content, e);
  struct buf *out;
  if (mock_foreign_begins(f, e))
    put_item(f, &p);
  if (p.kind == MOCK_TOOL_NAME && f->content->events > f->content->tool_calls)
    return;
  out = mock_foreign_fresh(f);
  buf_addf(out, "{\"type\":\"%s\",\"output_index\":%llu,\"delta\":\"",
           response_delta(p.kind), LLU(mock_foreign_place(f, &p)));
  mock_content_text(f->content, e, out);
  buf_adds(out, "\"}");
  mock_foreign_put(f, response_delta(p.kind));
}
