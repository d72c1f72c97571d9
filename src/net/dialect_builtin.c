#include <pthread.h>

#include "base/mem.h"
#include "net/dialect.h"

/* Several names for one thing (reasoning_content, reasoning, gateways'
 * reasoning_details) are what generations of servers say; those that say more
 * than one send the same text, which counts once. */

#define OPENAI_USAGE                                                           \
  {"usage.prompt_tokens", WIRE_PROMPT_TOKENS, NULL},                           \
      {"usage.completion_tokens", WIRE_COMPLETION_TOKENS, NULL},               \
      {"usage.prompt_tokens_details.cached_tokens", WIRE_CACHED_TOKENS, NULL}, \
  {                                                                            \
    "usage.completion_tokens_details.reasoning_tokens", WIRE_REASONING_TOKENS, \
        NULL                                                                   \
  }

/* {"object":"error","message":…} is how some servers say it; frameworks have
 * "detail" or "errors"; gateways put what befell a provider into the choice. */
#define OPENAI_ERROR                                                           \
  {"error", WIRE_ERROR, NULL}, {"errors", WIRE_ERROR, NULL},                   \
      {"detail", WIRE_ERROR, NULL}, {"choices[].error", WIRE_ERROR, NULL},     \
  {                                                                            \
    "object", WIRE_KIND, NULL                                                  \
  }

#define OPENAI_CHOICE                                                          \
  {"choices[].index", WIRE_CHOICE_INDEX, NULL},                                \
  {                                                                            \
    "choices[].finish_reason", WIRE_FINISH, NULL                               \
  }

#define CHAT_MESSAGE(m)                                                        \
  {"choices[]." m ".content", WIRE_CONTENT, NULL},                             \
      {"choices[]." m ".content[].text", WIRE_CONTENT, NULL},                  \
      {"choices[]." m ".content[].thinking[].text", WIRE_REASONING, NULL},     \
      {"choices[]." m ".reasoning_content", WIRE_REASONING, NULL},             \
      {"choices[]." m ".reasoning", WIRE_REASONING, NULL},                     \
      {"choices[]." m ".reasoning_details[].text", WIRE_REASONING, NULL},      \
      {"choices[]." m ".reasoning_details[].summary", WIRE_REASONING, NULL},   \
      {"choices[]." m ".thinking", WIRE_REASONING, NULL},                      \
      {"choices[]." m ".refusal", WIRE_REFUSAL, NULL},                         \
      {"choices[]." m ".audio.data", WIRE_AUDIO, NULL},                        \
      {"choices[]." m ".audio.transcript", WIRE_AUDIO, NULL},                  \
      {"choices[]." m ".tool_calls[].index", WIRE_TOOL_INDEX, NULL},           \
      {"choices[]." m ".tool_calls[].id", WIRE_TOOL_ID, NULL},                 \
      {"choices[]." m ".tool_calls[].function.name", WIRE_TOOL_NAME, NULL},    \
      {"choices[]." m ".tool_calls[].function.arguments", WIRE_TOOL_ARGUMENTS, \
       NULL},                                                                  \
      {"choices[]." m ".tool_calls[].custom.name", WIRE_TOOL_NAME, NULL},      \
      {"choices[]." m ".tool_calls[].custom.input", WIRE_TOOL_ARGUMENTS,       \
       NULL},                                                                  \
      {"choices[]." m ".function_call.name", WIRE_TOOL_NAME, NULL},            \
  {                                                                            \
    "choices[]." m ".function_call.arguments", WIRE_TOOL_ARGUMENTS, NULL       \
  }

static const struct wire_rule chat_stream[] = {
    CHAT_MESSAGE("delta"), OPENAI_CHOICE, OPENAI_USAGE, OPENAI_ERROR};
static const struct wire_rule chat_plain[] = {
    CHAT_MESSAGE("message"), OPENAI_CHOICE, OPENAI_USAGE, OPENAI_ERROR};

static const struct wire_rule completions_both[] = {
    {"choices[].text", WIRE_CONTENT, NULL},
    OPENAI_CHOICE,
    OPENAI_USAGE,
    OPENAI_ERROR};

#define RESPONSES_USAGE(u)                                                     \
  {u ".input_tokens", WIRE_PROMPT_TOKENS, NULL},                               \
      {u ".output_tokens", WIRE_COMPLETION_TOKENS, NULL},                      \
      {u ".input_tokens_details.cached_tokens", WIRE_CACHED_TOKENS, NULL},     \
  {                                                                            \
    u ".output_tokens_details.reasoning_tokens", WIRE_REASONING_TOKENS, NULL   \
  }

static const struct wire_rule responses_stream[] = {
    {"type", WIRE_TYPE, NULL},
    {"type", WIRE_KIND, NULL},
    {"error", WIRE_ERROR, NULL},
    {"response.error", WIRE_ERROR, NULL},
    {"delta", WIRE_CONTENT, "response.output_text.delta"},
    {"delta", WIRE_REASONING, "response.reasoning_text.delta"},
    {"delta", WIRE_REASONING, "response.reasoning_summary_text.delta"},
    {"delta", WIRE_REFUSAL, "response.refusal.delta"},
    {"delta", WIRE_AUDIO, "response.audio.delta"},
    {"delta", WIRE_TOOL_ARGUMENTS, "response.function_call_arguments.delta"},
    {"output_index", WIRE_TOOL_INDEX, "response.function_call_arguments.delta"},
    {"output_index", WIRE_TOOL_INDEX, "response.output_item.added"},
    {"item.call_id", WIRE_TOOL_ID, "response.output_item.added"},
    {"item.name", WIRE_TOOL_NAME, "response.output_item.added"},
    RESPONSES_USAGE("response.usage"),
    {"response.status", WIRE_FINISH, "response.completed"},
    {"type", WIRE_END, "response.completed"},
    {"response.incomplete_details.reason", WIRE_FINISH, "response.incomplete"},
    {"type", WIRE_END, "response.incomplete"},
    {"response.status", WIRE_FINISH, "response.failed"},
    {"response.status", WIRE_FINISH, "response.cancelled"},
};
static const struct wire_rule responses_plain[] = {
    {"error", WIRE_ERROR, NULL},
    {"object", WIRE_KIND, NULL},
    {"output[].content[].text", WIRE_CONTENT, NULL},
    {"output[].content[].refusal", WIRE_REFUSAL, NULL},
    {"output[].summary[].text", WIRE_REASONING, NULL},
    {"output[].call_id", WIRE_TOOL_ID, NULL},
    {"output[].name", WIRE_TOOL_NAME, NULL},
    {"output[].arguments", WIRE_TOOL_ARGUMENTS, NULL},
    {"status", WIRE_FINISH, NULL},
    RESPONSES_USAGE("usage"),
};

#define ANTHROPIC_USAGE(u)                                                     \
  {u ".input_tokens", WIRE_PROMPT_TOKENS, NULL},                               \
      {u ".cache_read_input_tokens", WIRE_CACHED_BESIDE, NULL},                \
  {                                                                            \
    u ".output_tokens", WIRE_COMPLETION_TOKENS, NULL                           \
  }

static const struct wire_rule anthropic_stream[] = {
    {"type", WIRE_TYPE, NULL},
    {"type", WIRE_KIND, NULL},
    {"error", WIRE_ERROR, NULL},
    {"delta.text", WIRE_CONTENT, "content_block_delta"},
    {"delta.thinking", WIRE_REASONING, "content_block_delta"},
    {"delta.partial_json", WIRE_TOOL_ARGUMENTS, "content_block_delta"},
    {"index", WIRE_TOOL_INDEX, "content_block_delta"},
    {"index", WIRE_TOOL_INDEX, "content_block_start"},
    {"content_block.id", WIRE_TOOL_ID, "content_block_start"},
    {"content_block.name", WIRE_TOOL_NAME, "content_block_start"},
    {"content_block.text", WIRE_CONTENT, "content_block_start"},
    ANTHROPIC_USAGE("message.usage"),
    ANTHROPIC_USAGE("usage"),
    {"delta.stop_reason", WIRE_FINISH, "message_delta"},
    {"type", WIRE_END, "message_stop"},
};
static const struct wire_rule anthropic_plain[] = {
    {"type", WIRE_KIND, NULL},
    {"error", WIRE_ERROR, NULL},
    {"content[].text", WIRE_CONTENT, NULL},
    {"content[].thinking", WIRE_REASONING, NULL},
    {"content[].id", WIRE_TOOL_ID, NULL},
    {"content[].name", WIRE_TOOL_NAME, NULL},
    {"content[].input", WIRE_TOOL_ARGUMENTS, NULL},
    {"stop_reason", WIRE_FINISH, NULL},
    ANTHROPIC_USAGE("usage"),
};

static const struct wire_rule ollama_both[] = {
    {"error", WIRE_ERROR, NULL},
    {"message.content", WIRE_CONTENT, NULL},
    {"message.thinking", WIRE_REASONING, NULL},
    {"response", WIRE_CONTENT, NULL},
    {"thinking", WIRE_REASONING, NULL},
    {"message.tool_calls[].id", WIRE_TOOL_ID, NULL},
    {"message.tool_calls[].function.name", WIRE_TOOL_NAME, NULL},
    {"message.tool_calls[].function.arguments", WIRE_TOOL_ARGUMENTS, NULL},
    {"done_reason", WIRE_FINISH, NULL},
    {"done", WIRE_END, NULL},
    {"prompt_eval_count", WIRE_PROMPT_TOKENS, NULL},
    {"eval_count", WIRE_COMPLETION_TOKENS, NULL},
};

static const struct wire_rule embeddings_both[] = {
    {"data[].embedding", WIRE_END, NULL}, OPENAI_USAGE, OPENAI_ERROR};
static const struct wire_rule rerank_both[] = {
    {"results", WIRE_END, NULL}, OPENAI_USAGE, OPENAI_ERROR};

#define TABLE(stream, plain)                                                   \
  stream, sizeof(stream) / sizeof(stream)[0], plain,                           \
      sizeof(plain) / sizeof(plain)[0]

static const struct builtin {
  const char *name;
  const struct wire_rule *stream;
  size_t n_stream;
  const struct wire_rule *plain;
  size_t n_plain;
} builtins[] = {
    {"chat", TABLE(chat_stream, chat_plain)},
    {"completions", TABLE(completions_both, completions_both)},
    {"responses", TABLE(responses_stream, responses_plain)},
    {"anthropic", TABLE(anthropic_stream, anthropic_plain)},
    {"ollama", TABLE(ollama_both, ollama_both)},
    {"embeddings", TABLE(embeddings_both, embeddings_both)},
    {"rerank", TABLE(rerank_both, rerank_both)},
};
enum { N_BUILTINS = sizeof builtins / sizeof builtins[0] };

/* Written once, before anybody can read it; kept until the process ends. */
static struct wire_dialect *compiled[N_BUILTINS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void compile_all(void)
{
  for (int i = 0; i < N_BUILTINS; i++) {
    const struct builtin *b = &builtins[i];
    struct err e = {0};
    compiled[i] =
        wire_dialect_new(b->stream, b->n_stream, b->plain, b->n_plain, &e);
    err_free(&e);
  }
}

const struct wire_dialect *wire_dialect_find(const char *name)
{
  pthread_once(&once, compile_all);
  for (int i = 0; i < N_BUILTINS; i++)
    if (strcmp(builtins[i].name, name) == 0)
      return compiled[i];
  return NULL;
}
