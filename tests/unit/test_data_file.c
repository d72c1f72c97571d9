/* Opening, checking and reading data files: section d of the field cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "data_box.h"

#define PLAIN ((struct data_options){0})

/* ---- files that are fine: their rows ---- */

static const struct good {
  const char *name;
  struct str text;
  enum data_format wanted, format;
  const char *rows[5]; /* until NULL */
  uint64_t left_out, flaws;
} good[] = {
    {"two.jsonl",
     STR("{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n"),
     0,
     DATA_JSONL,
     {"{\"prompt\":\"a\"}", "{\"prompt\":\"b\"}"},
     0,
     0},
    {"no-end.jsonl",
     STR("{\"a\":1}\n\n  \r\n {\"a\":2}  \r\n{\"a\":3}"),
     0,
     DATA_JSONL,
     {"{\"a\":1}", "{\"a\":2}", "{\"a\":3}"},
     0,
     0},
    /* B102: a mark of the encoding is no part of the first row. */
    {"bom.jsonl",
     STR("\xef\xbb\xbf{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n"),
     0,
     DATA_JSONL,
     {"{\"prompt\":\"a\"}", "{\"prompt\":\"b\"}"},
     0,
     0},
    {"bom.csv",
     STR("\xef\xbb\xbfprompt,len\r\na,1\r\n"),
     0,
     DATA_CSV,
     {"a,1"},
     0,
     0},
    {"list.json",
     STR(" [ {\"a\":[1,\"]\"]} ,\n\"text\" , {} ]\n"),
     0,
     DATA_JSON,
     {"{\"a\":[1,\"]\"]}", "\"text\"", "{}"},
     0,
     0},
    {"plain.txt",
     STR("[INST] one\r\n\r\n  two \nthree"),
     0,
     DATA_LINES,
     {"[INST] one", "  two ", "three"},
     0,
     0},
    /* X10: records, not lines. */
    {"quotes.csv",
     STR("prompt,x,\r\n\"a\r\nb\",\"say \"\"hi\n\"\"\",\r\n\r\n"
         "c,,\r\n5\" disk,z,"),
     0,
     DATA_CSV,
     {"\"a\r\nb\",\"say \"\"hi\n\"\"\",", "c,,", "5\" disk,z,"},
     0,
     0},
    /* B131: the last line of a run that was killed. */
    {"killed.jsonl",
     STR("{\"due_s\":0.5,\"prompt_tokens\":4,\"tokens\":2}\n"
         "{\"due_s\":0.7,\"prompt_tok"),
     0,
     DATA_RUN,
     {"{\"due_s\":0.5,\"prompt_tokens\":4,\"tokens\":2}"},
     0,
     0},
    /* Files that were put together: each with its mark. */
    {"marks.txt",
     STR("\xef\xbb\xbfone\n\xef\xbb\xbf"
         "two\n"),
     0,
     DATA_LINES,
     {"one", "two"},
     0,
     0},
    {"marks.jsonl",
     STR("{\"p\":1}\n\xef\xbb\xbf{\"p\":2}\n"),
     0,
     DATA_JSONL,
     {"{\"p\":1}", "{\"p\":2}"},
     0,
     0},
    /* Nothing is asked in these. */
    {"silent.jsonl",
     STR("{\"conversations\":[{\"from\":\"human\",\"value\":\"\"}]}\n"
         "{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"}]}\n"),
     0,
     DATA_SHAREGPT,
     {"{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"}]}"},
     1,
     0},
    {"refused.jsonl",
     STR("{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":"
         "\"assistant\",\"content\":null,\"refusal\":\"no\"}]}\n"),
     0,
     DATA_JSONL,
     {"{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":"
      "\"assistant\",\"content\":null,\"refusal\":\"no\"}]}"},
     0,
     0},
    {"warm.jsonl",
     STR("{\"phase\":\"warmup\",\"due_s\":0,\"prompt_tokens\":4,\"tokens\":2}\n"
         "{\"phase\":\"measure\",\"due_s\":0.7,\"prompt_tokens\":4,\"tokens\":"
         "2}\n"),
     0,
     DATA_RUN,
     {"{\"phase\":\"measure\",\"due_s\":0.7,\"prompt_tokens\":4,\"tokens\":2}"},
     1,
     0},
    {"no-parts.jsonl",
     STR("{\"messages\":[{\"role\":\"user\",\"content\":[]}]}\n"
         "{\"messages\":[{\"role\":\"user\",\"content\":[{}]}]}\n"),
     0,
     DATA_JSONL,
     {"{\"messages\":[{\"role\":\"user\",\"content\":[{}]}]}"},
     1,
     0},
    {"lengths.jsonl",
     STR("{\"prompt\":\"a\",\"max_tokens\":\"12\",\"output_len\":null}\n"),
     0,
     DATA_JSONL,
     {"{\"prompt\":\"a\",\"max_tokens\":\"12\",\"output_len\":null}"},
     0,
     0},
    {"slash.jsonl",
     STR("{\"method\":\"post\",\"url\":\"\\/v1\\/x\",\"body\":{}}\n"),
     0,
     DATA_BATCH,
     {"{\"method\":\"post\",\"url\":\"\\/v1\\/x\",\"body\":{}}"},
     0,
     0},
    {"tabs.tsv", STR("a\tb\n1,2\t3\n"), 0, DATA_CSV, {"1,2\t3"}, 0, 0},
    /* B101: half a pair becomes U+FFFD, a whole one stays. */
    {"halves.jsonl",
     STR("{\"p\":\"a\\udc97b\"}\n{\"p\":\"\\ud83d\\ude00\"}\n"
         "{\"p\":\"\\\\ud83d \\uD83Dx\"}\n"),
     0,
     DATA_JSONL,
     {"{\"p\":\"a\\ufffdb\"}", "{\"p\":\"\\ud83d\\ude00\"}",
      "{\"p\":\"\\\\ud83d \\ufffdx\"}"},
     0,
     2},
    {"latin1.txt",
     STR("caf\xe9 and \xff\nz\xc3\xbc\0x\n"),
     0,
     DATA_LINES,
     {"caf\xe9 and \xff"},
     0,
     3},
    {"chats.json",
     STR("[{\"id\":1,\"conversations\":[{\"from\":\"gpt\","
         "\"value\":\"x\"}]},{\"conversations\":[]},"
         "{\"conversations\":[{\"from\":\"human\",\"value\":"
         "\"q\"},{\"from\":\"gpt\",\"value\":\"a\"}]}]"),
     0,
     DATA_SHAREGPT,
     {"{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":"
      "\"gpt\",\"value\":\"a\"}]}"},
     2,
     0},
    {"batch.jsonl",
     STR("{\"custom_id\":\"1\",\"method\":\"POST\",\"url\":"
         "\"/v1/x\",\"body\":{ \"a\" : 1 }}\n"),
     0,
     DATA_BATCH,
     {"{\"custom_id\":\"1\",\"method\":\"POST\",\"url\":\"/v1/x\",\"body\":"
      "{ \"a\" : 1 }}"},
     0,
     0},
    {"b105.jsonl",
     STR("{\"timestamp\":0,\"input_length\":5,\"output_length\":2}\n"),
     0,
     DATA_MOONCAKE,
     {"{\"timestamp\":0,\"input_length\":5,\"output_length\":2}"},
     0,
     0},
    {"azure.csv",
     STR("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
         "2023-11-16 18:17:03.9799600,4808,10\r\n"),
     0,
     DATA_AZURE,
     {"2023-11-16 18:17:03.9799600,4808,10"},
     0,
     0},
    {"burst.csv",
     STR("Timestamp,Model,Request tokens,Response tokens,Total "
         "tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n"
         "45,ChatGPT,0,0,0,API log\n"),
     0,
     DATA_BURSTGPT,
     {"5,ChatGPT,472,18,490,Conversation log"},
     1,
     0},
};

static void files_that_are_fine(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    const struct good *g = &good[i];
    struct data_options o = {.format = g->wanted};
    struct data_box b = data_box(g->name, g->text, o);
    struct data_info info;
    uint64_t n = 0;
    if (!b.file)
      fail_msg("%s: %s", g->name, err_text(&b.err));
    info = data_info(b.file);
    assert_string_equal(data_format_name(info.format),
                        data_format_name(g->format));
    for (; n < 5 && g->rows[n]; n++)
      assert_string_equal(data_box_row(&b, n), g->rows[n]);
    assert_true(info.rows >= n);
    assert_int_equal(info.left_out, g->left_out);
    assert_int_equal(info.flaws, g->flaws);
    data_box_close(&b);
  }
}

/* ---- files that are not ---- */

static const struct bad {
  const char *name;
  struct str text;
  enum data_format wanted;
  const char *says[3]; /* all of it stands in the message */
} bad[] = {
    /* B100 */
    {"b100.jsonl",
     STR("{\"prompt\":\"a\"}\n\n{\"text\":\"b\"}\n{\"prompt\":"),
     0,
     {"b100.jsonl:3: no \"prompt\"\n", "b100.jsonl:4: bad JSON",
      "skip_bad_rows: say this"}},
    {"wide.jsonl", STR("\xff\xfe{\0\"\0"), 0, {"is UTF-16 (little endian)"}},
    {"wide.csv", STR("\xfe\xff\0a\0,"), 0, {"is UTF-16 (big endian)"}},
    {"wider.txt", STR("\xff\xfe\0\0h\0\0\0"), 0, {"is UTF-32"}},
    /* Without marks. */
    {"bare.txt", STR("h\0i\0\n\0"), 0, {"is UTF-16 (little endian"}},
    {"bare.jsonl", STR("\0{\0\"\0p"), 0, {"is UTF-16 (big endian"}},
    {"mac.txt", STR("one\rtwo\r"), 0, {"mac.txt: its lines end in CR alone"}},
    {"mac.csv", STR("a,b\r1,2\r"), 0, {"mac.csv: its lines end in CR alone"}},
    {"mac.jsonl", STR("{}\r{}\r"), 0, {"mac.jsonl: its lines end in CR"}},
    /* Prompts that are none, behind one that is. */
    {"prompts.jsonl",
     STR("{\"prompt\":\"a\"}\n{\"prompt\":5}\n{\"prompt\":[\"a\"]}\n"),
     0,
     {"prompts.jsonl:2: \"prompt\" is no text", "prompts.jsonl:3: \"prompt\""}},
    {"prompts.json",
     STR("[\"a\",\n{\"x\":1},\n{\"prompt\":\"\"},\n"
         "{\"prompt\":\"c\",\"prompt\":null}]"),
     0,
     {"prompts.json:2: no \"prompt\"", "prompts.json:3: \"prompt\" is empty",
      "prompts.json:4: no \"prompt\""}},
    {"lengths.csv",
     STR("prompt,output_len,max_tokens\na,7,\na, 7.0 ,9\na,1.5,\na,,many\n"),
     0,
     {"lengths.csv:4: \"output_len\" is no whole",
      "lengths.csv:5: \"max_tokens\" is no whole"}},
    {"prompts.csv",
     STR("x,prompt\n1,a\n2,\n"),
     0,
     {"prompts.csv:3: \"prompt\" is empty"}},
    {"lengths.jsonl",
     STR("{\"prompt\":\"a\",\"output_len\":1.5}\n"
         "{\"prompt\":\"a\",\"max_tokens\":\"many\"}\n"),
     0,
     {"lengths.jsonl:1: \"output_len\" is no whole",
      "lengths.jsonl:2: \"max_tokens\" is no whole"}},
    {"parts.jsonl",
     STR("{\"messages\":[{\"role\":\"user\",\"content\":[{}]}]}\n"
         "{\"messages\":[{\"role\":\"user\",\"content\":[{},5]}]}\n"
         "{\"messages\":[{\"role\":\"user\",\"content\":[\"a\"]}]}\n"),
     0,
     {"parts.jsonl:2: messages[0] has content with a part that is no object",
      "parts.jsonl:3: messages[0] has content with a part"}},
    {"batch.jsonl",
     STR("{\"url\":\"/x\",\"body\":\"{}\"}\n{\"url\":5,\"body\":{}}\n"
         "{\"url\":\"https://a/v1\",\"body\":{}}\n"),
     DATA_BATCH,
     {"batch.jsonl:1: \"body\" is no object", "batch.jsonl:2: \"url\" is no",
      "batch.jsonl:3: \"url\" is no path"}},
    {"method.jsonl",
     STR("{\"url\":\"/x\",\"body\":{},\"method\":\"GET\"}\n"
         "{\"url\":\"/x y\",\"body\":{}}\n"),
     DATA_BATCH,
     {"method.jsonl:1: \"method\" is not POST", "method.jsonl:2: \"url\""}},
    {"day.csv",
     STR("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-29 00:00:00,1,1\n"),
     0,
     {"day.csv:2: column \"TIMESTAMP\": \"2023-02-29 00:00:00\" is no time"}},
    {"pointer.jsonl",
     STR("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
     0,
     {"is a Git LFS pointer, not the file itself: git lfs pull"}},
    {"page.txt", STR("<!DOCTYPE html>\n<p>404\n"), 0, {"is a web page"}},
    {"rows.jsonl", STR("PAR1..."), 0, {"contrib/parquet_to_jsonl.py"}},
    {"list.jsonl", STR("[{}]\n"), DATA_JSONL, {"is the file one JSON array"}},
    {"packed.jsonl", STR("\x1f\x8b\x08"), 0, {"gzip"}},
    {"empty.jsonl", STR(""), 0, {"empty.jsonl: there are no rows"}},
    {"blank.txt", STR(" \n\r\n"), 0, {"blank.txt: there are no rows"}},
    {"header.csv", STR("a,b\n"), 0, {"header.csv: there are no rows"}},
    {"nul.jsonl",
     STR("{\"a\":1}\n{\"a\":\"x\0y\"}\n"),
     0,
     {"nul.jsonl:2: bad JSON"}},
    /* B095: nothing survives */
    {"none.json",
     STR("[{\"conversations\":[]}]"),
     0,
     {"no row is usable as sharegpt: 1 had nothing to send"}},
    {"cut.json",
     STR("[{\"a\":1},\n{\"a\":"),
     0,
     {"cut.json:2: bad JSON in the element that begins here"}},
    {"open.json",
     STR("[{\"a\":1}"),
     0,
     {"open.json:1: the array is not closed"}},
    {"comma.json",
     STR("[{\"a\":1}\n{\"a\":1}]"),
     0,
     {"comma.json:2: bad JSON: a comma or ] is missing"}},
    {"more.json", STR("[1]x"), 0, {"text behind the end of the array"}},
    {"object.json", STR("{\n\"a\": 1\n}"), 0, {"object.json:1: bad JSON"}},
    {"lines.json",
     STR("{\"a\":1}\n"),
     DATA_JSON,
     {"must begin with [", "format = \"jsonl\""}},
    {"number.jsonl",
     STR("{}\n5\n"),
     0,
     {"number.jsonl:2: a row must be an object or a text"}},
    {"fields.csv",
     STR("a,b\n1,2\n\"x\ny\",2\n1\n1,2,3\n"),
     0,
     {"fields.csv:5: 1 field, but there are 2 columns",
      "fields.csv:6: 3 fields, but there are 2 columns"}},
    {"quote.csv",
     STR("a,b\n1,\"2\n3,4\n"),
     0,
     {"quote.csv:2: a quote is not closed"}},
    {"behind.csv",
     STR("a,b\n\"1\"2,3\n"),
     0,
     {"behind.csv:2: text behind the closing quote of field 1"}},
    {"far.csv",
     STR("TIMESTAMP,ContextTokens,GeneratedTokens\n"
         "1,0000000000000000000000000000000000000000000000000000000000000000"
         "0000000000000000000000000000000000000000000000000000000000000000"
         "00000000000000000000000000000000000000000000000000000000000x,1\n"),
     0,
     {"far.csv:2: column \"ContextTokens\": \"0000"}},
    {"twice.csv", STR("a,a\n1,2\n"), 0, {"two columns are called \"a\""}},
    /* B106 */
    {"b106.jsonl",
     STR("{\"timestamp\":0,\"input_length\":10,\"output_length\":1,"
         "\"hash_ids\":[0]}\n{\"timestamp\":0,\"input_length\":10,"
         "\"output_length\":1,\"hash_ids\":[0,1]}\n"),
     0,
     {"b106.jsonl:2: 10 tokens are 1 blocks of 16, but there are 2 hash_ids"}},
    {"zero.jsonl",
     STR("{\"timestamp\":9,\"input_length\":0,\"output_length\":1}\n"),
     DATA_MOONCAKE,
     {"zero.jsonl:1: \"input_length\" must be"}},
    {"when.csv",
     STR("TIMESTAMP,ContextTokens,GeneratedTokens\nnoon,1,1\n"
         "2023-11-16 18:17:03,x,1\n"),
     0,
     {"when.csv:2: column \"TIMESTAMP\": \"noon\" is no time",
      "when.csv:3: column \"ContextTokens\": \"x\" is no whole number"}},
    {"other.csv",
     STR("a,b\n1,2\n"),
     DATA_AZURE,
     {"the columns of azure are TIMESTAMP"}},
    {"nobody.jsonl",
     STR("{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]}\n"
         "{\"conversations\":[{\"from\":\"alien\",\"value\":\"a\"}]}\n"
         "{\"conversations\":[{\"from\":\"human\",\"value\":7}]}\n"),
     0,
     {"nobody.jsonl:2: conversations[0] has an unknown role",
      "nobody.jsonl:3: conversations[0] has content"}},
    /* B171 */
    {"b171.jsonl",
     STR("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n"
         "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":"
         "\"assistant\",\"content\":null,\"tool_calls\":[{}]},{\"role\":"
         "\"tool\",\"content\":\"4\"}]}\n"
         "{\"messages\":[\"hello\"]}\n"),
     0,
     {"b171.jsonl:2: messages[2] is a tool's answer without tool_call_id",
      "b171.jsonl:3: messages[0] is not an object"}},
};

static void files_that_are_not(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const struct bad *g = &bad[i];
    struct data_options o = {.format = g->wanted, .block = 16};
    struct data_box b = data_box(g->name, g->text, o);
    if (b.file)
      fail_msg("%s was accepted", g->name);
    for (int k = 0; k < 3 && g->says[k]; k++)
      if (!strstr(err_text(&b.err), g->says[k]))
        fail_msg("%s: no \"%s\" in:\n%s", g->name, g->says[k],
                 err_text(&b.err));
    data_box_close(&b);
  }
}

static void bad_rows_can_be_left_out(void **state)
{
  struct data_options o = {.skip_bad_rows = true};
  struct data_box b =
      data_box("skip.jsonl",
               STR("{\"prompt\":\"a\"}\n{\"x\":1}\n{\n{\"prompt\":\"b\"}"), o);
  (void)state;
  assert_non_null(b.file);
  assert_int_equal(data_info(b.file).rows, 2);
  assert_int_equal(data_info(b.file).skipped, 2);
  assert_string_equal(data_box_row(&b, 1), "{\"prompt\":\"b\"}");
  assert_int_equal(data_line(b.file, 1), 4);
  data_box_close(&b);
  b = data_box("skip.csv", STR("a,b\n1,\"2\n3,4\n5\n6,7\n"), o);
  assert_int_equal(data_info(b.file).rows, 2);
  assert_int_equal(data_info(b.file).skipped, 2);
  assert_string_equal(data_box_row(&b, 0), "3,4");
  data_box_close(&b);
}

/* clang-format off */
#define SAYS(who, what) "{\"role\":\"" who "\",\"content\":\"" what "\"}"
#define TURN1 "{\"messages\": [" SAYS("user", "1")
#define TURN2 TURN1 " , " SAYS("assistant", "a") "," SAYS("user", "2")
#define TURN3 TURN2 "," SAYS("assistant", "b")
/* clang-format on */

static void b166_rows_that_repeat_the_row_before(void **state)
{
  /* The last two repeat a row, and go another way. */
  const struct str text = STR(
      TURN1 "]}\n" TURN2 " ]}\n\n" TURN3 "]}\n" TURN3 "]}\n" TURN1
            "," SAYS("user", "3") "]}\n{\"prompt\":\"x\",\"messages\":[]}\n");
  struct data_options o = {.join = true};
  struct data_box b = data_box("grow.jsonl", text, PLAIN);
  (void)state;
  assert_int_equal(data_info(b.file).rows, 5);
  assert_int_equal(data_info(b.file).grown, 2);
  data_box_close(&b);
  b = data_box("join.jsonl", text, o);
  assert_int_equal(data_info(b.file).rows, 3);
  assert_int_equal(data_info(b.file).grown, 2);
  assert_int_equal(data_line(b.file, 0), 4);
  assert_int_equal(data_line(b.file, 1), 5);
  data_box_close(&b);
}

static void at_most_ten_mistakes_are_told(void **state)
{
  struct buf text = {0};
  struct data_box b;
  (void)state;
  for (int i = 0; i < 25; i++)
    buf_adds(&text, "{\n");
  b = data_box("many.jsonl", buf_str(&text), PLAIN);
  assert_null(b.file);
  assert_int_equal(b.err.count, 12);
  assert_non_null(strstr(err_text(&b.err), "and 15 more bad rows"));
  data_box_close(&b);
  buf_free(&text);
}

static void wanted_members(void **state)
{
  struct data_options o = {.require = "q\nmeta.id"};
  struct data_box b = data_box(
      "want.jsonl",
      STR("{\"q\":1,\"meta\":{\"id\":1}}\n{\"q\":1,\"meta\":{}}\n"), o);
  (void)state;
  assert_null(b.file);
  assert_non_null(strstr(err_text(&b.err), "want.jsonl:2: no \"meta.id\""));
  data_box_close(&b);
  b = data_box("want.csv", STR("q,x\n1,2\n"), o);
  assert_non_null(
      strstr(err_text(&b.err), "want.csv:1: no column \"meta.id\""));
  data_box_close(&b);
}

static void times_of_traces(void **state)
{
  struct data_moment m;
  struct data_box b = data_box(
      "t.csv",
      STR("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
          "2023-12-31 23:59:59.5,4808,10\r\n2024-01-01T00:00:01Z,5,6\r\n"),
      PLAIN);
  (void)state;
  data_box_row(&b, 1);
  assert_int_equal(data_moment(b.file, buf_str(&b.row), &m), 0);
  assert_true(m.seconds > 1.4999 && m.seconds < 1.5001);
  assert_int_equal(m.input_len, 5);
  assert_int_equal(m.output_len, 6);
  data_box_close(&b);
  b = data_box(
      "t.jsonl",
      STR("{\"timestamp\":500,\"input_length\":1,\"output_length\":1}\n"
          "{\"timestamp\":2500,\"input_length\":7,\"output_length\":8}\n"),
      PLAIN);
  data_box_row(&b, 1);
  assert_int_equal(data_moment(b.file, buf_str(&b.row), &m), 0);
  assert_true(m.seconds == 2 && m.input_len == 7 && m.output_len == 8);
  data_box_close(&b);
}

/* Lines of --requests-out stand in the order in which requests ended. */
static void traces_are_sorted_by_time(void **state)
{
  struct data_moment m;
  struct data_box b =
      data_box("run.jsonl",
               STR("{\"due_s\":3,\"prompt_tokens\":30,\"tokens\":3}\n"
                   "{\"due_s\":1,\"prompt_tokens\":10,\"tokens\":1}\n"
                   "{\"due_s\":2,\"prompt_tokens\":null,\"tokens\":null}\n"
                   "{\"due_s\":1,\"prompt_tokens\":11,\"tokens\":2}\n"),
               PLAIN);
  static const double times[] = {0, 0, 2};
  static const uint64_t inputs[] = {10, 11, 30};
  (void)state;
  assert_string_equal(data_format_name(data_info(b.file).format),
                      "requests-out");
  assert_int_equal(data_info(b.file).rows, 3);
  assert_int_equal(data_info(b.file).left_out, 1);
  for (int i = 0; i < 3; i++) {
    data_box_row(&b, (uint64_t)i);
    assert_int_equal(data_moment(b.file, buf_str(&b.row), &m), 0);
    assert_true(m.seconds == times[i]);
    assert_int_equal(m.input_len, inputs[i]);
  }
  data_box_close(&b);
}

static void batch_bodies_stay_as_they_are(void **state)
{
  struct data_box b = data_box(
      "v.jsonl", STR("{\"url\":\"/v1/x\",\"body\":{ \"b\" :1.50,\"a\":[] }}"),
      PLAIN);
  (void)state;
  data_box_row(&b, 0);
  assert_true(str_eq(data_body(b.file, buf_str(&b.row)),
                     STR("{ \"b\" :1.50,\"a\":[] }")));
  data_box_close(&b);
}

/* Rows on both sides of the window's end, and longer ones than it and than
 * the index's short lengths. */
static void rows_longer_than_the_window(void **state)
{
  static const size_t lengths[] = {
      10, 1 << 20, (1 << 20) - 40, 5, 17 << 20, 24 << 20, 3};
  const size_t n = sizeof lengths / sizeof *lengths;
  static const char *const kinds[] = {"long.jsonl", "long.json", "long.csv"};
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    struct buf text = {0};
    struct data_box b;
    buf_adds(&text, kind == 0 ? "" : kind == 1 ? "[" : "p\n");
    for (size_t i = 0; i < n; i++) {
      if (kind == 1 && i)
        buf_addc(&text, ',');
      buf_addc(&text, '"');
      memset(buf_reserve(&text, lengths[i]), 'a' + (int)i, lengths[i]);
      text.len += lengths[i];
      buf_adds(&text, kind == 1 ? "\"" : "\"\n");
    }
    if (kind == 1)
      buf_addc(&text, ']');
    b = data_box(kinds[kind], buf_str(&text), PLAIN);
    if (!b.file)
      fail_msg("%s: %s", kinds[kind], err_text(&b.err));
    assert_int_equal(data_info(b.file).rows, n);
    for (size_t i = 0; i < n; i++) {
      const char *row = data_box_row(&b, i);
      assert_int_equal(b.row.len, lengths[i] + 2);
      assert_int_equal(row[1], 'a' + (int)i);
      assert_int_equal(row[lengths[i]], 'a' + (int)i);
    }
    data_box_close(&b);
    buf_free(&text);
  }
}

static void a_file_that_shrank_is_told(void **state)
{
  struct data_box b = data_box("s.txt", STR("one\ntwo\nthree\n"), PLAIN);
  (void)state;
  assert_int_equal(truncate(b.path, 5), 0);
  assert_int_equal(data_read(b.file, 2, &b.row, &b.err), -1);
  assert_non_null(strstr(err_text(&b.err), "s.txt: the file changed while the "
                                           "run read it, and row 3 "));
  data_box_close(&b);
}

/* As another program that opens the file and writes into it. Clocks of files
 * tick slowly: ours is told to be another one. */
static void overwrite(const char *path, long at, const char *text)
{
  struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  FILE *f = fopen(path, "r+b");
  assert_non_null(f);
  fseek(f, at, SEEK_SET);
  fputs(text, f);
  fclose(f);
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const struct change {
  const char *name, *text;
  long at;
  bool same; /* rows are what they were */
} changes[] = {
    {"as long.csv", "xx,9\nyy,8\n", 6, false},
    {"longer.csv", "zz,9\nyy,8\nxx,7\nww,6\n", 6, false},
    {"its head.csv", "b,aaaaa\n1,2\n3,4\n5,6\n", 0, false},
    {"appended.csv", "ww,6\n", 16, true},
};

/* A file that is written to while it is in use. */
static void a_file_that_is_overwritten(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    const struct change *c = &changes[i];
    struct data_box b = data_box(c->name, STR("a,bbb\nuu,1\nvv,2\n"), PLAIN);
    int rc;
    assert_non_null(b.file);
    overwrite(b.path, c->at, c->text);
    rc = data_read(b.file, 0, &b.row, &b.err);
    if ((rc == 0) != c->same)
      fail_msg("%s: %d", c->name, rc);
    if (rc == 0)
      assert_string_equal(buf_cstr(&b.row), "uu,1");
    data_box_close(&b);
  }
}

#define ASKS "{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"}]}"

/* What is a row's format, and must it have something to send? The first one
 * with anything decides, for those before it as well. */
static void first_rows_that_have_nothing_to_send(void **state)
{
  static const struct {
    const char *name, *text;
    enum data_format format;
    uint64_t rows, skipped, left_out;
    const char *why; /* without skip_bad_rows; NULL: nothing is wrong */
  } files[] = {
      {"a.json", "[{\"id\":1},\n" ASKS "]", DATA_SHAREGPT, 1, 1, 0,
       "a.json:1: nothing to send"},
      {"b.json", "[null,\n" ASKS "]", DATA_SHAREGPT, 1, 1, 0,
       "b.json:1: a row must be"},
      {"c.json", "[\"\",\n" ASKS "]", DATA_SHAREGPT, 1, 0, 1, NULL},
      {"d.jsonl", "{\"id\":1}\n{\"prompt\":null}\n{\"prompt\":\"p\"}\n",
       DATA_JSONL, 1, 2, 0, "d.jsonl:2: nothing to send"},
      {"e.json", "[{},{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}]}]",
       DATA_JSON, 1, 1, 0, "e.json:1: nothing to send"},
      {"f.jsonl",
       "{}\n{\"timestamp\":0,\"input_length\":5,\"output_length\":1}\n",
       DATA_MOONCAKE, 1, 1, 0, "f.jsonl:1: nothing to send"},
      /* A script that knows what to do with its rows. */
      {"g.json", "[{\"id\":1},{\"id\":2}]", DATA_JSON, 2, 0, 0, NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    struct str text = str_of(files[i].text);
    struct data_box b = data_box(files[i].name, text,
                                 (struct data_options){.skip_bad_rows = true});
    struct data_info info;
    assert_non_null(b.file);
    info = data_info(b.file);
    assert_int_equal(info.format, files[i].format);
    assert_int_equal(info.rows, files[i].rows);
    assert_int_equal(info.skipped, files[i].skipped);
    assert_int_equal(info.left_out, files[i].left_out);
    data_box_close(&b);
    b = data_box(files[i].name, text, PLAIN);
    assert_int_equal(b.file == NULL, files[i].why != NULL);
    if (files[i].why && !strstr(err_text(&b.err), files[i].why))
      fail_msg("%s", err_text(&b.err));
    data_box_close(&b);
    b = data_box(files[i].name, text, (struct data_options){.require = ""});
    assert_int_equal(b.file == NULL, i == 1);
    data_box_close(&b);
  }
}

/* Times without end, and lengths that no answer has. */
static void numbers_out_of_reach(void **state)
{
  static const struct {
    const char *name, *text, *why;
  } files[] = {
      {"a.jsonl",
       "{\"timestamp\":1e400,\"input_length\":5,\"output_length\":1}\n",
       "a.jsonl:1: no \"timestamp\""},
      {"b.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n0,3,4\ninf,3,4\n",
       "b.csv:3: column \"TIMESTAMP\": \"inf\" is no time"},
      {"c.csv", "prompt,max_tokens\na,-5\n",
       "c.csv:2: \"max_tokens\" is no whole number"},
      {"d.jsonl", "{\"prompt\":\"a\",\"output_len\":-1}\n",
       "d.jsonl:1: \"output_len\" is no whole number"},
      {"e.jsonl", "{\"prompt\":\"a\",\"max_tokens\":1e300}\n",
       "e.jsonl:1: \"max_tokens\" is no whole number"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    struct data_box b = data_box(files[i].name, str_of(files[i].text), PLAIN);
    assert_null(b.file);
    if (!strstr(err_text(&b.err), files[i].why))
      fail_msg("%s", err_text(&b.err));
    data_box_close(&b);
  }
}

struct appender {
  const char *path;
  atomic_bool stop;
};

static void *append(void *ud)
{
  struct appender *a = ud;
  FILE *f = fopen(a->path, "a");
  assert(f);
  while (!atomic_load(&a->stop)) {
    fputs("another line\n", f);
    fflush(f);
    usleep(20);
  }
  fclose(f);
  return NULL;
}

/* One that is still being written when it is opened has no end yet. */
static void a_file_that_grows_as_it_is_opened(void **state)
{
  struct buf text = {0};
  struct data_box b;
  struct appender a = {0};
  pthread_t thread;
  (void)state;
  for (int i = 0; i < 200000; i++)
    buf_adds(&text, "a line of text\n");
  b = data_box("grows.txt", buf_str(&text), PLAIN);
  assert_non_null(b.file);
  a.path = b.path;
  assert_int_equal(pthread_create(&thread, NULL, append, &a), 0);
  /* Until both did something at the same time, which takes one try. */
  for (int i = 0; b.file && i < 2000; i++) {
    struct data_options o = PLAIN;
    data_close(b.file);
    b.file = data_open(b.path, "grows.txt", &o, &b.err);
  }
  atomic_store(&a.stop, true);
  pthread_join(thread, NULL);
  assert_string_equal(err_text(&b.err),
                      "grows.txt: the file changed while it was read: who "
                      "writes it must be done before it is used\n");
  data_box_close(&b);
  buf_free(&text);
}

/* Who holds the file keeps it: its name may go to another one. */
static void a_file_that_is_replaced(void **state)
{
  struct data_box b = data_box("r.txt", STR("one\ntwo\n"), PLAIN);
  (void)state;
  assert_int_equal(remove(b.path), 0);
  assert_string_equal(data_box_row(&b, 0), "one");
  file_write(b.path, STR("ONE\nTWO\n"));
  assert_string_equal(data_box_row(&b, 1), "two");
  data_box_close(&b);
}

static void only_regular_files(void **state)
{
  struct err e = {0};
  struct data_options o = PLAIN;
  (void)state;
  assert_null(data_open("/dev/null", "null", &o, &e));
  assert_null(data_open("/nowhere/x", "x", &o, &e));
  assert_string_equal(err_text(&e), "null: not a regular file\n"
                                    "x: No such file or directory\n");
  err_free(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_that_are_fine),
      cmocka_unit_test(files_that_are_not),
      cmocka_unit_test(bad_rows_can_be_left_out),
      cmocka_unit_test(b166_rows_that_repeat_the_row_before),
      cmocka_unit_test(at_most_ten_mistakes_are_told),
      cmocka_unit_test(wanted_members),
      cmocka_unit_test(times_of_traces),
      cmocka_unit_test(traces_are_sorted_by_time),
      cmocka_unit_test(batch_bodies_stay_as_they_are),
      cmocka_unit_test(rows_longer_than_the_window),
      cmocka_unit_test(a_file_that_shrank_is_told),
      cmocka_unit_test(first_rows_that_have_nothing_to_send),
      cmocka_unit_test(numbers_out_of_reach),
      cmocka_unit_test(a_file_that_is_overwritten),
      cmocka_unit_test(a_file_that_grows_as_it_is_opened),
      cmocka_unit_test(a_file_that_is_replaced),
      cmocka_unit_test(only_regular_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
