#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "script/body.h"
#include "script/merge.h"

static struct body *make(struct body_defaults d)
{
  struct err e = {0};
  struct body *b;
  d.stream = true;
  b = body_new(&d, &e);
  assert_non_null(b);
  return b;
}

static void assert_body(struct body *b, const char *wanted)
{
  struct buf out = {0};
  json_value *v;
  assert_int_equal(body_finish(b, &out), 0);
  assert_string_equal(buf_cstr(&out), wanted);
  v = json_parse(buf_str(&out), NULL);
  assert_non_null(v);
  json_free(v);
  buf_free(&out);
}

static void members_keep_their_order_and_the_later_value(void **state)
{
  struct body *b = make((struct body_defaults){.model = "m", .max_tokens = -1});
  (void)state;
  body_start(b, "chat");
  body_integer(b, "max_tokens", 5);
  body_json(b, "temperature", STR("0.5"));
  body_boolean(b, "ignore_eos", true);
  body_string(b, "user", STR("a\n\"b\""));
  body_integer(b, "max_tokens", 7);
  body_stream(b, false);
  body_prompt(b, STR("hi"));
  assert_body(b, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\","
                 "\"content\":\"hi\"}],\"max_tokens\":7,\"temperature\":0.5,"
                 "\"ignore_eos\":true,\"user\":\"a\\n\\\"b\\\"\","
                 "\"stream\":false}");
  body_free(b);
}

static void the_command_line_has_its_say(void **state)
{
  struct body_defaults d = {.model = "m",
                            .max_tokens = 9,
                            .extra_body =
                                "{\"temperature\": 0, \"stream_options"
                                "\":{\"x\":1}, \"max_tokens\":8}"};
  struct body *b = make(d);
  (void)state;
  body_start(b, "completions");
  body_integer(b, "max_tokens", 5);
  body_json(b, "temperature", STR("0.5"));
  body_prompt(b, STR("hi"));
  body_model(b, STR("other"));
  assert_body(b, "{\"model\":\"other\",\"prompt\":\"hi\",\"max_tokens\":8,"
                 "\"temperature\":0,\"stream\":true,\"stream_options\":"
                 "{\"include_usage\":true,\"x\":1}}");
  /* The request's own extra comes last. */
  body_start(b, "completions");
  body_prompt(b, STR("hi"));
  body_extra(b, STR("{\"temperature\":1,\"a\":{\"b\":[]}}"));
  assert_body(b, "{\"model\":\"m\",\"prompt\":\"hi\",\"max_tokens\":8,"
                 "\"stream\":true,\"stream_options\":{\"include_usage\":true,"
                 "\"x\":1},\"temperature\":1,\"a\":{\"b\":[]}}");
  body_free(b);
}

/* Servers refuse stream_options where nothing is streamed. */
static void extra_body_may_say_that_nothing_streams(void **state)
{
  struct body *b = make((struct body_defaults){
      .model = "m", .max_tokens = -1, .extra_body = "{\"stream\": false}"});
  (void)state;
  body_start(b, "completions");
  body_prompt(b, STR("hi"));
  body_stream(b, true);
  assert_false(body_streams(b));
  assert_body(b, "{\"model\":\"m\",\"prompt\":\"hi\",\"stream\":false}");
  body_free(b);
}

static void no_stream_holds_whatever_the_script_says(void **state)
{
  struct body_defaults d = {.max_tokens = -1};
  struct err e = {0};
  struct body *b = body_new(&d, &e);
  (void)state;
  body_start(b, "chat");
  body_prompt(b, STR(""));
  body_stream(b, true);
  assert_false(body_streams(b));
  assert_body(b, "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],"
                 "\"stream\":false}");
  body_free(b);
}

static void extra_body_must_be_an_object(void **state)
{
  static const char *const rows[] = {"", "[1]", "{", "x", "{} {}", "null"};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct body_defaults d = {.extra_body = rows[i]};
    struct err e = {0};
    assert_null(body_new(&d, &e));
    assert_non_null(strstr(err_text(&e), "--extra-body: not a JSON object"));
    err_free(&e);
  }
}

static void a_ceiling_is_told(void **state)
{
  struct body *b = make((struct body_defaults){.max_tokens = -1});
  struct buf out = {.max = 20};
  (void)state;
  body_start(b, "chat");
  body_prompt(b, STR("a long prompt"));
  assert_int_equal(body_finish(b, &out), -1);
  buf_free(&out);
  body_free(b);
}

static void objects_laid_over_objects(void **state)
{
  static const struct {
    const char *a, *b, *wanted;
  } rows[] = {
      {"{}", "{}", "{}"},
      {"{\"a\":1}", "{}", "{\"a\":1}"},
      {"{}", " { \"a\" : [ 1 , {\"x\":\"}\"} ] } ",
       "{\"a\":[ 1 , {\"x\":\"}\"} ]}"},
      {"{\"a\":1,\"b\":2}", "{\"b\":{\"c\":3},\"d\":null}",
       "{\"a\":1,\"b\":{\"c\":3},\"d\":null}"},
      {"{\"a\":{\"x\":{\"p\":1},\"y\":2}}", "{\"a\":{\"x\":{\"q\":\"\\\"\"}}}",
       "{\"a\":{\"x\":{\"p\":1,\"q\":\"\\\"\"},\"y\":2}}"},
      {"{\"a\":\"x,\\\"}\",\"b\":true}", "{\"b\":1e400}",
       "{\"a\":\"x,\\\"}\",\"b\":1e400}"},
      {"{}", "{\"k\":1,\"k\":2}", "{\"k\":2}"},
      {"{\"k\":0}", "{\"k\":1,\"k\":2}", "{\"k\":2}"},
      {"{\"n\":12345678901234567890}", "{}", "{\"n\":12345678901234567890}"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf out = {0};
    assert_int_equal(merge_objects(&out, str_of(rows[i].a), str_of(rows[i].b)),
                     0);
    assert_string_equal(buf_cstr(&out), rows[i].wanted);
    buf_free(&out);
  }
}

static void what_is_no_object_is_not_merged(void **state)
{
  struct buf out = {0};
  (void)state;
  assert_int_equal(merge_objects(&out, STR("[1]"), STR("{}")), -1);
  assert_int_equal(merge_objects(&out, STR("{}"), STR("")), -1);
  assert_int_equal(out.len, 0);
}

/* Whatever stands at whatever place of a word of eight. */
static void escaping_is_right_at_every_offset(void **state)
{
  static const struct {
    const char *raw, *escaped;
  } marks[] = {
      {"\"", "\\\""},
      {"\\", "\\\\"},
      {"\n", "\\n"},
      {"\x01", "\\u0001"},
      {"\x1f", "\\u001f"},
      {"\x7f", "\x7f"},
      {"\xc3\xa9", "\xc3\xa9"},
      {"\xff", "\xef\xbf\xbd"},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {" ", " "},
      {"!", "!"},
      {"#", "#"},
      {"[", "["},
      {"]", "]"},
      {"\t\r", "\\t\\r"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    for (size_t at = 0; at < 20; at++) {
      struct buf in = {0}, wanted = {0}, out = {0};
      for (size_t j = 0; j < 20; j++) {
        if (j == at) {
          buf_adds(&in, marks[i].raw);
          buf_adds(&wanted, marks[i].escaped);
        }
        buf_addc(&in, (char)('a' + j));
        buf_addc(&wanted, (char)('a' + j));
      }
      json_escape(&out, buf_str(&in));
      assert_string_equal(buf_cstr(&out), buf_cstr(&wanted));
      buf_free(&in);
      buf_free(&wanted);
      buf_free(&out);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_keep_their_order_and_the_later_value),
      cmocka_unit_test(the_command_line_has_its_say),
      cmocka_unit_test(extra_body_may_say_that_nothing_streams),
      cmocka_unit_test(no_stream_holds_whatever_the_script_says),
      cmocka_unit_test(extra_body_must_be_an_object),
      cmocka_unit_test(a_ceiling_is_told),
      cmocka_unit_test(objects_laid_over_objects),
      cmocka_unit_test(what_is_no_object_is_not_merged),
      cmocka_unit_test(escaping_is_right_at_every_offset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
