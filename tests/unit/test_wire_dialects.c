/* The built-in dialects beyond chat, on what the recordings don't hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire_case.h"

#define EVENT(type, rest)                                                      \
  "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"

static void check(const char *dialect, const char *in, const char *want)
{
  struct wire_case c = {.dialect = dialect};
  case_check(&c, str_of(in), want);
}

static void check_json(const char *dialect, const char *in, const char *want)
{
  struct wire_case c = {.dialect = dialect, .content_type = "application/json"};
  case_check(&c, str_of(in), want);
}

static void completions(void **state)
{
  (void)state;
  check("completions",
        "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"logprobs\":{"
        "\"tokens\":[\"a\"],\"text\":\"no\"}}]}\n\n"
        "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":"
        "\"stop\"}],\"usage\":{\"completion_tokens\":1}}\n\n",
        "C0 a|-> ok stop -/1/-/- text=a");
  check_json("completions",
             "{\"choices\":[{\"text\":\"a b\",\"finish_reason\":\"stop\"}]}",
             "-> ok stop plain text=a b");
}

static void responses_stream(void **state)
{
  (void)state;
  check("responses",
        EVENT("response.created",
              ",\"response\":{\"status\":\"in_progress\",\"error\":null,"
              "\"usage\":null}")
            EVENT("response.reasoning_summary_text.delta", ",\"delta\":\"hm\"")
                EVENT("response.output_text.delta", ",\"delta\":\"a\"")
                    EVENT("response.output_text.done", ",\"text\":\"a\"")
                        EVENT("response.completed",
                              ",\"response\":{\"status\":\"completed\","
                              "\"usage\":{\"input_tokens\":4,"
                              "\"output_tokens\":2}}"),
        "R0 hm|C0 a|-> ok completed 4/2/-/- text=a reasoning=hm");
}

static void responses_that_were_given_up(void **state)
{
  (void)state;
  check("responses",
        EVENT("response.output_text.delta", ",\"delta\":\"a\"")
            EVENT("response.failed",
                  ",\"response\":{\"status\":\"failed\",\"error\":null}"),
        "C0 a|-> api_error failed text=a type=failed "
        "message={\"type\":\"response.failed\","
        "\"response\":{\"status\":\"failed\",\"error\":null}}");
  check_json(
      "responses",
      "{\"object\":\"response\",\"error\":null,\"status\":"
      "\"cancelled\",\"output\":[{\"content\":[{\"text\":\"a\"}]}]}",
      "-> api_error cancelled plain text=a type=cancelled message={\"object\":"
      "\"response\",\"error\":null,\"status\":\"cancelled\",\"output\":["
      "{\"content\":[{\"text\":\"a\"}]}]}");
}

static void responses_tool_calls(void **state)
{
  (void)state;
  check("responses",
        EVENT("response.output_item.added",
              ",\"output_index\":1,\"item\":{\"type\":\"function_call\","
              "\"id\":\"fc\",\"call_id\":\"c1\",\"name\":\"f\","
              "\"arguments\":\"\"}")
            EVENT("response.function_call_arguments.delta",
                  ",\"output_index\":1,\"delta\":\"{\\\"a\\\"\"")
                EVENT("response.function_call_arguments.delta",
                      ",\"output_index\":1,\"delta\":\":1}\"")
                    EVENT("response.completed",
                          ",\"response\":{\"status\":\"completed\"}"),
        "T0|T0|T0|-> ok completed tool=0.1 c1 f({\"a\":1})");
}

static void responses_failures(void **state)
{
  (void)state;
  check("responses",
        EVENT("response.failed",
              ",\"response\":{\"status\":\"failed\",\"error\":{\"code\":"
              "\"server_error\",\"message\":\"died\"}}"),
        "-> api_error failed type=server_error message=died");
  check("responses", "data: {\"type\":\"error\",\"message\":\"died\"}\n\n",
        "-> api_error type=error message=died");
  check("responses", EVENT("response.output_text.delta", ",\"delta\":\"a\""),
        "C0 a|-> truncated text=a message=the stream ended without "
        "finish_reason and without [DONE]");
  check("responses",
        EVENT("response.output_text.delta", ",\"delta\":\"a\"")
            EVENT("response.incomplete",
                  ",\"response\":{\"status\":\"incomplete\","
                  "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}"),
        "C0 a|-> ok max_output_tokens text=a");
}

static void responses_plain(void **state)
{
  (void)state;
  check_json(
      "responses",
      "{\"object\":\"response\",\"error\":null,\"status\":\"completed\","
      "\"output\":[{\"type\":\"reasoning\",\"summary\":[{\"text\":\"hm\"}]},"
      "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":"
      "\"a\"},{\"type\":\"output_text\",\"text\":\"b\"}]},{\"type\":"
      "\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}"
      "],\"usage\":{\"input_tokens\":4,\"output_tokens\":2,"
      "\"input_tokens_details\":{\"cached_tokens\":1},"
      "\"output_tokens_details\":{\"reasoning_tokens\":0}}}",
      "-> ok completed 4/2/1/0 plain text=ab reasoning=hm tool=0.0 c f({})");
}

static void anthropic_tool_calls(void **state)
{
  (void)state;
  check("anthropic",
        EVENT("message_start", ",\"message\":{\"usage\":{\"input_tokens\":9,"
                               "\"output_tokens\":1}}")
            EVENT("content_block_start",
                  ",\"index\":0,\"content_block\":{\"type\":\"thinking\","
                  "\"thinking\":\"\"}")
                EVENT("content_block_delta",
                      ",\"index\":0,\"delta\":{\"type\":\"thinking_delta\","
                      "\"thinking\":\"hm\"}")
                    EVENT("content_block_start",
                          ",\"index\":1,\"content_block\":{\"type\":"
                          "\"tool_use\",\"id\":\"t1\",\"name\":\"f\","
                          "\"input\":{}}")
                        EVENT("content_block_delta",
                              ",\"index\":1,\"delta\":{\"type\":"
                              "\"input_json_delta\",\"partial_json\":\"\"}")
                            EVENT("content_block_delta",
                                  ",\"index\":1,\"delta\":{\"type\":"
                                  "\"input_json_delta\",\"partial_json\":"
                                  "\"{}\"}") EVENT("ping", "")
                                EVENT("message_delta",
                                      ",\"delta\":{\"stop_reason\":"
                                      "\"tool_use\"},\"usage\":{"
                                      "\"output_tokens\":7}")
                                    EVENT("message_stop", ""),
        "R0 hm|T0|T0|-> ok tool_use 9/7/-/- reasoning=hm tool=0.1 t1 f({})");
}

/* Without event names the member "type" decides, wherever it stands. */
static void anthropic_without_event_names(void **state)
{
  (void)state;
  check("anthropic",
        "data: {\"delta\":{\"text\":\"a\"},\"index\":0,\"type\":"
        "\"content_block_delta\"}\n\n"
        "data: {\"delta\":{\"text\":\"no\"},\"type\":\"message_delta\"}\n\n"
        "data: {\"type\":\"message_stop\"}\n\n",
        "C0 a|-> ok text=a");
}

static void anthropic_errors(void **state)
{
  (void)state;
  check("anthropic",
        EVENT("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":"
                       "\"Overloaded\"}"),
        "-> api_error type=overloaded_error message=Overloaded");
}

static void anthropic_plain(void **state)
{
  (void)state;
  check_json("anthropic",
             "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":"
             "\"a\"},{\"type\":\"text\",\"text\":\"b\"},{\"type\":\"tool_use\","
             "\"id\":\"t\",\"name\":\"f\",\"input\":{\"x\": [1]}}],"
             "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":3,"
             "\"cache_read_input_tokens\":5,\"output_tokens\":4}}",
             "-> ok tool_use 8/4/5/- plain text=ab tool=0.0 t f({\"x\": [1]})");
}

static void ollama(void **state)
{
  struct wire_case c = {.dialect = "ollama",
                        .content_type = "application/x-ndjson"};
  (void)state;
  case_check(&c,
             STR("{\"message\":{\"content\":\"a\"},\"done\":false}\n"
                 "{\"message\":{\"thinking\":\"hm\"},\"done\":false}\r\n\n"
                 "{\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":"
                 "{\"name\":\"f\",\"arguments\":{\"x\":1}}}]},\"done\":false}\n"
                 "{\"done\":true,\"done_reason\":\"stop\",\"eval_count\":3,"
                 "\"prompt_eval_count\":2}"),
             "C0 a|R0 hm|T0|-> ok stop 2/3/-/- text=a reasoning=hm tool=0.0  "
             "f({\"x\":1})");
  case_check(&c,
             STR("{\"response\":\"a\",\"done\":false}\n{\"error\":\"x\"}\n"),
             "C0 a|-> api_error text=a message=x");
  case_check(&c, STR("{\"response\":\"a\",\"done\":false}\n"),
             "C0 a|-> truncated text=a message=the stream ended without "
             "finish_reason and without [DONE]");
  check_json("ollama",
             "{\"response\":\"a\",\"done\":true,\"done_reason\":\"stop\"}",
             "-> ok stop plain text=a");
}

/* Lines of a stream, whose head speaks of one document. */
static void ollama_as_json(void **state)
{
  (void)state;
#define OLLAMA(t)  "{\"message\":{\"content\":\"" t "\"},\"done\":false}\n"
#define OLLAMA_END "{\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2}\n"
  check_json("ollama", OLLAMA("a") OLLAMA("b") OLLAMA_END,
             "C0 a|C0 b|-> ok stop -/2/-/- odd text=ab");
  check("ollama", OLLAMA("a") OLLAMA("b") OLLAMA_END,
        "C0 a|C0 b|-> ok stop -/2/-/- odd text=ab");
  check_json("ollama", OLLAMA("a") "{\"error\":\"x\"}\n",
             "C0 a|-> api_error odd text=a message=x");
  check_json("ollama", OLLAMA("a"),
             "C0 a|-> truncated odd text=a message=the stream ended without "
             "finish_reason and without [DONE]");
  /* One line is a document, and so are several that hold one. */
  check_json("ollama", "{\"response\":\"a\",\"done\":true}\n",
             "-> ok plain text=a");
  check_json("ollama", "{\n\"response\":\"a\",\n\"done\":true}\n",
             "-> ok plain text=a");
  check_json("ollama", "{\"error\":\"x\"}\n", "-> api_error plain message=x");
  /* Other APIs have no such member. */
  check_json("chat",
             "{\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"done\":false}"
             "\n{}\n",
             "-> not_json plain message=the answer is not JSON: {\"choices\":"
             "[{\"delta\":{\"content\":\"a\"}}],\"done\":false} {}");
}

static void embeddings_and_rerank(void **state)
{
  (void)state;
  check_json("embeddings",
             "{\"data\":[{\"embedding\":[0.0,1e-3],\"index\":0}],\"usage\":{"
             "\"prompt_tokens\":3,\"total_tokens\":3}}",
             "-> ok 3/-/-/- plain");
  check_json("embeddings", "{\"data\":[]}",
             "-> not_json plain message=not an answer of this API: "
             "{\"data\":[]}");
  check_json("embeddings", "{\"error\":{\"message\":\"m\"}}",
             "-> api_error plain message=m");
  check_json("rerank",
             "{\"results\":[{\"index\":0,\"relevance_score\":0}],\"usage\":{"
             "\"total_tokens\":3}}",
             "-> ok plain");
}

/* ---- tables of one's own ---- */

static void unknown_dialects(void **state)
{
  (void)state;
  assert_null(wire_dialect_find("telepathy"));
  assert_null(wire_dialect_find(""));
}

static void bad_paths_are_told_once_each(void **state)
{
  static const struct wire_rule rules[] = {
      {"", WIRE_CONTENT, NULL},         {"a..b", WIRE_CONTENT, "x"},
      {"a.[]", WIRE_CONTENT, "y"},      {"a[0]", WIRE_CONTENT, NULL},
      {"fine[].x", WIRE_CONTENT, NULL},
  };
  struct err e = {0};
  (void)state;
  assert_null(wire_dialect_new(rules, 5, NULL, 0, &e));
  assert_int_equal(e.count, 4);
  assert_true(str_starts(str_of(err_text(&e)),
                         STR("path \"\": cannot be read; write names")));
  err_free(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(completions),
      cmocka_unit_test(responses_stream),
      cmocka_unit_test(responses_that_were_given_up),
      cmocka_unit_test(responses_tool_calls),
      cmocka_unit_test(responses_failures),
      cmocka_unit_test(responses_plain),
      cmocka_unit_test(anthropic_tool_calls),
      cmocka_unit_test(anthropic_without_event_names),
      cmocka_unit_test(anthropic_errors),
      cmocka_unit_test(anthropic_plain),
      cmocka_unit_test(ollama),
      cmocka_unit_test(ollama_as_json),
      cmocka_unit_test(embeddings_and_rerank),
      cmocka_unit_test(unknown_dialects),
      cmocka_unit_test(bad_paths_are_told_once_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
