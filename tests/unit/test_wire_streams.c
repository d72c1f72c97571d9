/* Recorded answers of real servers (tests/data/streams/README.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording.h"
#include "wire_case.h"

/* "file dialect choices\nline" */
static void check_block(struct str block)
{
  struct str want = block, head = str_split(&want, '\n');
  char file[80], dialect[32], *line;
  struct wire_case c = {.dialect = dialect};
  struct recording r;
  head.len = head.len < 120 ? head.len : 120;
  line = strndup(head.p, head.len);
  assert_int_equal(sscanf(line, "%79s %31s %u", file, dialect, &c.choices), 3);
  free(line);
  r = recording_read(file);
  c.status = r.status;
  c.content_type = r.content_type;
  line = strndup(want.p, want.len);
  case_check(&c, buf_str(&r.body), line);
  free(line);
  recording_free(&r);
}

static void recordings(void **state)
{
  struct buf all = file_read("tests/data/streams/expected.txt");
  struct str rest = buf_str(&all);
  unsigned n = 0;
  (void)state;
  while (rest.len) {
    ptrdiff_t at = str_find(rest, STR("\n\n"));
    size_t len = at < 0 ? rest.len : (size_t)at;
    check_block(str_trim((struct str){rest.p, len}));
    rest.p += len;
    rest.len -= len;
    rest = str_trim(rest);
    n++;
  }
  assert_int_equal(n, 50);
  buf_free(&all);
}

/* ---- APIs that are no built-in dialect: a table each ---- */

#define ROWS(table) table, sizeof table / sizeof *table

static void check_table(const char *file, const struct wire_rule *rules,
                        size_t n, const char *want)
{
  struct recording r = recording_read(file);
  struct err e = {0};
  struct wire_dialect *d = wire_dialect_new(rules, n, rules, n, &e);
  struct wire_config c = {.dialect = d, .keep_text = true};
  struct wire *w = wire_new();
  struct buf out = {0};
  assert_non_null(d);
  wire_start(w, &c, write_payload, &out);
  wire_head(w, r.status, str_of(r.content_type));
  wire_feed(w, r.body.p, r.body.len);
  wire_end(w, true);
  buf_reset(&out);
  write_result(&out, wire_result(w));
  assert_string_equal(buf_cstr(&out), want);
  buf_free(&out);
  wire_free(w);
  wire_dialect_free(d);
  recording_free(&r);
}

static void llama_native_completion_as_a_table(void **state)
{
  static const struct wire_rule rules[] = {
      {"content", WIRE_CONTENT, NULL},
      {"stop", WIRE_END, NULL},
      {"stop_type", WIRE_FINISH, NULL},
      {"tokens_predicted", WIRE_COMPLETION_TOKENS, NULL},
      {"tokens_evaluated", WIRE_PROMPT_TOKENS, NULL},
      {"tokens_cached", WIRE_CACHED_TOKENS, NULL},
  };
  (void)state;
  check_table("llama-server-native-completion.txt", ROWS(rules),
              "-> ok limit 3/3/5/- text= distintRL \xd1\x87\xd0\xb5");
}

#define FIXTURE                                                                \
  "Hello! This is a fixture reply with several words in it, so that it is "    \
  "streamed in many chunks."

static void gemini_as_a_table(void **state)
{
  static const struct wire_rule rules[] = {
      {"candidates[].content.parts[].text", WIRE_CONTENT, NULL},
      {"candidates[].index", WIRE_CHOICE_INDEX, NULL},
      {"candidates[].finishReason", WIRE_FINISH, NULL},
      {"usageMetadata.promptTokenCount", WIRE_PROMPT_TOKENS, NULL},
      {"usageMetadata.candidatesTokenCount", WIRE_COMPLETION_TOKENS, NULL},
  };
  (void)state;
  check_table("aimock-gemini.txt", ROWS(rules),
              "-> ok STOP 0/0/-/- text=" FIXTURE);
}

static void cohere_as_a_table(void **state)
{
  static const struct wire_rule rules[] = {
      {"type", WIRE_TYPE, NULL},
      {"delta.message.content.text", WIRE_CONTENT, "content-delta"},
      {"delta.finish_reason", WIRE_FINISH, "message-end"},
      {"type", WIRE_END, "message-end"},
      {"delta.usage.tokens.input_tokens", WIRE_PROMPT_TOKENS, NULL},
      {"delta.usage.tokens.output_tokens", WIRE_COMPLETION_TOKENS, NULL},
  };
  (void)state;
  check_table("aimock-cohere.txt", ROWS(rules),
              "-> ok COMPLETE 0/0/-/- text=" FIXTURE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recordings),
      cmocka_unit_test(llama_native_completion_as_a_table),
      cmocka_unit_test(gemini_as_a_table),
      cmocka_unit_test(cohere_as_a_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
