/* The field cases of the parser, each named by its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "net/wire_int.h"
#include "wire_case.h"

static const struct wire_case chat = {.dialect = "chat"};
static const struct wire_case chat_json = {.dialect = "chat",
                                           .content_type = "application/json"};

#define DELTA(d)   "data: {\"choices\":[{\"index\":0,\"delta\":" d "}]}\n\n"
#define CONTENT(t) DELTA("{\"content\":\"" t "\"}")
#define FINISH(r)                                                              \
  "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" r       \
  "\"}]}\n\n"
#define USAGE(u) "data: {\"choices\":[],\"usage\":" u "}\n\n"
#define DONE     "data: [DONE]\n\n"

static void check(const char *in, const char *want)
{
  case_check(&chat, str_of(in), want);
}

static void check_json(const char *in, const char *want)
{
  case_check(&chat_json, str_of(in), want);
}

static void check_status(int status, const char *body, const char *want)
{
  struct wire_case c = chat_json;
  c.status = status;
  case_check(&c, str_of(body), want);
}

/* ---- what is payload ---- */

static void b001_role_and_null_are_no_payload(void **state)
{
  (void)state;
  check(DELTA("{\"role\":\"assistant\",\"content\":null}") CONTENT("Hi")
            CONTENT("!") DONE,
        "C0 Hi|C0 !|-> ok text=Hi!");
}

static void b002_empty_content_is_no_payload(void **state)
{
  (void)state;
  check(DELTA("{\"role\":\"assistant\",\"content\":\"\"}") CONTENT("A")
            CONTENT("B") CONTENT("") DONE,
        "C0 A|C0 B|-> ok text=AB");
}

static void b003_split_at_every_byte(void **state)
{
  (void)state;
  check(CONTENT("a b") DONE, "C0 a b|-> ok text=a b");
}

static void b005_character_split_over_reads(void **state)
{
  (void)state;
  check(CONTENT("\xe4\xb8\xad") DONE,
        "C0 \xe4\xb8\xad|-> ok text=\xe4\xb8\xad");
}

static void b011_data_over_several_lines(void **state)
{
  (void)state;
  check("data: {\"choices\":[{\"index\":0,\n"
        "data: \"delta\":{\"content\":\"x\"}}]}\n\n" DONE,
        "C0 x|-> ok text=x");
}

static void b012_empty_or_missing_choices(void **state)
{
  (void)state;
  check(CONTENT("x") FINISH("stop")
            USAGE("{\"prompt_tokens\":5,\"completion_tokens\":1,"
                  "\"total_tokens\":6}") DONE,
        "C0 x|-> ok stop 5/1/-/- text=x");
  check(CONTENT("x") "data: {\"usage\":{\"completion_tokens\":1}}\n\n"
                     "data: {\"choices\":null}\n\ndata: {}\n\n" DONE,
        "C0 x|-> ok -/1/-/- text=x");
}

static void b013_reasoning_is_payload(void **state)
{
  (void)state;
  check(DELTA("{\"reasoning_content\":\"thi\"}")
            DELTA("{\"reasoning\":\"nk\",\"content\":\"\"}") CONTENT("ans")
                FINISH("stop"),
        "R0 thi|R0 nk|C0 ans|-> ok stop text=ans reasoning=think");
  /* Both spellings of one text. */
  check(DELTA("{\"reasoning\":\"x\",\"reasoning_content\":\"x\"}") DONE,
        "R0 x|-> ok reasoning=x");
}

static void b013_thinking_is_reasoning(void **state)
{
  (void)state;
  check(DELTA("{\"thinking\":\"hm\"}") CONTENT("a") DONE,
        "R0 hm|C0 a|-> ok text=a reasoning=hm");
}

#define DETAIL(what, t)                                                        \
  "{\"type\":\"reasoning." what "\",\"" what "\":\"" t "\",\"index\":0}"

static void b013_reasoning_details_are_reasoning(void **state)
{
  (void)state;
  check(DELTA("{\"content\":\"\",\"reasoning_details\":[" DETAIL("text",
                                                                 "hm") "]}")
            DELTA("{\"reasoning_details\":[" DETAIL("text", ", so") "]}")
                DELTA("{\"reasoning_details\":[" DETAIL("summary", ".") "]}")
                    CONTENT("a") DONE,
        "R0 hm|R0 , so|R0 .|C0 a|-> ok text=a reasoning=hm, so.");
  /* The same text under two names, in either order, whole and in parts. */
  check(DELTA("{\"reasoning\":\"x\",\"reasoning_details\":[" DETAIL("text",
                                                                    "x") "]}")
            DELTA("{\"reasoning_details\":[" DETAIL(
                "text", "y") "],\"reasoning\":\"y\"}")
                DELTA("{\"reasoning_details\":[" DETAIL(
                    "text", "z") "],\"reasoning\":\"z\",\"content\":\"a\"}")
                    DONE,
        "R0 x|R0 y|CR0 z|-> ok text=a reasoning=xyz");
  check_json(
      "{\"choices\":[{\"message\":{\"content\":\"a\","
      "\"reasoning_details\":[" DETAIL("text", "x") "," DETAIL(
          "text", "y") "],\"reasoning\":\"xy\"},\"finish_reason\":\"stop\"}]}",
      "-> ok stop plain text=a reasoning=xy");
  /* What nobody can read is no token. */
  check(DELTA("{\"reasoning_details\":[" DETAIL("data", "gAAA") "]}") DONE,
        "-> empty message=the stream ended properly without any token");
}

static void b015_custom_tools_are_payload(void **state)
{
  (void)state;
  check(DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":"
              "\"custom\",\"custom\":{\"name\":\"f\",\"input\":\"a\"}}]}")
            DELTA("{\"tool_calls\":[{\"index\":0,\"custom\":{\"input\":"
                  "\"b\"}}]}") FINISH("tool_calls") DONE,
        "T0|T0|-> ok tool_calls tool=0.0 c1 f(ab)");
}

static void b015_tool_calls_are_payload(void **state)
{
  (void)state;
  check(DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":"
              "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}"
              "]}")
            DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
                  "\"{\\\"a\\\":\"}}]}")
                DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{"
                      "\"arguments\":\"1}\"}}]}") FINISH("tool_calls")
                    USAGE("{\"completion_tokens\":17}") DONE,
        "T0|T0|T0|-> ok tool_calls -/17/-/- tool=0.0 c1 f({\"a\":1})");
}

#define FRAGMENT(i, f)                                                         \
  DELTA("{\"tool_calls\":[{\"index\":" i ",\"function\":{" f "}}]}")
#define CALL(i, id, name)                                                      \
  DELTA("{\"tool_calls\":[{\"index\":" i ",\"id\":\"" id                       \
        "\",\"function\":{\"name\":\"" name "\",\"arguments\":\"\"}}]}")
#define ARGUMENTS(i, a) FRAGMENT(i, "\"arguments\":\"" a "\"")

static void b016_tool_calls_are_merged_by_index(void **state)
{
  (void)state;
  check(CALL("0", "a", "f") CALL("1", "b", "g") ARGUMENTS("0", "{\\\"x\\\":")
            ARGUMENTS("1", "[") ARGUMENTS("0", "1}") ARGUMENTS("1", "2]") DONE,
        "T0|T0|T0|T0|T0|T0|-> ok tool=0.0 a f({\"x\":1}) tool=0.1 b g([2])");
}

static void b016_ids_differ_between_servers(void **state)
{
  (void)state;
  /* A new id with every fragment is the same call... */
  check(CALL("0", "a", "f")
            DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{"
                  "\"arguments\":\"{}\"}}]}") DONE,
        "T0|T0|-> ok tool=0.0 a f({})");
  /* ... a new id and a name under the same index are another one. */
  check(CALL("0", "a", "f") ARGUMENTS("0", "1") CALL("0", "b", "g")
            ARGUMENTS("0", "2") DONE,
        "T0|T0|T0|T0|-> ok tool=0.0 a f(1) tool=0.0 b g(2)");
  /* The name again, without an id, begins nothing. */
  check(CALL("0", "a", "f") FRAGMENT("0", "\"name\":\"f\",\"arguments\":\"1\"")
            DONE,
        "T0|T0|-> ok tool=0.0 a f(1)");
  /* Without an index every name begins a call. */
  check(DELTA("{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
              "\"arguments\":\"1\"}},{\"id\":\"b\",\"function\":{\"name\":"
              "\"f\",\"arguments\":\"2\"}}]}") DONE,
        "T0|-> ok tool=0.0 a f(1) tool=0.1 b f(2)");
  check(DELTA("{\"function_call\":{\"name\":\"f\",\"arguments\":\"\"}}")
            DELTA("{\"function_call\":{\"arguments\":\"{}\"}}") DONE,
        "T0|T0|-> ok tool=0.0  f({})");
}

static void b016_tool_calls_of_two_choices(void **state)
{
  static const struct wire_case two = {.dialect = "chat", .choices = 2};
  (void)state;
  /* The choice's index may come behind its delta. */
  case_check(
      &two,
      str_of("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,"
             "\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}"
             "]},\"index\":1},{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":"
             "\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"2\"}}]},"
             "\"index\":0}]}\n\n" DONE),
      "T1|T0|-> ok choices=2 tool=1.0 a f(1) tool=0.0 b g(2)");
}

static void b021_only_empty_contents(void **state)
{
  (void)state;
  check(DELTA("{\"role\":\"assistant\"}") DELTA("{\"content\":null}")
            FINISH("stop") DONE,
        "-> empty stop message=the stream ended properly without any token");
}

static void b022_finish_is_no_payload(void **state)
{
  (void)state;
  check(CONTENT("a") CONTENT("b") FINISH("stop"),
        "C0 a|C0 b|-> ok stop text=ab");
}

static void b025_a_nought_takes_nothing_back(void **state)
{
  (void)state;
  check(CONTENT("a") USAGE("{\"prompt_tokens\":5,\"completion_tokens\":2}")
            USAGE("{\"prompt_tokens\":0,\"completion_tokens\":0}") DONE,
        "C0 a|-> ok 5/2/-/- text=a");
}

static void b025_usage_in_every_chunk(void **state)
{
  (void)state;
#define CHUNK(t, n)                                                            \
  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t               \
  "\"}}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":" n "}}\n\n"
  check(CHUNK("a", "1") CHUNK("bcd", "4") CHUNK("ef", "6") USAGE("null")
            FINISH("stop") DONE,
        "C0 a@1|C0 bcd@4|C0 ef@6|-> ok stop 3/6/-/- text=abcdef");
}

static void the_last_usage_that_says_something_counts(void **state)
{
  (void)state;
  check(CONTENT("a") USAGE("{\"prompt_tokens\":3,\"completion_tokens\":5}")
            USAGE("{\"prompt_tokens\":null,\"completion_tokens\":-5}")
                USAGE("{\"completion_tokens\":\"6\"}") DONE,
        "C0 a|-> ok 3/5/-/- text=a");
}

static void b031_two_choices(void **state)
{
  static const struct wire_case two = {.dialect = "chat", .choices = 2};
#define CHOICE(i, t)                                                           \
  "data: {\"choices\":[{\"index\":" i ",\"delta\":{\"content\":\"" t           \
  "\"}}]}\n\n"
  (void)state;
  case_check(&two,
             str_of(CHOICE("0", "a") CHOICE("1", "x") CHOICE("0", "b")
                        CHOICE("1", "y") DONE),
             "C0 a|C1 x|C0 b|C1 y|-> ok choices=2 text=ab");
  /* Two in one event, the usage behind them. */
  case_check(&two,
             str_of("data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":"
                    "\"x\"}},{\"index\":0,\"delta\":{\"content\":\"a\"}}],"
                    "\"usage\":{\"completion_tokens\":2}}\n\n" DONE),
             "C1 x|C0 a@2|-> ok -/2/-/- choices=2 text=a");
  /* Without [DONE] both have to finish. */
  case_check(&two, str_of(CHOICE("0", "a") CHOICE("1", "x") FINISH("stop")),
             "C0 a|C1 x|-> truncated stop choices=2 text=a message=the stream "
             "ended without finish_reason and without [DONE]");
}

static void b031_a_rising_index_is_one_choice(void **state)
{
  (void)state;
  check(CHOICE("1", "a") CHOICE("2", "b") CHOICE("3", "c") DONE,
        "C0 a|C0 b|C0 c|-> ok text=abc");
}

static void b057_content_and_finish_in_one_chunk(void **state)
{
  (void)state;
  check("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},"
        "\"finish_reason\":\"length\"}]}\n\n",
        "C0 x|-> ok length text=x");
}

static void b062_stream_without_text(void **state)
{
  (void)state;
  check(DELTA("{\"role\":\"assistant\"}") FINISH("stop")
            USAGE("{\"prompt_tokens\":9,\"completion_tokens\":0}") DONE,
        "-> empty stop 9/0/-/- message=the stream ended properly without any "
        "token");
}

static void x01_refusals(void **state)
{
  (void)state;
  check(DELTA("{\"refusal\":\"I \"}") DELTA("{\"refusal\":\"cannot\"}")
            FINISH("stop") DONE,
        "F0 I |F0 cannot|-> ok stop refusals=2");
}

static void x08_bom_and_bare_cr(void **state)
{
  (void)state;
  check("\xef\xbb\xbf"
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\r"
        "data: [DONE]\r\r",
        "C0 a|-> ok text=a");
}

static void audio_is_payload(void **state)
{
  (void)state;
  check(DELTA("{\"audio\":{\"id\":\"x\",\"data\":\"UklG\"}}") DONE, "A0|-> ok");
}

static void content_in_parts(void **state)
{
  (void)state;
  check(DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":"
              "\"text\",\"text\":\"hm\"}]}]}")
            DELTA("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
                  "\"text\",\"text\":\"b\"}]}") DONE,
        "R0 hm|C0 a|-> ok text=ab reasoning=hm");
  /* The next one is like it but for its first text. */
#define TWO(a, b)                                                              \
  DELTA("{\"content\":[{\"text\":\"" a "\"},{\"text\":\"" b "\"}]}")
  check(TWO("a", "x") TWO("b", "x") TWO("c", "x") DONE,
        "C0 a|C0 b|C0 c|-> ok text=axbxcx");
}

static void values_of_another_type_are_ignored(void **state)
{
  (void)state;
  check(DELTA("{\"content\":7}") DELTA("{\"content\":{}}")
            DELTA("{\"content\":[]}") DELTA("[]")
                DELTA("null") "data: {\"choices\":[null,1,\"x\"]}\n\ndata: "
                              "[]\n\ndata: 3\n\n"
                              "data: {\"usage\":[]}\n\n"
                              "data: {\"usage\":{\"completion_tokens\":\"7\","
                              "\"prompt_tokens\":-1}}\n\n" DONE,
        "-> empty message=the stream ended properly without any token");
}

static void counts_beyond_belief_are_not_told(void **state)
{
  (void)state;
  check(CONTENT("a") USAGE("{\"completion_tokens\":1e30,\"prompt_tokens\":"
                           "9223372036854775807}")
            USAGE("{\"completion_tokens\":3}") DONE,
        "C0 a|-> ok -/3/-/- text=a");
}

static void a_repeated_member_counts_once(void **state)
{
  (void)state;
  check(DELTA("{\"content\":\"a\",\"content\":\"b\"}") DONE,
        "C0 b|-> ok text=b");
}

static void names_and_texts_may_be_escaped(void **state)
{
  (void)state;
  check(DELTA("{\"c\\u006fntent\":\"\\u00e9\\n\\\"\"}") DONE,
        "C0 \\u00e9\\n\\\"|-> ok text=\xc3\xa9\n\"");
}

static void b101_surrogate_halves_in_two_deltas(void **state)
{
  (void)state;
  check(CONTENT("a\\ud83d") CONTENT("\\ude00b") DONE,
        "C0 a\\ud83d|C0 \\ude00b|-> ok text=a\xf0\x9f\x98\x80"
        "b");
  check(CONTENT("\\ud83d") CONTENT("b") CONTENT("\\udc97") CONTENT("\\\\ud83d")
            CONTENT("\\ud83d") DONE,
        "C0 \\ud83d|C0 b|C0 \\udc97|C0 \\\\ud83d|C0 \\ud83d|-> ok text="
        "\xef\xbf\xbd"
        "b\xef\xbf\xbd\\ud83d\xef\xbf\xbd");
  /* A reasoning event between them is another text. */
  check(CONTENT("\\uD83D") DELTA("{\"reasoning\":\"\\ude00\"}")
            CONTENT("\\uDE00") DONE,
        "C0 \\uD83D|R0 \\ude00|C0 \\uDE00|-> ok text=\xf0\x9f\x98\x80 "
        "reasoning=\xef\xbf\xbd");
}

/* ---- errors in a stream ---- */

static void b006_error_in_the_stream(void **state)
{
  (void)state;
  check(CONTENT("a") CONTENT("b") "data: {\"error\":{\"message\":\"EngineCore "
                                  "died\",\"code\":500}}"
                                  "\n\n" DONE,
        "C0 a|C0 b|-> api_error text=ab code=500 message=EngineCore died");
  check("data: {\"error\":\"STREAM_EXPLODED\"}\n\n",
        "-> api_error message=STREAM_EXPLODED");
  check(CONTENT("a") "data: {\"detail\":\"worker gone\"}\n\n" DONE,
        "C0 a|-> api_error text=a message=worker gone");
  check(CONTENT("a") "data: {\"errors\":[{\"message\":\"gone\"}]}\n\n" DONE,
        "C0 a|-> api_error text=a message=gone");
}

static void b007_named_error_event(void **state)
{
  (void)state;
  check("event: error\ndata: {\"message\":\"overloaded\",\"code\":529}\n\n",
        "-> api_error code=529 message=overloaded");
  check("event: error\ndata: out of memory\n\n",
        "-> api_error message=out of memory");
}

static void b020_object_error(void **state)
{
  (void)state;
  check("data: {\"object\":\"error\",\"message\":\"x\"}\n\n",
        "-> api_error message=x");
  check_json("{\"object\":\"error\",\"message\":\"x\",\"type\":\"T\","
             "\"code\":40303}",
             "-> api_error plain type=T message=x");
}

static void b026_falsy_errors_are_none(void **state)
{
  static const char *const falsy[] = {"null", "false", "\"\"", "{}",
                                      "0",    "[]",    "{ }",  "-0.0e7"};
  (void)state;
  for (size_t i = 0; i < sizeof falsy / sizeof *falsy; i++) {
    char in[128];
    snprintf(in, sizeof in,
             "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]"
             ",\"error\":%s}\n\n" DONE,
             falsy[i]);
    check(in, "C0 a|-> ok text=a");
  }
}

static void b026_truthy_errors_fail(void **state)
{
  (void)state;
  check("data: {\"error\":true}\n\n", "-> api_error message={\"error\":true}");
  check("data: {\"error\":{\"message\":\"m\",\"type\":\"t\",\"code\":\"429\"}}"
        "\n\n",
        "-> api_error type=t code=429 message=m");
  check("data: {\"error\":{\"code\":1234}}\n\n",
        "-> api_error message={\"error\":{\"code\":1234}}");
  check("event: ERROR\n: worker lost\n\n", "-> api_error message=worker lost");
  check(CONTENT("a") "event: Error\n\n",
        "C0 a|-> api_error text=a message=an error without a word");
}

static void a_finish_can_be_an_error(void **state)
{
  (void)state;
  check(CONTENT("a") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":"
                     "\"error\"}],\"message\":\"provider gone\"}\n\n" DONE,
        "C0 a|-> api_error error text=a message=provider gone");
  check(CONTENT("a") FINISH("abort") DONE,
        "C0 a|-> api_error abort text=a message=finish_reason abort");
  check(CONTENT("a") "data: {\"choices\":[{\"delta\":{},\"error\":{"
                     "\"message\":\"provider died\",\"code\":502}}]}\n\n" DONE,
        "C0 a|-> api_error text=a code=502 message=provider died");
  check("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"error\":null}]}"
        "\n\n" DONE,
        "C0 a|-> ok text=a");
}

static void errors_that_never_ended(void **state)
{
  (void)state;
  check("event: error\ndata: {\"message\":\"x\"}", "-> api_error message=x");
  check("data: {\"error\":\"x\"}\n", "-> api_error message=x");
}

static void the_first_failure_is_kept(void **state)
{
  (void)state;
  check("data: {\"error\":\"one\"}\n\ndata: {\"error\":\"two\"}\n\ndata: {\n\n",
        "-> api_error message=one");
}

/* ---- how a stream ends ---- */

static void b017_the_transfer_was_cut(void **state)
{
  struct wire_case cut = {.dialect = "chat", .cut = true};
  (void)state;
  case_check(&cut, str_of(CONTENT("a") CONTENT("b")),
             "C0 a|C0 b|-> truncated text=ab message=the transfer was cut");
  case_check(&cut, str_of(CONTENT("a") "data: {\"choices\":[{\"del"),
             "C0 a|-> truncated text=a message=the transfer was cut");
  case_check(&cut, str_of(CONTENT("a") FINISH("stop")),
             "C0 a|-> truncated stop text=a message=the transfer was cut");
  case_check(&cut, str_of(CONTENT("a") DONE), "C0 a|-> ok text=a");
  case_check(&cut, str_of(CONTENT("a") "data: [DONE]"), "C0 a|-> ok text=a");
  case_check(&cut, str_of(""), "-> truncated message=the transfer was cut");
  case_check(&cut, str_of("data: {\"error\":\"x\"}\n\n"),
             "-> api_error message=x");
}

static void no_finish_and_no_done_is_truncated(void **state)
{
  (void)state;
  check(CONTENT("a"),
        "C0 a|-> truncated text=a message=the stream ended without "
        "finish_reason and without [DONE]");
  check(DELTA("{\"role\":\"assistant\"}"),
        "-> truncated message=the stream ended without finish_reason and "
        "without [DONE]");
}

static void a_last_event_without_its_empty_line(void **state)
{
  struct wire_case cut = {.dialect = "chat", .cut = true};
  (void)state;
  check(CONTENT("a") "data: [DONE]", "C0 a|-> ok text=a");
  check(CONTENT("a") "data: [DONE]\n", "C0 a|-> ok text=a");
  /* Whole JSON at the proper end of a message: nothing can be missing. */
  check(CONTENT("a") "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},"
                     "\"finish_reason\":\"stop\"}]}\n",
        "C0 a|C0 b|-> ok stop text=ab");
  check(CONTENT("a") "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},"
                     "\"finish_reason\":\"stop\"}],",
        "C0 a|-> truncated text=a message=the stream ended without "
        "finish_reason and without [DONE]");
  case_check(&cut, str_of(CONTENT("a") "data: {\"choices\":[]}"),
             "C0 a|-> truncated text=a message=the transfer was cut");
}

static void b042_b050_done_alone_and_nothing_at_all(void **state)
{
  static const struct wire_case untyped = {.dialect = "chat",
                                           .content_type = ""};
  (void)state;
  check(DONE, "-> empty message=the stream ended properly without any token");
  check("", "-> empty message=the stream ended properly without any token");
  check_json("", "-> empty plain message=the answer has no body");
  case_check(&untyped, str_of(""),
             "-> empty plain message=the answer has no body");
}

static void nothing_counts_after_done(void **state)
{
  (void)state;
  check(CONTENT("a") DONE CONTENT("b") "data: {\n\nevent: error\n\n",
        "C0 a|-> ok text=a");
}

static void keep_alives_are_nothing(void **state)
{
  (void)state;
  check(":\n\n: ping\n\nevent: ping\n\ndata:\n\ndata: \n\n" CONTENT("a") DONE,
        "C0 a|-> ok text=a");
}

static void malformed_events(void **state)
{
  (void)state;
  check(CONTENT("a") "data: {\"choices\":[{]}\n\n" CONTENT("b") DONE,
        "C0 a|C0 b|-> malformed text=ab message=an event is not JSON: "
        "{\"choices\":[{]}");
  check("data: hello\n\n" DONE,
        "-> malformed message=an event is not JSON: hello");
  check("data: {} {}\n\n" DONE,
        "-> malformed message=an event is not JSON: {} {}");
}

/* ---- content types ---- */

static void b027_plain_answer_to_a_stream_request(void **state)
{
  (void)state;
  check_json("{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
             "\"content\":\"Hi\\n\"},\"finish_reason\":\"stop\"}],\"usage\":{"
             "\"prompt_tokens\":3,\"completion_tokens\":2,"
             "\"prompt_tokens_details\":{\"cached_tokens\":1},"
             "\"completion_tokens_details\":{\"reasoning_tokens\":0}}}",
             "-> ok stop 3/2/1/0 plain text=Hi\n");
}

static void b061_plain_reasoning(void **state)
{
  (void)state;
  check_json("{\"choices\":[{\"message\":{\"reasoning_content\":\"w w\","
             "\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"usage\":{"
             "\"completion_tokens\":512}}",
             "-> ok stop -/512/-/- plain text=x reasoning=w w");
}

/* Nothing of a broken event gets into the next one. */
static void a_malformed_event_leaves_nothing(void **state)
{
  (void)state;
  check(CONTENT("a") "data: {\"choices\":[{\"delta\":{\"content\":\"zzz\"}"
                     "\n\n" DELTA("{\"role\":\"assistant\"}") DONE,
        "C0 a|-> malformed text=a message=an event is not JSON: {\"choices\":[{"
        "\"delta\":{\"content\":\"zzz\"}");
  check("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":"
        "\"c\"},\n\n" CONTENT("a") DONE,
        "C0 a|-> malformed text=a message=an event is not JSON: {\"choices\":[{"
        "\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\"},");
}

static void plain_tool_calls_and_refusals(void **state)
{
  (void)state;
  check_json("{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[{"
             "\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\","
             "\"arguments\":\"{}\"}},{\"id\":\"b\",\"type\":\"function\","
             "\"function\":{\"name\":\"f\",\"arguments\":\"[]\"}}]},"
             "\"finish_reason\":\"tool_calls\"}]}",
             "-> ok tool_calls plain tool=0.0 a f({}) tool=0.1 b f([])");
  check_json("{\"choices\":[{\"message\":{\"refusal\":\"no\"}}]}",
             "-> ok refusals=1 plain");
}

static void x02_error_with_status_200(void **state)
{
  (void)state;
  check_json("{\"error\":{\"message\":\"x\"}}", "-> api_error plain message=x");
  check_json("{\"error\":null,\"choices\":[{\"message\":{\"content\":\"a\"}}]}",
             "-> ok plain text=a");
}

static void a_2xx_that_is_no_api_answer(void **state)
{
  static const struct wire_case html = {.dialect = "chat",
                                        .content_type = "text/html"};
  (void)state;
  case_check(&html,
             str_of("<!doctype html><html><TITLE>Sign in</title><body>x"),
             "-> not_json plain message=the answer is not JSON: Sign in");
  check("<html><head>\n<title>\n Sign\n in</title>",
        "-> not_json odd plain message=the answer is not JSON: Sign in");
  check_json("{\"status\":\"ok\"}", "-> not_json plain message=not an answer "
                                    "of this API: {\"status\":\"ok\"}");
  check_json("[]", "-> not_json plain message=not an answer of this API: []");
  check_json("{\"choices\":[{\"index\":0,\"message\":{\"content\":\"\"},"
             "\"finish_reason\":\"stop\"}]}",
             "-> empty stop plain message=the answer has no text and no tool "
             "call");
}

static void a_plain_answer_that_was_cut(void **state)
{
  struct wire_case c = chat_json;
  (void)state;
  c.cut = true;
  case_check(&c, str_of("{\"choices\":[{\"mess"),
             "-> truncated plain message=the transfer was cut");
}

static void odd_content_types(void **state)
{
  static const char *const odd[] = {"text/plain; charset=utf-8",
                                    "application/json", "",
                                    "application/x-ndjson"};
  static const struct wire_case charset = {
      .dialect = "chat", .content_type = "Text/Event-Stream ; charset=utf-8"};
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    struct wire_case c = {.dialect = "chat", .content_type = odd[i]};
    case_check(&c, str_of(CONTENT("a") DONE), "C0 a|-> ok odd text=a");
    case_check(&c, str_of("\n: hi\n\nevent: x\n" CONTENT("a") DONE),
               "C0 a|-> ok odd text=a");
    case_check(&c, str_of("\xef\xbb\xbf" CONTENT("a") DONE),
               "C0 a|-> ok odd text=a");
  }
  case_check(&charset, str_of(CONTENT("a") DONE), "C0 a|-> ok text=a");
  check(" {\"choices\":[{\"message\":{\"content\":\"a\"}}]}",
        "-> ok odd plain text=a");
  check("{\"error\":\"x\"}", "-> api_error odd plain message=x");
}

static void raw_bodies(void **state)
{
  struct wire_case raw = {.content_type = "text/plain", .raw = true};
  (void)state;
  raw.dialect = "chat";
  case_check(&raw, str_of("anything"), "-> ok plain");
  case_check(&raw, str_of(""), "-> ok plain");
  raw.status = 503;
  case_check(&raw, str_of("busy"), "-> http_5xx plain message=busy");
  raw.status = 200;
  raw.cut = true;
  case_check(&raw, str_of("any"),
             "-> truncated plain message=the transfer was cut");
}

/* ---- statuses ---- */

static void statuses(void **state)
{
  (void)state;
  check_status(204, "", "-> empty plain message=the answer has no body");
  check_status(301, "", "-> redirect plain");
  check_status(400, "{\"error\":{\"message\":\"bad\"}}",
               "-> unprocessable plain message=bad");
  check_status(401,
               "{\"error\":{\"message\":\"no\",\"type\":\"t\",\"code\":"
               "401}}",
               "-> auth plain type=t code=401 message=no");
  check_status(403, "no", "-> auth plain message=no");
  check_status(404, "{\"detail\":\"Not Found\"}",
               "-> not_found plain message=Not Found");
  check_status(407, "", "-> proxy plain");
  check_status(413, "", "-> http_4xx plain");
  check_status(422,
               "{\"detail\":[{\"loc\":[\"body\",\"messages\",0],\"msg\":"
               "\"Field required\",\"type\":\"missing\"}]}",
               "-> unprocessable plain message=body.messages.0: Field "
               "required");
  check_status(429, "{\"message\":\"slow down\"}",
               "-> rate_limited plain message=slow down");
  check_status(500, "", "-> http_5xx plain");
  check_status(502, "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n",
               "-> http_5xx plain message=502 Bad Gateway");
  check_status(503, "upstream  connect\n error\x01\xff",
               "-> http_5xx plain message=upstream connect error");
}

static void error_bodies(void **state)
{
  (void)state;
  check_status(500,
               "[{\"error\":{\"code\":500,\"message\":\"g\",\"status\":"
               "\"INTERNAL\"}}]",
               "-> http_5xx plain type=INTERNAL code=500 message=g");
  check_status(500, "{\"error\":{\"message\":\"m\",\"code\":404},\"code\":500}",
               "-> http_5xx plain code=404 message=m");
  check_status(500, "\"words\"", "-> http_5xx plain message=words");
  check_status(500, "{\"errors\":[\"a\",{\"msg\":\"b\"},{\"x\":1}]}",
               "-> http_5xx plain message=a; b; {\"x\":1}");
  check_status(500, "{\"title\":\"t\",\"detail\":\"d\",\"status\":500}",
               "-> http_5xx plain code=500 message=d");
  check_status(500,
               "event: error\ndata: {\"error\":{\"message\":\"m\"}}\n\n"
               "data: [DONE]\n\n",
               "-> http_5xx plain message=m");
  check_status(500, "{\"error\":{\"message\":\"cut",
               "-> http_5xx plain message={\"error\":{\"message\":\"cut");
}

static void context_lengths(void **state)
{
  (void)state;
  check_status(400,
               "{\"error\":{\"message\":\"This model's maximum context "
               "length is 8192 tokens.\"}}",
               "-> context_length plain message=This model's maximum context "
               "length is 8192 tokens.");
  check_status(400,
               "{\"error\":{\"message\":\"too many\",\"code\":"
               "\"context_length_exceeded\"}}",
               "-> context_length plain type=context_length_exceeded message="
               "too many");
  check_status(400,
               "{\"type\":\"error\",\"error\":{\"type\":"
               "\"invalid_request_error\",\"message\":\"prompt is too "
               "long: 9 tokens > 8 maximum\"}}",
               "-> context_length plain type=invalid_request_error message="
               "prompt is too long: 9 tokens > 8 maximum");
  check_status(400,
               "{\"error\":{\"message\":\"max_tokens=9 cannot be greater "
               "than max_model_len=8\"}}",
               "-> unprocessable plain message=max_tokens=9 cannot be greater "
               "than max_model_len=8");
}

static void long_messages_are_cut_between_characters(void **state)
{
  struct buf body = {0};
  struct wire *w = wire_new();
  struct wire_config c = {.dialect = wire_dialect_find("chat")};
  (void)state;
  buf_addc(&body, 'a');
  for (int i = 0; i < 200; i++)
    buf_adds(&body, "\xc3\xa9");
  wire_start(w, &c, NULL, NULL);
  wire_head(w, 500, STR("text/plain"));
  wire_feed(w, body.p, body.len);
  wire_end(w, true);
  assert_int_equal(strlen(wire_result(w)->message), 299);
  wire_free(w);
  buf_free(&body);
}

/* ---- limits, reuse ---- */

static void b032_event_too_large(void **state)
{
  enum { STEP = 1 << 16 };
  struct wire_config c = {.dialect = wire_dialect_find("chat")};
  struct wire *w = wire_new();
  char *x = malloc(STEP);
  int rc = 0;
  size_t fed = 0;
  (void)state;
  memset(x, 'x', STEP);
  wire_start(w, &c, NULL, NULL);
  wire_head(w, 200, STR("text/event-stream"));
  wire_feed(w, "data: ", 6);
  while (rc == 0 && fed < (size_t)100 << 20) {
    rc = wire_feed(w, x, STEP);
    fed += STEP;
  }
  assert_int_equal(rc, -1);
  assert_true(fed <= ((size_t)16 << 20) + STEP);
  assert_int_equal(wire_feed(w, x, STEP), 0);
  wire_end(w, false);
  assert_int_equal(wire_result(w)->outcome, OUTCOME_MALFORMED);
  assert_string_equal(wire_result(w)->message,
                      "an event is larger than 16777216 bytes");
  free(x);
  wire_free(w);
}

static void b032_large_event_in_small_writes(void **state)
{
  enum { SIZE = 5 << 20, STEP = 1024 };
  struct wire_config c = {.dialect = wire_dialect_find("chat"),
                          .keep_text = true};
  struct wire *w = wire_new();
  struct buf in = {0};
  uint64_t start;
  (void)state;
  buf_adds(&in, "data: {\"choices\":[{\"delta\":{\"content\":\"");
  for (int i = 0; i < SIZE; i++)
    buf_addc(&in, 'x');
  buf_adds(&in, "\"}}]}\n\n" DONE);
  start = clock_thread_cpu_ns();
  wire_start(w, &c, NULL, NULL);
  wire_head(w, 200, STR("text/event-stream"));
  for (size_t i = 0; i < in.len; i += STEP)
    wire_feed(w, in.p + i, in.len - i < STEP ? in.len - i : STEP);
  wire_end(w, true);
  assert_true(clock_thread_cpu_ns() - start < 500 * NS_PER_MS);
  assert_int_equal(wire_result(w)->outcome, OUTCOME_OK);
  assert_int_equal(wire_result(w)->text.len, SIZE);
  buf_free(&in);
  wire_free(w);
}

static void text_beyond_its_limit_is_cut_not_counted(void **state)
{
  struct wire_config c = {
      .dialect = wire_dialect_find("chat"), .keep_text = true, .max_text = 3};
  struct str in = STR(CONTENT("ab") CONTENT("cd") DONE);
  struct wire *w = wire_new();
  (void)state;
  wire_start(w, &c, NULL, NULL);
  wire_head(w, 200, STR("text/event-stream"));
  wire_feed(w, in.p, in.len);
  wire_end(w, true);
  assert_int_equal(wire_result(w)->outcome, OUTCOME_OK);
  assert_int_equal(wire_result(w)->events, 2);
  assert_int_equal(wire_result(w)->text.len, 2);
  wire_free(w);
}

static void plain_answers_have_a_limit(void **state)
{
  struct wire_config c = {.dialect = wire_dialect_find("chat"), .max_text = 8};
  struct wire *w = wire_new();
  (void)state;
  wire_start(w, &c, NULL, NULL);
  wire_head(w, 200, STR("application/json"));
  assert_int_equal(wire_feed(w, "{\"a\":1,", 7), 0);
  assert_int_equal(wire_feed(w, "\"b\":1}", 6), -1);
  wire_end(w, true);
  assert_int_equal(wire_result(w)->outcome, OUTCOME_MALFORMED);
  wire_free(w);
}

/* However it is cut, the same beginning is read. */
static void error_bodies_have_a_limit(void **state)
{
  struct wire_config c = {.dialect = wire_dialect_find("chat"), .max_text = 9};
  struct str in = STR("0123456789abcdef");
  struct wire *w = wire_new();
  (void)state;
  for (size_t step = 1; step <= in.len; step *= 2) {
    wire_start(w, &c, NULL, NULL);
    wire_head(w, 500, STR("text/plain"));
    for (size_t i = 0; i < in.len; i += step)
      wire_feed(w, in.p + i, step);
    wire_end(w, true);
    assert_string_equal(wire_result(w)->message, "012345678");
  }
  wire_free(w);
}

static void bodies_are_kept_when_asked(void **state)
{
  static const char *const types[] = {"text/event-stream", "text/plain",
                                      "application/json"};
  struct str in = STR(CONTENT("a") DONE);
  struct wire *w = wire_new();
  (void)state;
  for (int i = 0; i < 3; i++) {
    struct wire_config c = {.dialect = wire_dialect_find("chat"),
                            .keep_body = true};
    wire_start(w, &c, NULL, NULL);
    wire_head(w, i == 2 ? 500 : 200, str_of(types[i]));
    for (size_t at = 0; at < in.len; at++)
      wire_feed(w, in.p + at, 1);
    wire_end(w, true);
    assert_true(str_eq(wire_result(w)->body, in));
  }
  wire_free(w);
}

static int stop(const struct wire_payload *p, void *ud)
{
  (void)p;
  return ++*(int *)ud == 2 ? 5 : 0;
}

static void a_callback_stops_the_feed(void **state)
{
  struct wire_config c = {.dialect = wire_dialect_find("chat")};
  struct str in = STR(CONTENT("a") CONTENT("b") CONTENT("c") DONE);
  struct wire *w = wire_new();
  int n = 0;
  (void)state;
  wire_start(w, &c, stop, &n);
  wire_head(w, 200, STR("text/event-stream"));
  assert_int_equal(wire_feed(w, in.p, in.len), 5);
  assert_int_equal(wire_feed(w, in.p, in.len), 0);
  wire_end(w, false);
  assert_int_equal(n, 2);
  wire_free(w);
}

/* ---- the prediction is never a guess ---- */

/* Collects ends of payloads, and settles after some of them. */
struct collector {
  struct wire_payload last;
  unsigned told, settled;
  unsigned told_then; /* how many had been told when it settled first */
  bool enough;
};

static int on_collected(const struct wire_payload *p, void *ud)
{
  struct collector *c = ud;
  c->last = *p;
  c->told++;
  return 0;
}

static int on_settle(void *ud)
{
  struct collector *c = ud;
  if (c->settled++ == 0)
    c->told_then = c->told;
  return c->enough;
}

#define TEXT_EVENT(text)                                                       \
  "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"

static void collect(struct wire *w, struct collector *c, const char *end)
{
  struct wire_config config = {.dialect = wire_dialect_find("chat"),
                               .keep_text = true,
                               .keep_tools = true,
                               .settle = on_settle};
  static const char texts[] = TEXT_EVENT("a") TEXT_EVENT("\\n") TEXT_EVENT("c");
  wire_start(w, &config, on_collected, c);
  wire_head(w, 200, STR("text/event-stream"));
  wire_feed(w, texts, sizeof texts - 1);
  assert_int_equal(c->settled, 0);
  wire_feed(w, end, strlen(end));
}

/* Whoever collects payloads is asked before more than text changes, and what
 * would have changed then has not when that was enough. */
static void collectors_are_asked_before_more_than_text_changes(void **state)
{
  static const char *const ends[] = {
      "data: {\"choices\":[],\"usage\":{\"completion_tokens\":9}}\n\n",
      "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
      "data: {\"error\":{\"message\":\"no\"}}\n\n",
      "event: error\ndata: no\n\n",
      "data: no\n\n",
      ("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":"
       "\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n"),
  };
  struct wire *w = wire_new();
  const struct wire_result *r;
  (void)state;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct collector c = {.enough = true};
    collect(w, &c, ends[i]);
    assert_int_equal(c.settled, 1);
    assert_int_equal(c.told_then, 3);
    assert_int_equal(c.last.text_end, 4);
    assert_true(str_eq(wire_kept(w, WIRE_CONTENT), STR("a\\nc")));
    assert_true(str_eq(wire_so_far(w, 3, 0)->text, STR("a\n")));
    assert_true(str_eq(wire_so_far(w, 1, 0)->text, STR("a")));
    wire_stop_at(w, 3, 0);
    assert_int_equal(wire_feed(w, ends[0], strlen(ends[0])), 0);
    wire_end(w, true);
    r = wire_result(w);
    assert_true(str_eq(r->text, STR("a\n")));
    assert_int_equal(r->usage.completion_tokens, -1);
    assert_int_equal(r->n_tool_calls, 0);
    assert_string_equal(r->finish_reason, "");
    assert_string_equal(r->error_type, "");
  }
  wire_free(w);
}

static void collectors_may_go_on(void **state)
{
  struct wire *w = wire_new();
  struct collector c = {.enough = false};
  (void)state;
  collect(
      w, &c,
      "data: {\"choices\":[],\"usage\":{\"completion_tokens\":9}}\n\n"
      "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
  wire_end(w, true);
  assert_int_equal(c.settled, 2);
  assert_int_equal(wire_result(w)->outcome, OUTCOME_OK);
  assert_int_equal(wire_result(w)->usage.completion_tokens, 9);
  assert_true(str_eq(wire_result(w)->text, STR("a\nc")));
  wire_free(w);
}

static void lookalikes_of_the_last_event(void **state)
{
  (void)state;
  check(CONTENT("a") CONTENT("b\\\"") CONTENT("\\\"}}]}") CONTENT("")
            CONTENT("c") FINISH("stop"),
        "C0 a|C0 b\\\"|C0 \\\"}}]}|C0 c|-> ok stop text=ab\"\"}}]}c");
  /* Same beginning and end, but another member between. */
  check(CONTENT("a") DELTA("{\"content\":\"\",\"reasoning\":\"x\"}")
            DELTA("{\"content\":\"b\",\"reasoning\":\"y\"}") DONE,
        "C0 a|R0 x|CR0 b|-> ok text=ab reasoning=xy");
  check(CONTENT("a") CONTENT("bad\\x") DONE,
        "C0 a|-> malformed text=a message=an event is not JSON: {\"choices"
        "\":[{\"index\":0,\"delta\":{\"content\":\"bad\\x\"}}]}");
  check(CONTENT("a") CONTENT("\t") DONE,
        "C0 a|-> malformed text=a message=an event is not JSON: {\"choices\":"
        "[{\"index\":0,\"delta\":{\"content\":\" \"}}]}");
  check(CONTENT("a") CONTENT("b\\") DONE,
        "C0 a|-> malformed text=a message=an event is not JSON: {\"choices\":"
        "[{\"index\":0,\"delta\":{\"content\":\"b\\\"}}]}");
}

/* Alike up to the text and of one length behind it: the finish differs. */
#define FINISHED(t, f)                                                         \
  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t               \
  "\"},\"finish_reason\":" f "}]}\n\n"

static void what_stands_behind_the_text_is_compared(void **state)
{
  (void)state;
  check(FINISHED("a", "null") FINISHED("b", "\"ok\""),
        "C0 a|C0 b|-> ok ok text=ab");
}

static void what_adds_up_is_never_predicted(void **state)
{
  (void)state;
  check(CHUNK("a", "5") CHUNK("b", "5") DONE,
        "C0 a@5|C0 b@5|-> ok 3/5/-/- text=ab");
#define BOTH(r, t) DELTA("{\"reasoning\":\"" r "\",\"content\":\"" t "\"}")
  check(BOTH("x", "a") BOTH("x", "b") BOTH("x", "c") DONE,
        "CR0 a|CR0 b|CR0 c|-> ok text=abc reasoning=xxx");
}

static int forget_text(const struct wire_payload *p, void *ud)
{
  struct wire *w = *(struct wire **)ud;
  (void)p;
  wire_go_on(w, NULL, false);
  return 0;
}

/* In the middle of a shape that has been learnt, too. */
static void text_is_kept_until_nobody_wants_it(void **state)
{
  static const char a[] =
      "data: {\"choices\":[{\"delta\":{\"content\":\"abc\"}}]}\n\n";
  struct wire_config config = {.dialect = wire_dialect_find("chat"),
                               .keep_text = true};
  struct wire *w = wire_new();
  (void)state;
  for (int keep = 0; keep < 2; keep++) {
    wire_start(w, &config, NULL, NULL);
    wire_head(w, 200, STR("text/event-stream"));
    for (int i = 0; i < 3; i++)
      wire_feed(w, a, strlen(a));
    assert_int_equal(wire_kept(w, WIRE_CONTENT).len, 9);
    wire_go_on(w, NULL, keep);
    for (int i = 0; i < 2; i++)
      wire_feed(w, a, strlen(a));
    assert_int_equal(wire_kept(w, WIRE_CONTENT).len, keep ? 15 : 0);
    wire_end(w, true);
    assert_int_equal(wire_result(w)->events, 5);
    assert_int_equal(wire_result(w)->text.len, keep ? 15 : 0);
  }
  wire_start(w, &config, forget_text, &w);
  wire_head(w, 200, STR("text/event-stream"));
  for (int i = 0; i < 3; i++)
    wire_feed(w, a, strlen(a));
  assert_int_equal(wire_kept(w, WIRE_CONTENT).len, 0);
  wire_end(w, true);
  assert_int_equal(wire_result(w)->events, 3);
  wire_free(w);
}

/* ---- events that differ in more than their text ---- */

#define STAMPED(stamp, t, pad)                                                 \
  "data: {\"at\":" stamp ",\"choices\":[{\"index\":0,\"delta\":{"              \
  "\"content\":\"" t "\"}}],\"pad\":" pad "}\n\n"

/* Is the last of the events predicted from those before it? */
static void assert_predicted(const char *events, const char *last, bool want)
{
  struct wire_config config = {.dialect = wire_dialect_find("chat")};
  struct wire *w = wire_new();
  struct str data = str_of(last), text;
  data = str_trim((struct str){data.p + 5, data.len - 5});
  wire_start(w, &config, NULL, NULL);
  wire_head(w, 200, STR("text/event-stream"));
  wire_feed(w, events, strlen(events));
  assert_int_equal(wire_shape_match(&w->shape, w->shape.paths, data, &text),
                   want);
  if (want)
    assert_true(str_eq(text, STR("c")));
  wire_free(w);
}

static void one_value_that_nobody_reads_may_differ(void **state)
{
  (void)state;
  assert_predicted(STAMPED("1", "a", "0") STAMPED("2", "b", "0"),
                   STAMPED("300", "c", "0"), true);
  assert_predicted(STAMPED("\"1\"", "a", "0") STAMPED("\"\"", "b", "0"),
                   STAMPED("\"\\n3\"", "c", "0"), true);
  assert_predicted(STAMPED("1", "a", "\"x\"") STAMPED("1", "b", "\"xyz\""),
                   STAMPED("1", "c", "\"\""), true);
  assert_predicted(STAMPED("1", "a", "12") STAMPED("1", "b", "1"),
                   STAMPED("1", "c", "99"), true);
  /* Another type, no value at all, or one more that differs. */
  assert_predicted(STAMPED("1", "a", "0") STAMPED("2", "b", "0"),
                   STAMPED("null", "c", "0"), false);
  assert_predicted(STAMPED("1", "a", "0") STAMPED("2", "b", "0"),
                   STAMPED("2.5", "c", "0"), false);
  assert_predicted(STAMPED("1", "a", "0") STAMPED("2", "b", "0"),
                   STAMPED("01", "c", "0"), false);
  assert_predicted(STAMPED("1", "a", "0") STAMPED("2", "b", "0"),
                   STAMPED("", "c", "0"), false);
  assert_predicted(STAMPED("1", "a", "0") STAMPED("2", "b", "0"),
                   STAMPED("3", "c", "1"), false);
  assert_predicted(STAMPED("\"1\"", "a", "0") STAMPED("\"2\"", "b", "0"),
                   STAMPED("\"\\x\"", "c", "0"), false);
  assert_predicted(STAMPED("1", "a", "\"x\"") STAMPED("1", "b", "\"y\""),
                   STAMPED("1", "c", "\"z\",\"usage\":{}"), false);
}

static void what_stands_behind_it_is_compared_too(void **state)
{
  (void)state;
  assert_predicted(STAMPED("1", "a", "0") STAMPED("2", "b", "0"),
                   STAMPED("3", "c", "0}"), false);
  assert_predicted(STAMPED("1", "a", "1") STAMPED("1", "b", "2"),
                   STAMPED("1", "c", "3}"), false);
}

/* Names, and values that mean something, are no such value. */
static void what_is_read_may_not_differ(void **state)
{
#define NAMED(n, t)                                                            \
  "data: {\"" n "\":1,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t   \
  "\"}}]}\n\n"
#define INDEXED(i, t)                                                          \
  "data: {\"choices\":[{\"index\":" i ",\"delta\":{\"content\":\"" t "\"}}]}"  \
  "\n\n"
  (void)state;
  assert_predicted(NAMED("a", "a") NAMED("b", "b"), NAMED("usage", "c"), false);
  assert_predicted(NAMED("a", "a") NAMED("b", "b"), NAMED("b", "c"), true);
  assert_predicted(INDEXED("0", "a") INDEXED("1", "b"), INDEXED("2", "c"),
                   false);
}

/* A pinch of everything, twice: each event by a wire that knows no other, and
 * all by one. */
static void add_random_value(struct rng *r, struct buf *out)
{
  static const char *const values[] = {"null",  "true",       "\"\"",
                                       "\"x\"", "\"a\\\"b\"", "1.5",
                                       "-3",    "[]",         "{\"a\":1}"};
  if (rng_int(r, 0, 1))
    buf_addf(out, "%d", (int)rng_int(r, 0, rng_int(r, 0, 1) ? 5 : 1200));
  else if (rng_int(r, 0, 1))
    buf_addf(out, "\"t%d\"", (int)rng_int(r, 0, 1200));
  else
    buf_adds(out, values[rng_int(r, 0, 8)]);
}

/* Three values, of which mostly one changes from event to event. */
struct random_events {
  const char *names[3];
  struct buf values[3];
  int changes;
};

static void add_random_event(struct rng *r, struct random_events *e,
                             struct buf *out)
{
  static const char *const fields[] = {"reasoning", "role", "content"};
  int64_t f = rng_int(r, 0, 11);
  for (int i = 0; i < 3; i++) {
    if (e->values[i].len && i != e->changes && rng_int(r, 0, 15))
      continue;
    buf_reset(&e->values[i]);
    add_random_value(r, &e->values[i]);
  }
  buf_addf(out,
           "data: {\"%s\":%s,\"choices\":[{\"index\":0,\"%s\":%s,\"delta\":"
           "{\"%s\":\"%s%d\"}}],\"%s\":%s}\n\n",
           e->names[0], buf_cstr(&e->values[0]), e->names[1],
           buf_cstr(&e->values[1]), fields[f < 2 ? f : 2],
           rng_int(r, 0, 4) ? " w" : "\\n", (int)rng_int(r, 0, 30), e->names[2],
           buf_cstr(&e->values[2]));
}

/* What is kept of several: the first failure and finish, the last usage. */
struct sum {
  enum outcome outcome;
  char finish[32];
  int64_t tokens;
};

static void read_events(struct wire *w, struct str events, struct buf *out,
                        struct sum *sum)
{
  struct wire_config config = {.dialect = wire_dialect_find("chat"),
                               .choices = 4};
  wire_start(w, &config, write_payload, out);
  wire_head(w, 200, STR("text/event-stream"));
  wire_feed(w, events.p, events.len);
  if (sum->outcome == OUTCOME_OK)
    sum->outcome = w->r.outcome;
  if (!sum->finish[0])
    strcpy(sum->finish, w->r.finish_reason);
  if (w->r.usage.completion_tokens >= 0)
    sum->tokens = w->r.usage.completion_tokens;
}

static void predictions_say_what_the_walker_says(void **state)
{
  static const char *const names[] = {"at",  "index", "usage", "finish_reason",
                                      "pad", "error", "id"};
  struct wire *w = wire_new();
  struct buf all = {0}, one = {0}, together = {0}, apart = {0};
  struct random_events events = {.changes = 0};
  struct rng r;
  (void)state;
  rng_init(&r, 7, RNG_SETUP, 0);
  for (int round = 0; round < 4000; round++) {
    struct sum a = {.outcome = OUTCOME_OK}, b = a;
    for (int i = 0; i < 3; i++) {
      events.names[i] = names[rng_int(&r, 0, 6)];
      buf_reset(&events.values[i]);
    }
    events.changes = (int)rng_int(&r, 0, 2);
    buf_reset(&all);
    buf_reset(&together);
    buf_reset(&apart);
    for (int i = 0; i < 12; i++) {
      buf_reset(&one);
      add_random_event(&r, &events, &one);
      buf_addstr(&all, buf_str(&one));
      read_events(w, buf_str(&one), &apart, &a);
    }
    read_events(w, buf_str(&all), &together, &b);
    assert_string_equal(buf_cstr(&together), buf_cstr(&apart));
    assert_int_equal(a.outcome, b.outcome);
    assert_string_equal(a.finish, b.finish);
    assert_int_equal(a.tokens, b.tokens);
  }
  for (int i = 0; i < 3; i++)
    buf_free(&events.values[i]);
  wire_free(w);
  buf_free(&all);
  buf_free(&one);
  buf_free(&together);
  buf_free(&apart);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(b001_role_and_null_are_no_payload),
      cmocka_unit_test(b002_empty_content_is_no_payload),
      cmocka_unit_test(b003_split_at_every_byte),
      cmocka_unit_test(b005_character_split_over_reads),
      cmocka_unit_test(b006_error_in_the_stream),
      cmocka_unit_test(b007_named_error_event),
      cmocka_unit_test(b011_data_over_several_lines),
      cmocka_unit_test(b012_empty_or_missing_choices),
      cmocka_unit_test(b013_reasoning_is_payload),
      cmocka_unit_test(b013_thinking_is_reasoning),
      cmocka_unit_test(b013_reasoning_details_are_reasoning),
      cmocka_unit_test(b015_custom_tools_are_payload),
      cmocka_unit_test(b015_tool_calls_are_payload),
      cmocka_unit_test(b016_tool_calls_are_merged_by_index),
      cmocka_unit_test(b016_ids_differ_between_servers),
      cmocka_unit_test(b016_tool_calls_of_two_choices),
      cmocka_unit_test(b017_the_transfer_was_cut),
      cmocka_unit_test(b020_object_error),
      cmocka_unit_test(b021_only_empty_contents),
      cmocka_unit_test(b022_finish_is_no_payload),
      cmocka_unit_test(b025_a_nought_takes_nothing_back),
      cmocka_unit_test(b025_usage_in_every_chunk),
      cmocka_unit_test(b026_falsy_errors_are_none),
      cmocka_unit_test(b026_truthy_errors_fail),
      cmocka_unit_test(b027_plain_answer_to_a_stream_request),
      cmocka_unit_test(the_last_usage_that_says_something_counts),
      cmocka_unit_test(b031_two_choices),
      cmocka_unit_test(b031_a_rising_index_is_one_choice),
      cmocka_unit_test(b032_event_too_large),
      cmocka_unit_test(b032_large_event_in_small_writes),
      cmocka_unit_test(b042_b050_done_alone_and_nothing_at_all),
      cmocka_unit_test(b057_content_and_finish_in_one_chunk),
      cmocka_unit_test(b061_plain_reasoning),
      cmocka_unit_test(b062_stream_without_text),
      cmocka_unit_test(b101_surrogate_halves_in_two_deltas),
      cmocka_unit_test(x01_refusals),
      cmocka_unit_test(x02_error_with_status_200),
      cmocka_unit_test(x08_bom_and_bare_cr),
      cmocka_unit_test(audio_is_payload),
      cmocka_unit_test(content_in_parts),
      cmocka_unit_test(values_of_another_type_are_ignored),
      cmocka_unit_test(counts_beyond_belief_are_not_told),
      cmocka_unit_test(a_repeated_member_counts_once),
      cmocka_unit_test(names_and_texts_may_be_escaped),
      cmocka_unit_test(a_finish_can_be_an_error),
      cmocka_unit_test(errors_that_never_ended),
      cmocka_unit_test(the_first_failure_is_kept),
      cmocka_unit_test(no_finish_and_no_done_is_truncated),
      cmocka_unit_test(a_last_event_without_its_empty_line),
      cmocka_unit_test(nothing_counts_after_done),
      cmocka_unit_test(keep_alives_are_nothing),
      cmocka_unit_test(malformed_events),
      cmocka_unit_test(a_malformed_event_leaves_nothing),
      cmocka_unit_test(plain_tool_calls_and_refusals),
      cmocka_unit_test(a_2xx_that_is_no_api_answer),
      cmocka_unit_test(a_plain_answer_that_was_cut),
      cmocka_unit_test(odd_content_types),
      cmocka_unit_test(raw_bodies),
      cmocka_unit_test(statuses),
      cmocka_unit_test(error_bodies),
      cmocka_unit_test(context_lengths),
      cmocka_unit_test(long_messages_are_cut_between_characters),
      cmocka_unit_test(text_beyond_its_limit_is_cut_not_counted),
      cmocka_unit_test(plain_answers_have_a_limit),
      cmocka_unit_test(error_bodies_have_a_limit),
      cmocka_unit_test(bodies_are_kept_when_asked),
      cmocka_unit_test(a_callback_stops_the_feed),
      cmocka_unit_test(collectors_are_asked_before_more_than_text_changes),
      cmocka_unit_test(text_is_kept_until_nobody_wants_it),
      cmocka_unit_test(collectors_may_go_on),
      cmocka_unit_test(lookalikes_of_the_last_event),
      cmocka_unit_test(what_stands_behind_the_text_is_compared),
      cmocka_unit_test(what_adds_up_is_never_predicted),
      cmocka_unit_test(one_value_that_nobody_reads_may_differ),
      cmocka_unit_test(what_stands_behind_it_is_compared_too),
      cmocka_unit_test(what_is_read_may_not_differ),
      cmocka_unit_test(predictions_say_what_the_walker_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
