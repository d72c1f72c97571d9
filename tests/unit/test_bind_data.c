/* stoke.data in scripts: rows, who gets which, and what opening refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script_box.h"

/* A scenario whose request() sends what `expression` says as its body. */
static struct box say(const char *open, const char *expression)
{
  char text[2048];
  snprintf(text, sizeof text,
           "local d = stoke.data.open(%s)\n"
           "local function list(t)\n"
           "  local out = {}\n"
           "  for i, v in ipairs(t) do out[i] = tostring(v) end\n"
           "  return table.concat(out, '|')\n"
           "end\n"
           "return { request = function(ctx)\n"
           "  local v = %s\n"
           "  return { body = type(v) == 'table' and v or tostring(v) }\n"
           "end }",
           open, expression);
  return box_open(text);
}

#define assert_says(open, expression, wanted)                                  \
  do {                                                                         \
    struct box says_ = say(open, expression);                                  \
    assert_string_equal(box_body(&says_, 1), wanted);                          \
    box_close(&says_);                                                         \
  } while (0)

static void five_lines(void)
{
  box_write("five.txt", "a\nb\nc\nd\ne\n");
}

/* ---- rows ---- */

static void rows_of_every_kind_have_the_same_fields(void **state)
{
  (void)state;
  five_lines();
  box_write("p.csv", "prompt,n,reference\n\"x, y\",007,r\n");
  box_write("s.json", "[{\"id\":\"i\",\"conversations\":["
                      "{\"from\":\"gpt\",\"value\":\"old\"},"
                      "{\"from\":\"system\",\"value\":\"S\"},"
                      "{\"from\":\"human\",\"value\":\"q1\"},"
                      "{\"from\":\"gpt\",\"value\":\"a1\"},"
                      "{\"from\":\"human\",\"value\":\"q2\"}]}]");
  assert_says("'five.txt'",
              "list { #d, d:row(2).prompt, d:row(2).messages[1].role, d.format,"
              " #d:row(5).turns }",
              "5|b|user|lines|1");
  assert_says("'p.csv'",
              "list { d:row(1).prompt, d:row(1).n, d:row(1).reference,"
              " d:row(1).turns[1].reference }",
              "x, y|007|r|r");
  assert_says("'s.json'",
              "list { d:row(1).id, d:row(1).prompt, d:row(1).reference,"
              " #d:row(1).turns, d:row(1).turns[2].prompt,"
              " d:row(1).turns[2].reference, #d:row(1).messages }",
              "i|q1|a1|2|q2");
  assert_says("'s.json'", "d:row(1).turns[1]",
              "{\"answer\":{\"content\":\"a1\",\"role\":\"assistant\"},"
              "\"messages\":[{\"content\":\"S\",\"role\":\"system\"},"
              "{\"content\":\"q1\",\"role\":\"user\"}],"
              "\"prompt\":\"q1\",\"reference\":\"a1\"}");
}

static void b170_b171_rounds_of_openai_messages(void **state)
{
  (void)state;
  box_write(
      "m.jsonl",
      "{\"messages\":[{\"role\":\"system\",\"content\":\"S\"},"
      "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"u\"}]},"
      "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
      "\"c1\"},{\"id\":\"c2\"}]},"
      "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"4\"},"
      "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"5\"},"
      "{\"role\":\"assistant\",\"content\":\"nine\"}]}\n");
  assert_says("'m.jsonl'", "d:row(1).turns[2].messages",
              "[{\"content\":\"4\",\"role\":\"tool\",\"tool_call_id\":\"c1\"},"
              "{\"content\":\"5\",\"role\":\"tool\",\"tool_call_id\":\"c2\"}]");
  assert_says("'m.jsonl'",
              "list { #d:row(1).turns, d:row(1).turns[1].messages[1].role,"
              " d:row(1).prompt, #d:row(1).turns[1].answer.tool_calls,"
              " d:row(1).turns[2].reference }",
              "2|system|u|2|nine");
}

static void batch_bodies_are_sent_as_they_are(void **state)
{
  (void)state;
  box_write("b.jsonl",
            "{\"custom_id\":\"r1\",\"method\":\"POST\",\"url\":"
            "\"/v1/chat/completions\",\"body\":{ \"max_tokens\" : 5.0,"
            "\"messages\":[{\"role\":\"user\",\"content\":\"h\\u00e9\"}]}}\n");
  assert_says("'b.jsonl'", "d:row(1).body",
              "{ \"max_tokens\" : 5.0,\"messages\":[{\"role\":\"user\","
              "\"content\":\"h\\u00e9\"}]}");
  assert_says("'b.jsonl'",
              "list { d.format, d:row(1).custom_id, d:row(1).url,"
              " d:row(1).prompt, d:row(1).output_len }",
              "openai-batch|r1|/v1/chat/completions|h\xc3\xa9|5");
  /* X11: what is no UTF-8 is no body. */
  box_write("ff.jsonl", "{\"url\":\"/x\",\"body\":{\"a\":\"\xff\"}}\n");
  assert_says("'ff.jsonl'", "d:row(1).body", "{\"a\":\"\xef\xbf\xbd\"}");
}

/* B106: the same ids give the same beginning. */
static void b106_text_of_hash_ids(void **state)
{
  (void)state;
  box_write("t.jsonl",
            "{\"timestamp\":1000,\"input_length\":10,\"output_length\":3,"
            "\"hash_ids\":[0]}\n"
            "{\"timestamp\":2500,\"input_length\":20,\"output_length\":4,"
            "\"hash_ids\":[0,1]}\n"
            "{\"timestamp\":2500,\"input_length\":7,\"output_length\":4}\n");
  assert_says("'t.jsonl', { block = 16 }",
              "list { d.format, d:row(2).prompt:sub(1, #d:row(1).prompt) =="
              " d:row(1).prompt, select(2, d:row(1).prompt:gsub('%S+', '')),"
              " select(2, d:row(2).prompt:gsub('%S+', '')),"
              " select(2, d:row(3).prompt:gsub('%S+', '')),"
              " d:row(3).prompt == d:row(3).prompt }",
              "mooncake|true|10|20|7|true");
  assert_says("'t.jsonl', { block = 16 }",
              "list { d:time(1), d:time(2), d:row(2).timestamp,"
              " d:row(2).input_len, d:row(2).output_len }",
              "0|1.5|1.5|20|4");
}

/* 64-bit hashes, which come through JSON as doubles. */
static void b106_ids_of_all_sizes(void **state)
{
  (void)state;
  box_write("ids.jsonl",
            "{\"timestamp\":0,\"input_length\":40,\"output_length\""
            ":1,\"hash_ids\":[18446744073709551615,"
            "9223372036854775808,12345678901234567000,-1,1.25,"
            "1.75,1,1e300,2e300,9007199254740993]}\n");
  assert_says("'ids.jsonl', { block = 4 }",
              "(function() local seen, n = {}, 0"
              " for block in d:row(1).prompt:gmatch('%S+ %S+ %S+ %S+') do"
              " n = n + (seen[block] and 0 or 1) seen[block] = true end"
              " return tostring(n) end)()",
              "10");
}

/* B101 on its way through Lua; X11: bytes of no UTF-8. */
static void b101_text_that_is_none(void **state)
{
  (void)state;
  box_write("h.jsonl", "{\"prompt\":\"a\\udc97b\"}\n"
                       "{\"prompt\":\"\\ud83d\\ude00\"}\n");
  box_write("x.txt", "a\xff"
                     "b\n");
  assert_says("'h.jsonl'",
              "list { d:row(1).prompt, d:row(2).prompt,"
              " d.replaced }",
              "a\xef\xbf\xbd"
              "b|\xf0\x9f\x98\x80|1");
  assert_says("'x.txt'", "d:row(1).prompt",
              "a\xef\xbf\xbd"
              "b");
}

/* ---- who gets which ---- */

static const char *next_of(struct box *b, uint64_t id, enum phase phase)
{
  struct vm_item item = {.id = id, .phase = phase};
  enum vm_result r = vm_request(b->vm, &item, &b->request);
  return r == VM_OK ? buf_cstr(&b->request.body) : r == VM_END ? "" : "!";
}

static struct box sending(const char *open, const char *call)
{
  char text[512];
  snprintf(text, sizeof text,
           "return { setup = function() return { d = %s } end,\n"
           "  request = function(ctx)\n"
           "  local row = ctx.data.d:%s\n"
           "  if row then return { body = row.prompt } end\n"
           "end }",
           open, call);
  return box_open(text);
}

/* Two VMs, as two threads have them: each item's row is its number's. What
 * setup opened is handed to both. */
static void next_follows_the_number_of_the_item(void **state)
{
  struct box b, other;
  struct buf data = {0};
  (void)state;
  five_lines();
  b = sending("stoke.data.open('five.txt')", "next()");
  assert_int_equal(vm_setup(b.vm, &data, &b.err), 0);
  other = b;
  other.request = (struct request){0};
  other.err = (struct err){0};
  other.vm = box_vm(
      &other,
      (struct vm_config){.workers = 2, .worker = 1, .data = buf_str(&data)});
  assert_non_null(other.vm);
  assert_string_equal(next_of(&b, 1, PHASE_MEASURE), "a");
  assert_string_equal(next_of(&other, 2, PHASE_MEASURE), "b");
  assert_string_equal(next_of(&other, 4, PHASE_MEASURE), "d");
  assert_string_equal(next_of(&b, 3, PHASE_MEASURE), "c");
  assert_string_equal(next_of(&b, 5, PHASE_MEASURE), "e");
  assert_string_equal(next_of(&other, 6, PHASE_MEASURE), "");
  vm_free(other.vm);
  request_free(&other.request);
  box_close(&b);
  buf_free(&data);
}

static void b165_the_warmup_takes_rows_from_the_end(void **state)
{
  struct box b;
  struct buf data = {0};
  (void)state;
  five_lines();
  b = sending("stoke.data.open('five.txt', { warmup_rows = 2 })", "next()");
  vm_setup(b.vm, &data, &b.err);
  assert_string_equal(next_of(&b, 1, PHASE_WARMUP), "e");
  assert_string_equal(next_of(&b, 2, PHASE_WARMUP), "d");
  assert_string_equal(next_of(&b, 3, PHASE_WARMUP), "e");
  assert_string_equal(next_of(&b, 3, PHASE_MEASURE), "c");
  assert_string_equal(next_of(&b, 4, PHASE_MEASURE), "");
  box_close(&b);
  b = sending("stoke.data.open('five.txt')", "next()");
  buf_reset(&data);
  vm_setup(b.vm, &data, &b.err);
  assert_string_equal(next_of(&b, 1, PHASE_WARMUP), "e");
  assert_string_equal(next_of(&b, 5, PHASE_MEASURE), "e");
  box_close(&b);
  buf_free(&data);
}

static void what_happens_when_rows_run_out(void **state)
{
  struct box b;
  struct buf data = {0};
  (void)state;
  five_lines();
  b = sending("stoke.data.open('five.txt', { when_exhausted = 'cycle' })",
              "next()");
  vm_setup(b.vm, &data, &b.err);
  assert_string_equal(next_of(&b, 6, PHASE_MEASURE), "a");
  assert_string_equal(next_of(&b, 12, PHASE_MEASURE), "b");
  box_close(&b);
  buf_reset(&data);
  b = sending("stoke.data.open('five.txt', { when_exhausted = 'random' })",
              "next()");
  vm_setup(b.vm, &data, &b.err);
  for (uint64_t id = 1; id < 40; id++) {
    char first[8];
    snprintf(first, sizeof first, "%s", next_of(&b, id, PHASE_MEASURE));
    assert_int_equal(strlen(first), 1);
    if (id <= 5)
      assert_int_equal(first[0], 'a' + (int)id - 1);
    next_of(&b, 100, PHASE_MEASURE);
    assert_string_equal(next_of(&b, id, PHASE_MEASURE), first);
  }
  box_close(&b);
  buf_free(&data);
}

static void shuffled_rows_come_once_each(void **state)
{
  struct box b;
  struct buf data = {0};
  char order[6] = "", *end = order;
  (void)state;
  five_lines();
  b = sending("stoke.data.open('five.txt', { shuffle = true })", "next()");
  vm_setup(b.vm, &data, &b.err);
  for (uint64_t id = 1; id <= 5; id++)
    *end++ = *next_of(&b, id, PHASE_MEASURE);
  for (char c = 'a'; c <= 'e'; c++)
    assert_non_null(strchr(order, c));
  assert_string_not_equal(order, "abcde");
  box_close(&b);
  buf_free(&data);
}

static void several_rows_at_once(void **state)
{
  struct box b;
  (void)state;
  five_lines();
  b = box_open("local d = stoke.data.open('five.txt')\n"
               "return { request = function(ctx)\n"
               "  local out, rows = '', d:next(2)\n"
               "  if not rows then return nil end\n"
               "  for _, r in ipairs(rows) do out = out .. r.prompt end\n"
               "  return { body = out }\n"
               "end }");
  assert_string_equal(box_body(&b, 1), "ab");
  assert_string_equal(box_body(&b, 2), "cd");
  assert_string_equal(box_body(&b, 3), "e");
  assert_int_equal(box_request(&b, 4), VM_END);
  box_close(&b);
}

/* Number 1 would get rows 1 and 2, number 2 row 2 again. */
static void rows_come_in_equal_numbers(void **state)
{
  struct box b;
  (void)state;
  five_lines();
  b = box_open("local d = stoke.data.open('five.txt')\n"
               "return { request = function(ctx)\n"
               "  local rows = ctx.id == 2 and { d:next() } or d:next(2)\n"
               "  return { body = rows[1].prompt }\n"
               "end }");
  assert_string_equal(box_body(&b, 1), "a");
  assert_int_equal(box_request(&b, 2), VM_FAILED);
  assert_has(vm_error(b.vm), "for 1 here, and for 2 before");
  assert_string_equal(box_body(&b, 3), "e");
  box_close(&b);
}

static void next_twice_is_a_mistake(void **state)
{
  struct box b;
  (void)state;
  five_lines();
  b = say("'five.txt'", "d:next().prompt .. d:next().prompt");
  assert_int_equal(box_request(&b, 1), VM_FAILED);
  assert_has(vm_error(b.vm), "d:next(n) gives n rows");
  box_close(&b);
}

static void next_belongs_to_a_request(void **state)
{
  char *words;
  (void)state;
  five_lines();
  words = box_refused("stoke.data.open('five.txt'):next()\n"
                      "return { request = function() end }");
  assert_has(words, "call it in request or session");
  mem_free(words);
}

/* ---- opening ---- */

static const char *const refused[][2] = {
    {"'nowhere.txt'", "nowhere.txt: no such file"},
    {"'/etc/passwd'", "outside of the scenario's folder"},
    {"'five.txt', { formt = 'csv' }", "unknown option 'formt'"},
    {"'five.txt', { format = 'parquet' }", "there are lines, jsonl, json, csv"},
    {"'five.txt', { format = 1 }", "format must be a string, not a number"},
    {"'five.txt', { when_exhausted = 'end' }", "\"cycle\" or \"random\""},
    {"'five.txt', { block = -1 }", "block must be a whole number"},
    {"'five.txt', { warmup_rows = 5 }", "warmup_rows leaves no row of 5"},
    {"'five.txt', { separator = ',,' }", "separator must be one character"},
    {"'five.txt', { 'csv' }", "options have names"},
    {"'five.txt', { format = 'jsonl' }", "five.txt:1: bad JSON"},
};

static void what_opening_refuses(void **state)
{
  (void)state;
  five_lines();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    char text[256], *words;
    snprintf(text, sizeof text,
             "stoke.data.open(%s)\nreturn { request = function() end }",
             refused[i][0]);
    words = box_refused(text);
    assert_has(words, refused[i][1]);
    mem_free(words);
  }
}

static void rows_that_are_not_there(void **state)
{
  static const char *const calls[] = {"d:row(0)", "d:row(6)", "d:row(1.5)",
                                      "d:time(1)", "d.nothing"};
  (void)state;
  five_lines();
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    struct box b = say("'five.txt'", calls[i]);
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    box_close(&b);
  }
  assert_says("'five.txt'", "list { d:at(5).prompt, tostring(d:at(6)) }",
              "e|nil");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_every_kind_have_the_same_fields),
      cmocka_unit_test(b170_b171_rounds_of_openai_messages),
      cmocka_unit_test(batch_bodies_are_sent_as_they_are),
      cmocka_unit_test(b106_text_of_hash_ids),
      cmocka_unit_test(b106_ids_of_all_sizes),
      cmocka_unit_test(b101_text_that_is_none),
      cmocka_unit_test(next_follows_the_number_of_the_item),
      cmocka_unit_test(b165_the_warmup_takes_rows_from_the_end),
      cmocka_unit_test(what_happens_when_rows_run_out),
      cmocka_unit_test(shuffled_rows_come_once_each),
      cmocka_unit_test(several_rows_at_once),
      cmocka_unit_test(rows_come_in_equal_numbers),
      cmocka_unit_test(next_twice_is_a_mistake),
      cmocka_unit_test(next_belongs_to_a_request),
      cmocka_unit_test(what_opening_refuses),
      cmocka_unit_test(rows_that_are_not_there),
  };
  return cmocka_run_group_tests(tests, box_setup, box_teardown);
}
