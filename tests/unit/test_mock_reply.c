/* The JSON of answers, read back with the JSON reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/json.h"
#include "mock/reply.h"

struct answer {
  struct mock_plan plan;
  struct mock_content content;
  struct mock_reply reply;
};

static void answer_init(struct answer *a, const char *specs, uint64_t tokens,
                        bool chat)
{
  struct err e = {0};
  *a = (struct answer){0};
  mock_plan_defaults(&a->plan);
  assert_int_equal(mock_plan_apply(&a->plan, str_of(specs), "test", &e), 0);
  mock_content_init(&a->content, &a->plan, 5, tokens, chat);
  mock_reply_begin(&a->reply, &a->plan, chat, "m\"x", "find", 12, 99);
}

/* One event of the stream, parsed. */
static json_value *event_of(struct answer *a, uint64_t event,
                            const char *finish, const struct mock_usage *u)
{
  struct mock_event e = {.delta = MOCK_DELTA_PIECE,
                         .index = 1,
                         .content = &a->content,
                         .event = event,
                         .finish = finish,
                         .usage = u};
  struct buf out = {0};
  json_value *v;
  mock_reply_event(&a->reply, &e, &out);
  v = json_parse(buf_str(&out), NULL);
  assert_non_null(v);
  buf_free(&out);
  return v;
}

static const json_value *choice_of(const json_value *event)
{
  return json_first(json_get(event, "choices"));
}

static const json_value *delta_of(const json_value *event)
{
  return json_get(choice_of(event), "delta");
}

static void an_event_has_vllms_keys(void **state)
{
  struct answer a;
  struct mock_usage u = {.prompt = 3, .completion = 2, .cached = 1};
  json_value *v;
  (void)state;
  answer_init(&a, "error-field:null", 4, true);
  v = event_of(&a, 0, NULL, NULL);
  assert_string_equal(json_text(json_get(v, "object")),
                      "chat.completion.chunk");
  assert_string_equal(json_text(json_get(v, "model")), "m\"x");
  assert_string_equal(json_text(json_get(v, "id")), "chatcmpl-mock-12");
  assert_true(json_is_null(json_get(v, "error")));
  assert_true(json_double(json_get(choice_of(v), "index"), 9) == 1);
  assert_true(json_is_null(json_get(choice_of(v), "finish_reason")));
  assert_true(strlen(json_text(json_get(delta_of(v), "content"))) > 0);
  json_free(v);
  v = event_of(&a, 3, "length", &u);
  assert_string_equal(json_text(json_get(choice_of(v), "finish_reason")),
                      "length");
  assert_true(json_double(json_get(json_get(v, "usage"), "total_tokens"), 0) ==
              5);
  json_free(v);
  mock_reply_deinit(&a.reply);
}

static void completions_have_text(void **state)
{
  struct answer a;
  json_value *v;
  (void)state;
  answer_init(&a, "", 2, false);
  v = event_of(&a, 0, NULL, NULL);
  assert_string_equal(json_text(json_get(v, "object")), "text_completion");
  assert_non_null(json_text(json_get(choice_of(v), "text")));
  json_free(v);
  mock_reply_deinit(&a.reply);
}

static void chunks_hold_tokens_of_one_kind(void **state)
{
  struct answer a;
  static const uint64_t tokens[] = {3, 1, 3, 3};
  (void)state;
  answer_init(&a, "chunk:3,reasoning:4", 10, true);
  assert_int_equal(a.content.events, 4);
  for (uint64_t e = 0; e < 4; e++) {
    struct mock_piece p = mock_content_piece(&a.content, e);
    assert_int_equal(p.tokens, tokens[e]);
    assert_int_equal(p.kind, e < 2 ? MOCK_REASONING : MOCK_CONTENT);
  }
  mock_reply_deinit(&a.reply);
}

static void b013_reasoning_comes_first_under_its_key(void **state)
{
  struct answer a;
  json_value *v;
  (void)state;
  answer_init(&a, "reasoning:1,reasoning-key:reasoning", 2, true);
  v = event_of(&a, 0, NULL, NULL);
  assert_non_null(json_text(json_get(delta_of(v), "reasoning")));
  assert_null(json_get(delta_of(v), "content"));
  json_free(v);
  v = event_of(&a, 1, NULL, NULL);
  assert_non_null(json_text(json_get(delta_of(v), "content")));
  json_free(v);
  mock_reply_deinit(&a.reply);
}

/* Fragments joined by index: whole JSON arguments, one name a call. */
static void tool_calls_are_whole(uint64_t tokens, uint64_t calls)
{
  struct answer a;
  struct buf args[4] = {{0}};
  unsigned names[4] = {0};
  char specs[40];
  snprintf(specs, sizeof specs, "tool-calls:%d", (int)calls);
  answer_init(&a, specs, tokens, true);
  for (uint64_t e = 0; e < a.content.events; e++) {
    json_value *v = event_of(&a, e, NULL, NULL);
    const json_value *call = json_first(json_get(delta_of(v), "tool_calls"));
    const json_value *f = json_get(call, "function");
    size_t i = (size_t)json_double(json_get(call, "index"), 99);
    assert_true(i < calls);
    if (json_get(f, "name")) {
      assert_string_equal(json_text(json_get(f, "name")), "find");
      assert_non_null(json_text(json_get(call, "id")));
      names[i]++;
    }
    buf_adds(&args[i], json_text(json_get(f, "arguments")));
    json_free(v);
  }
  for (size_t i = 0; i < calls && i < tokens; i++) {
    json_value *v = json_parse(buf_str(&args[i]), NULL);
    assert_true(json_is_object(v));
    assert_int_equal(names[i], 1);
    json_free(v);
    buf_free(&args[i]);
  }
  mock_reply_deinit(&a.reply);
}

static void b016_tool_calls_interleave(void **state)
{
  (void)state;
  for (uint64_t tokens = 1; tokens < 12; tokens++)
    for (uint64_t calls = 1; calls <= 4; calls++)
      tool_calls_are_whole(tokens, calls);
}

static void whole_body_says_what_the_stream_says(void **state)
{
  static const char *const specs[] = {"", "reasoning:3", "tool-calls:2",
                                      "text:cjk", "refusal"};
  (void)state;
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    struct answer a;
    struct mock_usage u = {.prompt = 1, .completion = 8};
    struct buf out = {0}, joined = {0};
    const json_value *message;
    json_value *v;
    answer_init(&a, specs[i], 8, true);
    mock_reply_body(&a.reply, &a.content, 1, "stop", &u, &out);
    v = json_parse(buf_str(&out), NULL);
    assert_string_equal(json_text(json_get(v, "object")), "chat.completion");
    message = json_get(choice_of(v), "message");
    for (uint64_t e = 0; e < 8; e++) {
      json_value *one = event_of(&a, e, NULL, NULL);
      const char *text = json_text(json_get(delta_of(one), "content"));
      buf_adds(&joined, text ? text : "");
      json_free(one);
    }
    if (json_text(json_get(message, "content")))
      assert_string_equal(json_text(json_get(message, "content")),
                          buf_cstr(&joined));
    assert_int_equal(json_get(message, "tool_calls") != NULL,
                     a.plan.tool_calls > 0);
    assert_int_equal(json_text(json_get(message, "refusal")) != NULL,
                     a.plan.refusal);
    json_free(v);
    buf_free(&out);
    buf_free(&joined);
    mock_reply_deinit(&a.reply);
  }
}

static void all_text(const struct answer *a, struct buf *out)
{
  for (uint64_t e = 0; e < a->content.events; e++)
    mock_content_text(&a->content, e, out);
}

static void the_same_seed_says_the_same(void **state)
{
  struct answer a;
  struct buf one = {0}, two = {0}, other = {0};
  (void)state;
  answer_init(&a, "", 20, true);
  all_text(&a, &one);
  all_text(&a, &two);
  a.content.seed++;
  all_text(&a, &other);
  assert_string_equal(buf_cstr(&one), buf_cstr(&two));
  assert_string_not_equal(buf_cstr(&one), buf_cstr(&other));
  buf_free(&one);
  buf_free(&two);
  buf_free(&other);
  mock_reply_deinit(&a.reply);
}

static void b032_a_huge_token(void **state)
{
  struct answer a;
  struct buf out = {0};
  (void)state;
  answer_init(&a, "huge:100000", 2, true);
  mock_content_text(&a.content, 0, &out);
  assert_int_equal(out.len, 100000);
  buf_reset(&out);
  mock_content_text(&a.content, 1, &out);
  assert_true(out.len < 20);
  buf_free(&out);
  mock_reply_deinit(&a.reply);
}

static void failures_are_error_objects(void **state)
{
  struct buf out = {0};
  json_value *v;
  (void)state;
  mock_reply_failure(404, "no such model", "model", &out);
  v = json_parse(buf_str(&out), NULL);
  assert_true(json_double(json_get(json_get(v, "error"), "code"), 0) == 404);
  assert_string_equal(json_text(json_get(json_get(v, "error"), "param")),
                      "model");
  json_free(v);
  buf_free(&out);
}

static void integers(void **state)
{
  struct buf out = {0};
  (void)state;
  mock_reply_integer(&out, 0);
  buf_addc(&out, ' ');
  mock_reply_integer(&out, UINT64_MAX);
  assert_string_equal(buf_cstr(&out), "0 18446744073709551615");
  buf_free(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_event_has_vllms_keys),
      cmocka_unit_test(completions_have_text),
      cmocka_unit_test(chunks_hold_tokens_of_one_kind),
      cmocka_unit_test(b013_reasoning_comes_first_under_its_key),
      cmocka_unit_test(b016_tool_calls_interleave),
      cmocka_unit_test(whole_body_says_what_the_stream_says),
      cmocka_unit_test(the_same_seed_says_the_same),
      cmocka_unit_test(b032_a_huge_token),
      cmocka_unit_test(failures_are_error_objects),
      cmocka_unit_test(integers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
