/* What bodies ask for, words of prompts, and the prefix cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "mock/prefix.h"

static struct mock_ask read_chat(const char *body)
{
  struct mock_ask a;
  struct buf why = {0};
  int status = 0;
  assert_int_equal(
      mock_ask_read(&a, MOCK_API_CHAT, str_of(body), &status, &why), 0);
  buf_free(&why);
  return a;
}

static void reads_a_chat(void **state)
{
  struct mock_ask a = read_chat(
      "{\"model\":\"m/x\",\"stream\":true,\"n\":2,\"max_tokens\":9,"
      "\"stream_options\":{\"include_usage\":true},"
      "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"find\"}}],"
      "\"messages\":[{\"role\":\"system\",\"content\":\" be  kind\\n\"},"
      "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a b\"},"
      "{\"type\":\"image_url\"}]},{\"role\":\"assistant\",\"content\":null}]}");
  (void)state;
  assert_string_equal(a.model, "m/x");
  assert_string_equal(a.function, "find");
  assert_true(a.stream && a.usage && !a.usage_each && !a.ignore_eos);
  assert_int_equal(a.choices, 2);
  assert_int_equal(a.max_tokens, 9);
  assert_int_equal(a.prompt_tokens, 4);
  mock_ask_deinit(&a);
}

static void the_newer_name_of_max_tokens_wins(void **state)
{
  struct mock_ask a = read_chat("{\"messages\":[],\"max_tokens\":1,"
                                "\"max_completion_tokens\":5}");
  (void)state;
  assert_int_equal(a.max_tokens, 5);
  mock_ask_deinit(&a);
  a = read_chat("{\"messages\":[],\"max_tokens\":null}");
  assert_int_equal(a.max_tokens, -1);
  mock_ask_deinit(&a);
}

static void prompts_of_completions(void **state)
{
  static const struct {
    const char *body;
    uint64_t words, choices;
  } rows[] = {
      {"{\"prompt\":\"a b c\"}", 3, 1},
      {"{\"prompt\":[\"a b\",\"c\"]}", 3, 2},
      {"{\"prompt\":[1,2,3,4]}", 4, 1},
      {"{\"prompt\":[[1,2],[3]],\"n\":2}", 3, 4},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct mock_ask a;
    struct buf why = {0};
    int status;
    assert_int_equal(mock_ask_read(&a, MOCK_API_COMPLETIONS,
                                   str_of(rows[i].body), &status, &why),
                     0);
    assert_int_equal(a.prompt_tokens, rows[i].words);
    assert_int_equal(a.choices, rows[i].choices);
    mock_ask_deinit(&a);
  }
}

static void refuses_with_words(void **state)
{
  static const struct {
    enum mock_api api;
    const char *body, *words;
  } rows[] = {
      {MOCK_API_CHAT, "{\"messages\":", "json_invalid"},
      {MOCK_API_CHAT, "[]", "json_invalid"},
      {MOCK_API_CHAT, "", "json_invalid"},
      {MOCK_API_CHAT, "{\"messages\":\"text\"}", "list_type"},
      {MOCK_API_CHAT, "{}", "list_type"},
      {MOCK_API_COMPLETIONS, "{}", "prompt"},
      {MOCK_API_CHAT, "{\"messages\":[],\"max_tokens\":0}", "max_tokens"},
      {MOCK_API_CHAT, "{\"messages\":[],\"max_tokens\":1.5}", "max_tokens"},
      {MOCK_API_CHAT, "{\"messages\":[],\"n\":0}", "n must be"},
      {MOCK_API_CHAT, "{\"messages\":[],\"n\":\"2\"}", "n must be"},
      {MOCK_API_MESSAGES, "{\"messages\":1}", "body.messages"},
      {MOCK_API_RESPONSES, "{}", "prompt"},
      {MOCK_API_RERANK, "{\"query\":\"a\"}", "body.documents"},
      {MOCK_API_EMBEDDINGS, "{\"input\":\"a\",\"dimensions\":0}", "dimensions"},
      {MOCK_API_OLLAMA, "{\"messages\":[],\"options\":{\"num_predict\":0}}",
       "max_tokens"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct mock_ask a;
    struct buf why = {0};
    int status = 0;
    assert_int_equal(
        mock_ask_read(&a, rows[i].api, str_of(rows[i].body), &status, &why),
        -1);
    assert_int_equal(status, 400);
    assert_non_null(strstr(buf_cstr(&why), rows[i].words));
    mock_ask_deinit(&a);
    buf_free(&why);
  }
}

static void hashes_tell_bytes_apart(void **state)
{
  char a[] = "012345678901234567890123456789012345678";
  uint64_t h = mock_hash(0, (struct str){a, 39});
  (void)state;
  assert_true(h != mock_hash(0, (struct str){a, 38}));
  assert_true(h != mock_hash(1, (struct str){a, 39}));
  for (size_t i = 0; i < 39; i++) {
    a[i] ^= 1;
    assert_true(h != mock_hash(0, (struct str){a, 39}));
    a[i] ^= 1;
  }
  assert_true(h == mock_hash(0, (struct str){a, 39}));
}

/* ---- the prefix cache ---- */

static uint64_t cached_of(struct mock_prefix *p, const char *first, int words,
                          const char *last)
{
  struct buf body = {0};
  struct mock_ask a;
  uint64_t cached;
  buf_addf(&body, "{\"messages\":[{\"content\":\"%s", first);
  for (int i = 1; i < words; i++)
    buf_addf(&body, " w%d", i);
  buf_addf(&body, "%s\"}]}", last);
  a = read_chat(buf_cstr(&body));
  cached = mock_prefix_lookup(p, &a);
  mock_ask_deinit(&a);
  buf_free(&body);
  return cached;
}

static void prefixes_are_cached_by_block(void **state)
{
  struct mock_prefix p;
  (void)state;
  mock_prefix_init(&p, 1000);
  assert_int_equal(cached_of(&p, "a", 40, ""), 0);
  assert_int_equal(cached_of(&p, "a", 40, ""), 32);
  assert_int_equal(cached_of(&p, "a", 40, " and more of it"), 32);
  assert_int_equal(cached_of(&p, "a", 17, ""), 16);
  assert_int_equal(cached_of(&p, "a", 15, ""), 0);
  /* Another first word: nothing behind it counts. */
  assert_int_equal(cached_of(&p, "b", 40, ""), 0);
  mock_prefix_deinit(&p);
  mock_prefix_init(&p, 0);
  assert_int_equal(cached_of(&p, "a", 40, ""), 0);
  assert_int_equal(cached_of(&p, "a", 40, ""), 0);
  mock_prefix_deinit(&p);
}

/* In a table of two places a block may be gone while the one behind it is
 * still there: without the first, the second counts for nothing. */
static void a_block_that_was_pushed_out(void **state)
{
  struct mock_prefix p;
  unsigned gone = 0;
  (void)state;
  mock_prefix_init(&p, 2);
  for (int i = 0; i < 64; i++) {
    uint64_t places[2];
    char other[16];
    snprintf(other, sizeof other, "other%d", i);
    cached_of(&p, "a", 32, "");
    cached_of(&p, other, 16, "");
    memcpy(places, p.blocks, sizeof places);
    if (cached_of(&p, "a", 16, "") == 0) {
      gone++;
      memcpy(p.blocks, places, sizeof places);
      assert_int_equal(cached_of(&p, "a", 32, ""), 0);
    }
  }
  assert_true(gone > 10);
  mock_prefix_deinit(&p);
}

static void other_apis(void **state)
{
  static const struct {
    enum mock_api api;
    const char *body;
    uint64_t words;
    int64_t inputs, max_tokens;
    bool stream;
  } rows[] = {
      {MOCK_API_RESPONSES,
       "{\"instructions\":\"a\",\"input\":\"b c\",\"max_output_tokens\":5,"
       "\"stream\":true}",
       3, 1, 5, true},
      {MOCK_API_RESPONSES,
       "{\"input\":[{\"role\":\"user\",\"content\":[{\"text\":\"a b\"}]},"
       "{\"output\":\"c\"}]}",
       3, 1, -1, false},
      {MOCK_API_MESSAGES,
       "{\"system\":\"a\",\"messages\":[{\"content\":\"b\"}],"
       "\"max_tokens\":7}",
       2, 1, 7, false},
      {MOCK_API_OLLAMA,
       "{\"messages\":[{\"content\":\"b\"}],\"options\":{\"num_predict\":"
       "3}}",
       1, 1, 3, true},
      {MOCK_API_GENERATE, "{\"prompt\":\"a b\",\"stream\":false}", 2, 1, -1,
       false},
      {MOCK_API_EMBEDDINGS, "{\"input\":[\"a b\",\"c\"]}", 3, 2, -1, false},
      {MOCK_API_EMBEDDINGS, "{\"input\":[1,2,3]}", 3, 1, -1, false},
      {MOCK_API_RERANK, "{\"query\":\"q\",\"documents\":[\"a b\",\"c\"]}", 4, 2,
       -1, false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct mock_ask a;
    struct buf why = {0};
    int status;
    assert_int_equal(
        mock_ask_read(&a, rows[i].api, str_of(rows[i].body), &status, &why), 0);
    assert_int_equal(a.prompt_tokens, rows[i].words);
    assert_int_equal(a.inputs, rows[i].inputs);
    assert_int_equal(a.max_tokens, rows[i].max_tokens);
    assert_int_equal(a.stream, rows[i].stream);
    mock_ask_deinit(&a);
    buf_free(&why);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_apis),
      cmocka_unit_test(reads_a_chat),
      cmocka_unit_test(the_newer_name_of_max_tokens_wins),
      cmocka_unit_test(prompts_of_completions),
      cmocka_unit_test(refuses_with_words),
      cmocka_unit_test(hashes_tell_bytes_apart),
      cmocka_unit_test(prefixes_are_cached_by_block),
      cmocka_unit_test(a_block_that_was_pushed_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
