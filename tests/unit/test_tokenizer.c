/* Whole tokenizers against what the Rust library said, and what a file may
 * not ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/rng.h"
#include "data/token_text.h"
#include "data/tokenizer.h"
#include "data/utf8.h"
#include "token_cases.h"

static struct tokenizer *open_file(const char *name)
{
  struct err e = {0};
  struct buf path = {0};
  struct tokenizer *t;
  buf_addf(&path, TOKEN_DATA "%s", name);
  t = tokenizer_open(buf_cstr(&path), &e);
  if (!t)
    fail_msg("%s", err_text(&e));
  buf_free(&path);
  err_free(&e);
  return t;
}

/* ---- the rows ---- */

static void same_ids(const struct token_list *got,
                     const struct token_list *want, struct str text)
{
  if (got->n == want->n &&
      (!got->n || memcmp(got->ids, want->ids, got->n * 4) == 0))
    return;
  fail_msg("%.*s: %zu ids instead of %zu", STR_ARG(text), got->n, want->n);
}

static void same_text(const struct buf *got, const struct buf *want)
{
  assert_int_equal(got->len, want->len);
  if (got->len)
    assert_memory_equal(got->p, want->p, got->len);
}

static void check_case(const struct tokenizer *t, struct tokenizer_scratch *s,
                       const struct token_case *c)
{
  struct token_list ids = {0};
  struct buf text = {0};
  size_t n;
  tokenizer_encode(t, s, buf_str(&c->text), 0, &ids);
  same_ids(&ids, &c->ids, buf_str(&c->text));
  tokenizer_count(t, s, buf_str(&c->text), TOKENIZER_ADD_SPECIAL, &n);
  assert_int_equal(n, c->full.n);
  ids.n = 0;
  tokenizer_encode(t, s, buf_str(&c->text), TOKENIZER_ADD_SPECIAL, &ids);
  same_ids(&ids, &c->full, buf_str(&c->text));
  tokenizer_decode(t, s, ids.ids, ids.n, 0, &text);
  same_text(&text, &c->back);
  buf_reset(&text);
  tokenizer_decode(t, s, ids.ids, ids.n, TOKENIZER_SKIP_SPECIAL, &text);
  same_text(&text, &c->skip);
  token_list_free(&ids);
  buf_free(&text);
}

static unsigned check_rows(const struct tokenizer *t, const char *file)
{
  struct buf all = file_read(TOKEN_DATA "cases.jsonl");
  struct str rest = buf_str(&all);
  struct tokenizer_scratch *s = tokenizer_scratch_new(t);
  struct token_case c = {0};
  unsigned rows = 0;
  while (rest.len) {
    case_read(&c, str_split(&rest, '\n'));
    if (!str_eq(buf_str(&c.file), str_of(file)))
      continue;
    check_case(t, s, &c);
    rows++;
  }
  case_free(&c);
  tokenizer_scratch_free(s);
  buf_free(&all);
  return rows;
}

static void check_file(const char *file)
{
  struct tokenizer *t = open_file(file);
  assert_true(check_rows(t, file) >= 90);
  tokenizer_free(t);
}

static void byte_level_bpe(void **state)
{
  (void)state;
  check_file("bytes.json");
}

static void bpe_with_byte_fallback(void **state)
{
  (void)state;
  check_file("sentence.json");
}

static void unigram_with_a_charsmap(void **state)
{
  (void)state;
  check_file("unigram.json");
}

static void wordpiece(void **state)
{
  (void)state;
  check_file("wordpiece.json");
}

/* ---- threads ---- */

static void *rows_in_a_thread(void *t)
{
  check_rows(t, "sentence.json");
  return NULL;
}

static void threads_share_a_tokenizer(void **state)
{
  struct tokenizer *t = open_file("sentence.json");
  pthread_t thread[3];
  (void)state;
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&thread[i], NULL, rows_in_a_thread, t), 0);
  for (int i = 0; i < 3; i++)
    pthread_join(thread[i], NULL);
  tokenizer_free(t);
}

/* ---- the vocabulary ---- */

static void tokens_and_their_texts(void **state)
{
  struct tokenizer *t = open_file("bytes.json");
  uint32_t n = tokenizer_vocab_size(t);
  (void)state;
  assert_true(str_eq(tokenizer_token(t, 65), STR("A")));
  assert_true(str_eq(tokenizer_token(t, ' '), STR(" ")));
  assert_true(str_eq(tokenizer_token(t, n - 5), STR("<|begin|>")));
  assert_true(tokenizer_is_special(t, n - 5));
  assert_false(tokenizer_is_special(t, n - 2));
  assert_false(tokenizer_is_special(t, 65));
  assert_null(tokenizer_token(t, n).p);
  assert_false(tokenizer_is_special(t, n));
  tokenizer_free(t);
}

static void ids_that_are_none_are_passed_over(void **state)
{
  struct tokenizer *t = open_file("bytes.json");
  struct tokenizer_scratch *s = tokenizer_scratch_new(t);
  const uint32_t ids[] = {UINT32_MAX, 72, 1u << 24, 105, 100000};
  struct buf text = {0};
  (void)state;
  assert_int_equal(tokenizer_decode(t, s, ids, 5, 0, &text), 0);
  assert_string_equal(buf_cstr(&text), "Hi");
  buf_free(&text);
  tokenizer_scratch_free(s);
  tokenizer_free(t);
}

/* Nothing in, nothing out, with every kind. */
static void nothing(void **state)
{
  static const char *const files[] = {"bytes.json", "sentence.json",
                                      "unigram.json", "wordpiece.json"};
  (void)state;
  for (int i = 0; i < 4; i++) {
    struct tokenizer *t = open_file(files[i]);
    struct tokenizer_scratch *s = tokenizer_scratch_new(t);
    struct buf text = {0};
    size_t n;
    assert_int_equal(tokenizer_count(t, s, (struct str){NULL, 0}, 0, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(tokenizer_decode(t, s, NULL, 0, 0, &text), 0);
    assert_int_equal(text.len, 0);
    buf_free(&text);
    tokenizer_scratch_free(s);
    tokenizer_free(t);
  }
}

static void broken_utf8_is_replaced(void **state)
{
  static const struct {
    struct str in, like;
  } rows[] = {
      {STR("a\xff"), STR("a\ufffd")},
      {STR("\xe2\x82z"), STR("\ufffdz")},
      {STR("\xf0\x9f\x98"), STR("\ufffd")},
      {STR("\xc0\x80"), STR("\ufffd\ufffd")},
      {STR("\xed\xa0\x80!"), STR("\ufffd\ufffd\ufffd!")},
      {STR("\xf4\x90\x80\x80"), STR("\ufffd\ufffd\ufffd\ufffd")},
  };
  struct tokenizer *t = open_file("bytes.json");
  struct tokenizer_scratch *s = tokenizer_scratch_new(t);
  struct token_list a = {0}, b = {0};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    a.n = b.n = 0;
    tokenizer_encode(t, s, rows[i].in, 0, &a);
    tokenizer_encode(t, s, rows[i].like, 0, &b);
    same_ids(&a, &b, rows[i].like);
  }
  token_list_free(&a);
  token_list_free(&b);
  tokenizer_scratch_free(s);
  tokenizer_free(t);
}

/* What a word becomes does not depend on what the cache held before. */
static void repeated_words_stay_the_same(void **state)
{
  struct tokenizer *t = open_file("bytes.json");
  struct tokenizer_scratch *s = tokenizer_scratch_new(t), *fresh;
  struct token_list a = {0}, b = {0};
  struct rng r;
  (void)state;
  rng_init(&r, 1, RNG_DATA, 0);
  for (int i = 0; i < 300; i++) {
    char word[40];
    size_t len = rng_below(&r, sizeof word);
    for (size_t k = 0; k < len; k++)
      word[k] = "aehst n\xc3\xa9"[rng_below(&r, 9)];
    a.n = b.n = 0;
    fresh = tokenizer_scratch_new(t);
    tokenizer_encode(t, s, (struct str){word, len}, 0, &a);
    tokenizer_encode(t, fresh, (struct str){word, len}, 0, &b);
    same_ids(&a, &b, (struct str){word, len});
    tokenizer_scratch_free(fresh);
  }
  token_list_free(&a);
  token_list_free(&b);
  tokenizer_scratch_free(s);
  tokenizer_free(t);
}

static void check_words(const char *file, size_t least)
{
  struct tokenizer *t = open_file(file);
  struct tokenizer_scratch *s = tokenizer_scratch_new(t);
  struct token_list words = {0}, row = {0};
  struct buf text = {0};
  struct rng r;
  size_t n;
  rng_init(&r, 2, RNG_DATA, 0);
  tokenizer_words(t, s, &words);
  assert_true(words.n >= least);
  for (int i = 0; i < 1000; i++)
    token_list_add(&row, words.ids[rng_below(&r, words.n)]);
  tokenizer_decode(t, s, row.ids, row.n, 0, &text);
  tokenizer_count(t, s, buf_str(&text), 0, &n);
  assert_int_equal(n, row.n);
  token_list_free(&words);
  token_list_free(&row);
  buf_free(&text);
  tokenizer_scratch_free(s);
  tokenizer_free(t);
}

static void words_make_texts_of_exactly_so_many_tokens(void **state)
{
  (void)state;
  check_words("bytes.json", 10);
  check_words("sentence.json", 10);
  check_words("unigram.json", 10);
}

/* Behind another text too, and where a template has trimmed it. */
static void check_token_text(const char *file, size_t n)
{
  struct tokenizer *t = open_file(file);
  struct tokenizer_scratch *s = tokenizer_scratch_new(t);
  struct token_text x;
  struct buf text = {0};
  struct rng r;
  rng_init(&r, 3, RNG_DATA, 0);
  token_text_init(&x, t, s);
  assert_true(x.n >= 10);
  assert_int_equal(token_text_draw(&x, &r, n, &text), 0);
  assert_true(token_text_is(t, s, buf_str(&text), 0, n));
  assert_false(token_text_is(t, s, buf_str(&text), 0, n + 1));
  assert_true(text.p[0] != ' ' && text.p[text.len - 1] != ' ');
  assert_int_equal(token_text_exact(&x, t, s, &r, n, &text), 0);
  assert_true(token_text_is(t, s, buf_str(&text), 0, 2 * n));
  buf_free(&text);
  token_text_deinit(&x);
  tokenizer_scratch_free(s);
  tokenizer_free(t);
}

static void token_texts_are_exact(void **state)
{
  static const char *const files[] = {"bytes.json", "sentence.json",
                                      "unigram.json", "wordpiece.json"};
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    check_token_text(files[i], 1);
    check_token_text(files[i], 257);
  }
}

/* Words that are more tokens than they promise. */
static void wrong_promises_are_mended(void **state)
{
  struct tokenizer *t = open_file("bytes.json");
  struct tokenizer_scratch *s = tokenizer_scratch_new(t);
  struct token_text x = {.n = 0};
  struct buf text = {0};
  struct rng r;
  (void)state;
  x.at = mem_zalloc(3, sizeof *x.at);
  buf_adds(&x.words, " the qzxqz");
  x.at[1] = 4;
  x.at[2] = 10;
  x.n = 2;
  rng_init(&r, 5, RNG_DATA, 0);
  assert_int_equal(token_text_exact(&x, t, s, &r, 64, &text), 0);
  assert_true(token_text_is(t, s, buf_str(&text), 0, 64));
  buf_free(&text);
  token_text_deinit(&x);
  tokenizer_scratch_free(s);
  tokenizer_free(t);
}

/* Only what begins the text gets the mark, whichever way it was cut. */
static void metaspace_first(void **state)
{
  static const struct {
    const char *text;
    unsigned n;
    uint32_t ids[5];
  } rows[] = {{"a", 1, {2}},           {"a a", 2, {2, 2}},
              {"a<x>a", 3, {2, 3, 1}}, {"<x>a", 2, {3, 1}},
              {"aNa", 3, {2, 4, 1}},   {"Na a", 3, {4, 1, 2}}};
  struct err e = {0};
  struct tokenizer *t = tokenizer_read(
      "x.json",
      STR("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":"
          "\"\u2581\",\"prepend_scheme\":\"first\"},\"added_tokens\":[{"
          "\"content\":\"<x>\"},{\"content\":\"N\",\"normalized\":true}],"
          "\"model\":{\"type\":\"BPE\",\"vocab\":{\"\u2581\":0,\"a\":1,"
          "\"\u2581a\":2},\"merges\":[\"\u2581 a\"]}}"),
      &e);
  struct tokenizer_scratch *s;
  struct token_list ids = {0};
  (void)state;
  if (!t)
    fail_msg("%s", err_text(&e));
  s = tokenizer_scratch_new(t);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ids.n = 0;
    tokenizer_encode(t, s, str_of(rows[i].text), 0, &ids);
    assert_int_equal(ids.n, rows[i].n);
    assert_memory_equal(ids.ids, rows[i].ids, ids.n * 4);
  }
  token_list_free(&ids);
  tokenizer_scratch_free(s);
  tokenizer_free(t);
  err_free(&e);
}

/* ---- what is refused ---- */

#define MODEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}"

static void refused(const char *text, const char *why)
{
  struct err e = {0};
  struct tokenizer *t = tokenizer_read("x.json", str_of(text), &e);
  if (t)
    fail_msg("accepted: %s", text);
  if (!strstr(err_text(&e), why) || !strstr(err_text(&e), "x.json"))
    fail_msg("%s\nsays: %s", text, err_text(&e));
  tokenizer_free(t);
  err_free(&e);
}

static void accepted(const char *text)
{
  struct err e = {0};
  struct tokenizer *t = tokenizer_read("x.json", str_of(text), &e);
  if (!t)
    fail_msg("%s\nsays: %s", text, err_text(&e));
  tokenizer_free(t);
  err_free(&e);
}

static void refusals_name_the_part(void **state)
{
  static const struct {
    const char *part, *why;
  } rows[] = {
      {"\"normalizer\":{\"type\":\"Fancy\"}", "normalizer Fancy"},
      {"\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":"
       "\"NFC\"},{\"type\":\"Odd\"}]}",
       "normalizer Odd"},
      {"\"normalizer\":{}", "normalizer without a type"},
      {"\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":"
       "\"AAAA\"}",
       "precompiled_charsmap"},
      {"\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}",
       "pre_tokenizer UnicodeScripts"},
      {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?<x>a)"
       "\"},\"behavior\":\"Isolated\",\"invert\":false}",
       "(?<x>a)"},
      {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},"
       "\"behavior\":\"Sideways\",\"invert\":false}",
       "behavior Sideways"},
      {"\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\","
       "\"prepend_scheme\":\"last\"}",
       "prepend_scheme last"},
      {"\"post_processor\":{\"type\":\"Strange\"}", "post_processor Strange"},
      {"\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{"
       "\"SpecialToken\":{\"id\":\"x\",\"type_id\":0}}],\"pair\":[],"
       "\"special_tokens\":{}}",
       "special_tokens has no x"},
      {"\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[],"
       "\"pair\":[],\"special_tokens\":{}}",
       "TemplateProcessing"},
      {"\"decoder\":{\"type\":\"CTC\"}", "decoder CTC"},
      {"\"added_tokens\":[{\"content\":\"b\",\"special\":true},{\"content\":"
       "\"b\",\"special\":false}]",
       "listed twice"},
      {"\"normalizer\":{\"type\":\"Strip\",\"strip_left\":true,"
       "\"strip_right\":true},\"added_tokens\":[{\"content\":\"  \","
       "\"normalized\":true}]",
       "nothing is left"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf text = {0};
    buf_addf(&text, "{%s," MODEL "}", rows[i].part);
    refused(buf_cstr(&text), rows[i].why);
    buf_free(&text);
  }
}

static void every_refusal_is_told_at_once(void **state)
{
  struct err e = {0};
  struct tokenizer *t = tokenizer_read(
      "x.json",
      STR("{\"normalizer\":{\"type\":\"A\"},\"decoder\":{\"type\":\"B\"}," MODEL
          "}"),
      &e);
  (void)state;
  assert_null(t);
  assert_int_equal(e.count, 2);
  err_free(&e);
}

static void models_that_cannot_be(void **state)
{
  (void)state;
  refused("", "the file is empty");
  refused("hello", "a tokenizer.json or a tiktoken file");
  refused("{", "not valid JSON");
  refused("{}", "no model");
  refused("{\"model\":{\"type\":\"BPE\"}}", "no model with a vocabulary");
  refused("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
          "type WordLevel");
  refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}",
          "merges is missing");
  refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b"
          "\"]}}",
          "\"b\" is not in the vocabulary");
  refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a a"
          "\"]}}",
          "\"aa\" is not in the vocabulary");
  refused("{\"model\":{\"type\":\"BPE\",\n\"vocab\":{\"a\":-1},\"merges\":[]}}",
          "x.json:2: model.vocab");
  refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":"
          "[]}}",
          "id 0 is given twice");
  refused(
      "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":99999999},\"merges\":[]"
      "}}",
      "out of reach");
  refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],"
          "\"dropout\":0.1}}",
          "dropout");
  refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],"
          "\"unk_token\":\"?\"}}",
          "unk_token ?");
  refused("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]}}", "unk_id");
  refused(
      "{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",0]]}}",
      "unk_id");
  refused("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}", "[UNK]");
  refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"\xff\":0},\"merges\":[]}}",
          "not UTF-8");
  refused("{\"added_tokens\":[{\"content\":\"\\u0000\"}]," MODEL "}", "u0000");
  accepted("{" MODEL "}");
  accepted("\xef\xbb\xbf { " MODEL " , \"more\": [1, {\"a\": \"}\\\"\"}] } ");
  /* Older files have no type. */
  accepted("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}");
}

/* ---- files from strangers ---- */

static void add_times(struct buf *out, const char *text, int n)
{
  for (int i = 0; i < n; i++)
    buf_adds(out, text);
}

/* {before}, so many times the text with commas between, {after}. */
static void refused_row(const char *before, const char *text, int n,
                        const char *after, const char *why)
{
  struct buf all = {0};
  buf_adds(&all, before);
  for (int i = 0; i < n; i++) {
    buf_adds(&all, i ? "," : "");
    buf_adds(&all, text);
  }
  buf_adds(&all, after);
  refused(buf_cstr(&all), why);
  buf_free(&all);
}

/* What would take a time or memory out of all proportion. */
static void files_that_ask_too_much(void **state)
{
  struct buf text = {0};
  (void)state;
  refused_row("{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[",
              "{\"type\":\"Digits\"}", 200000, "]}," MODEL "}",
              "pre_tokenizer: more than 100 steps");
  refused_row("{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[",
              "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}]}",
              60, "]}," MODEL "}", "normalizer: more than 100 steps");
  refused_row("{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[",
              "{\"type\":\"Fuse\"}", 200, "]}," MODEL "}",
              "decoder: more than 100 steps");
  refused_row(
      "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
      "{\"SpecialToken\":{\"id\":\"q\"}},{\"Sequence\":{\"id\":\"A\"}}],"
      "\"special_tokens\":{\"q\":{\"ids\":[",
      "0", 2000, "]}}}," MODEL "}", "more than 1024 tokens in a row");
  buf_adds(&text, "{\"added_tokens\":[{\"content\":\"");
  add_times(&text, "a", 5000);
  buf_adds(&text, "\"}]," MODEL "}");
  refused(buf_cstr(&text), "is longer than 4096 bytes");
  buf_reset(&text);
  buf_adds(&text,
           "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\n\"");
  add_times(&text, "a", 5000);
  buf_adds(&text, "\":1}}}");
  refused(buf_cstr(&text),
          "x.json:2: model.vocab: a token of more than 4096 bytes");
  buf_reset(&text);
  buf_adds(&text, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":"
                  "[],\"end_of_word_suffix\":\"");
  add_times(&text, "a", 5000);
  buf_adds(&text, "\"}}");
  refused(buf_cstr(&text), "at most 256 bytes");
  buf_free(&text);
}

static void what_is_behind_the_file_is_told(void **state)
{
  (void)state;
  refused("{" MODEL "}\n\n{", "x.json:3: not valid JSON");
  accepted("{" MODEL "}\n\n");
}

/* A message has the beginning of a pattern, not a megabyte of it. */
static void messages_are_short(void **state)
{
  struct buf text = {0};
  struct err e = {0};
  (void)state;
  buf_adds(&text, "{\"normalizer\":{\"type\":\"Replace\",\"content\":\"\","
                  "\"pattern\":{\"Regex\":\"(?<n>");
  add_times(&text, "\u4e2d", 5000);
  buf_adds(&text, ")\"}}," MODEL "}");
  assert_null(tokenizer_read("x.json", buf_str(&text), &e));
  assert_true(strlen(err_text(&e)) < 200);
  assert_int_equal(utf8_valid(str_of(err_text(&e))), strlen(err_text(&e)));
  err_free(&e);
  buf_free(&text);
}

/* A megabyte for a letter, and some kilobytes on the way back. */
static void texts_that_grow_out_of_bounds(void **state)
{
  struct buf text = {0}, back = {0};
  struct err e = {0};
  struct token_list ids = {0};
  uint32_t as[65] = {0};
  char many[65];
  struct tokenizer *t;
  struct tokenizer_scratch *s;
  (void)state;
  memset(many, 'a', sizeof many);
  for (int decoder = 0; decoder < 2; decoder++) {
    buf_reset(&text);
    buf_addf(&text,
             "{\"%s\":{\"type\":\"Replace\",\"pattern\":{\"String\":"
             "\"a\"},\"content\":\"",
             decoder ? "decoder" : "normalizer");
    add_times(&text, "bbbbbbbb", decoder ? 1 << 11 : 1 << 17);
    buf_adds(&text, "\"}," MODEL "}");
    t = tokenizer_read("x.json", buf_str(&text), &e);
    if (!t)
      fail_msg("%s", err_text(&e));
    s = tokenizer_scratch_new(t);
    assert_int_equal(
        tokenizer_encode(t, s, (struct str){many, sizeof many}, 0, &ids),
        decoder ? 0 : -1);
    assert_int_equal(tokenizer_decode(t, s, as, 65, 0, &back),
                     decoder ? -1 : 0);
    assert_int_equal(tokenizer_encode(t, s, STR("ab"), 0, &ids), 0);
    assert_int_equal(tokenizer_decode(t, s, as, 2, 0, &back), 0);
    tokenizer_scratch_free(s);
    tokenizer_free(t);
  }
  token_list_free(&ids);
  buf_free(&text);
  buf_free(&back);
  err_free(&e);
}

static void files_that_are_not_there(void **state)
{
  struct err e = {0};
  (void)state;
  assert_null(tokenizer_open("/nowhere/tokenizer.json", &e));
  assert_non_null(strstr(err_text(&e), "/nowhere/tokenizer.json"));
  assert_null(tokenizer_open("/dev/null", &e));
  assert_int_equal(e.count, 2);
  err_free(&e);
}

/* Every prefix of a file is refused, none crashes. */
static void a_file_cut_anywhere(void **state)
{
  struct buf all = file_read(TOKEN_DATA "bytes.json");
  (void)state;
  for (size_t n = 0; n + 2 < all.len; n += n < 300 ? 1 : 97) {
    struct err e = {0};
    char *copy = mem_strndup(all.p, n);
    assert_null(tokenizer_read("cut", (struct str){copy, n}, &e));
    assert_true(e.count > 0);
    mem_free(copy);
    err_free(&e);
  }
  buf_free(&all);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(byte_level_bpe),
      cmocka_unit_test(bpe_with_byte_fallback),
      cmocka_unit_test(unigram_with_a_charsmap),
      cmocka_unit_test(wordpiece),
      cmocka_unit_test(threads_share_a_tokenizer),
      cmocka_unit_test(tokens_and_their_texts),
      cmocka_unit_test(ids_that_are_none_are_passed_over),
      cmocka_unit_test(nothing),
      cmocka_unit_test(broken_utf8_is_replaced),
      cmocka_unit_test(repeated_words_stay_the_same),
      cmocka_unit_test(words_make_texts_of_exactly_so_many_tokens),
      cmocka_unit_test(token_texts_are_exact),
      cmocka_unit_test(wrong_promises_are_mended),
      cmocka_unit_test(metaspace_first),
      cmocka_unit_test(refusals_name_the_part),
      cmocka_unit_test(every_refusal_is_told_at_once),
      cmocka_unit_test(models_that_cannot_be),
      cmocka_unit_test(files_that_ask_too_much),
      cmocka_unit_test(what_is_behind_the_file_is_told),
      cmocka_unit_test(messages_are_short),
      cmocka_unit_test(texts_that_grow_out_of_bounds),
      cmocka_unit_test(files_that_are_not_there),
      cmocka_unit_test(a_file_cut_anywhere),
  };
  return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
