/* Merging, against the definition; and tiktoken's ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/rng.h"
#include "data/bpe.h"
#include "data/token_builder.h"
#include "data/tokenizer.h"

static const struct token_source source = {{1, 2}, 3};

/* A vocabulary of a, b, c and random joins of what is there. */
static void *random_vocabulary(struct rng *r, size_t *size)
{
  struct token_builder b;
  uint32_t n = 3, culprit;
  char text[40][64] = {"a", "b", "c"};
  uint32_t pair[40][2];
  void *block;
  token_builder_init(&b, TOKEN_BPE_BYTES);
  while (n < 40) {
    uint32_t x = (uint32_t)rng_below(r, n), y = (uint32_t)rng_below(r, n), i;
    if (strlen(text[x]) + strlen(text[y]) > 20)
      continue;
    snprintf(text[n], sizeof text[n], "%.30s%.30s", text[x], text[y]);
    for (i = 0; i < n && strcmp(text[i], text[n]) != 0; i++)
      continue;
    if (i < n)
      continue;
    pair[n][0] = x, pair[n][1] = y;
    n++;
  }
  for (uint32_t i = 0; i < n; i++)
    token_builder_add(&b, str_of(text[i]), i, 0);
  assert_int_equal(token_builder_seal(&b, &culprit), 0);
  for (uint32_t i = 3; i < n; i++)
    token_builder_merge(&b, pair[i][0], pair[i][1], i, i);
  block = token_builder_finish(&b, false, STR("{}"), &source, size);
  token_builder_free(&b);
  return block;
}

/* The definition, word for word. */
static void by_definition(const struct token_index *x, struct token_list *ids)
{
  for (;;) {
    const struct token_merge *best = NULL;
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids->n; i++) {
      const struct token_merge *m =
          token_index_merge(x, ids->ids[i], ids->ids[i + 1]);
      if (m && (!best || m->rank < best->rank))
        best = m, at = i;
    }
    if (!best)
      return;
    ids->ids[at] = best->id;
    ids->n--;
    memmove(ids->ids + at + 1, ids->ids + at + 2, (ids->n - at - 1) * 4);
  }
}

static void check_words(struct rng *r, const struct token_index *x)
{
  struct err e = {0};
  struct bpe b;
  struct bpe_scratch s = {0};
  struct token_list got = {0}, want = {0};
  assert_int_equal(bpe_init(&b, x, NULL, "x", &e), 0);
  for (int i = 0; i < 200; i++) {
    char word[160];
    size_t len = rng_below(r, sizeof word);
    got.n = want.n = 0;
    for (size_t k = 0; k < len; k++) {
      word[k] = (char)('a' + (char)rng_below(r, 3));
      token_list_add(&want, (uint32_t)(word[k] - 'a'));
    }
    bpe_encode(&b, &s, (struct str){word, len}, true, &got);
    by_definition(x, &want);
    assert_int_equal(got.n, want.n);
    if (got.n)
      assert_memory_equal(got.ids, want.ids, got.n * 4);
  }
  token_list_free(&got);
  token_list_free(&want);
  bpe_scratch_free(&s);
  bpe_deinit(&b);
  err_free(&e);
}

static void short_and_long_words_merge_as_defined(void **state)
{
  struct rng r;
  (void)state;
  rng_init(&r, 3, RNG_DATA, 0);
  for (int i = 0; i < 50; i++) {
    struct token_index x;
    size_t size;
    void *block = random_vocabulary(&r, &size);
    assert_int_equal(token_index_open(&x, block, size, &source), 0);
    check_words(&r, &x);
    mem_free(block);
  }
}

/* A megabyte without a place to cut it is done in a moment. */
static void a_very_long_word(void **state)
{
  struct rng r;
  struct token_index x;
  struct err e = {0};
  struct bpe b;
  struct bpe_scratch s = {0};
  struct token_list ids = {0};
  size_t size, n = 1 << 20;
  char *word = mem_alloc(n);
  void *block;
  (void)state;
  rng_init(&r, 4, RNG_DATA, 0);
  block = random_vocabulary(&r, &size);
  memset(word, 'a', n);
  assert_int_equal(token_index_open(&x, block, size, &source), 0);
  assert_int_equal(bpe_init(&b, &x, NULL, "x", &e), 0);
  bpe_encode(&b, &s, (struct str){word, n}, true, &ids);
  assert_true(ids.n > 0 && ids.n <= n);
  token_list_free(&ids);
  bpe_scratch_free(&s);
  bpe_deinit(&b);
  mem_free(block);
  mem_free(word);
}

/* ---- tiktoken ---- */

static void add_line(struct buf *out, const unsigned char *p, size_t n,
                     unsigned rank)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                               "uvwxyz0123456789+/";
  uint32_t bits = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0);
  buf_addf(out, "%c%c%c= %u\n", digits[bits >> 18], digits[bits >> 12 & 63],
           n > 1 ? digits[bits >> 6 & 63] : '=', rank);
}

/* As many ranks as GPT-2 has: all bytes, then pairs of them. */
static struct buf ranks(void)
{
  struct buf text = {0};
  for (unsigned i = 0; i < 50256; i++) {
    unsigned char p[2] = {(unsigned char)i, 0};
    if (i >= 256)
      p[0] = (unsigned char)((i - 256) >> 8), p[1] = (unsigned char)(i - 256);
    add_line(&text, p, i < 256 ? 1 : 2, i);
  }
  return text;
}

static void ranks_are_merges(void **state)
{
  struct buf text = ranks();
  struct err e = {0};
  struct tokenizer *t = tokenizer_read("r50k", buf_str(&text), &e);
  struct tokenizer_scratch *s;
  struct token_list ids = {0};
  struct buf back = {0};
  (void)state;
  if (!t)
    fail_msg("%s", err_text(&e));
  s = tokenizer_scratch_new(t);
  /* "ab" has the lower rank, then "de", " c" and "cd" are out of reach. */
  tokenizer_encode(t, s, STR("abc de<|endoftext|>"), 0, &ids);
  assert_int_equal(ids.n, 5);
  assert_int_equal(ids.ids[0], 256 + 'a' * 256 + 'b');
  assert_int_equal(ids.ids[1], 'c');
  assert_int_equal(ids.ids[2], 256 + ' ' * 256 + 'd');
  assert_int_equal(ids.ids[3], 'e');
  assert_int_equal(ids.ids[4], 50256);
  assert_true(tokenizer_is_special(t, 50256));
  tokenizer_decode(t, s, ids.ids, ids.n, TOKENIZER_SKIP_SPECIAL, &back);
  assert_string_equal(buf_cstr(&back), "abc de");
  token_list_free(&ids);
  buf_free(&back);
  buf_free(&text);
  tokenizer_scratch_free(s);
  tokenizer_free(t);
  err_free(&e);
}

static void ranks_of_no_known_encoding(void **state)
{
  struct err e = {0};
  (void)state;
  assert_null(tokenizer_read("x", STR("YQ== 0\nYg== 1\n"), &e));
  assert_non_null(strstr(err_text(&e), "2 ranks are none"));
  assert_null(tokenizer_read("x", STR("YQ== 0\nYg==\n"), &e));
  assert_non_null(strstr(err_text(&e), "x:2: expected base64"));
  assert_null(tokenizer_read("x", STR("Y!== 0\n"), &e));
  assert_null(tokenizer_read("x", STR("YQ== 99999999999999999999\n"), &e));
  assert_int_equal(e.count, 4);
  err_free(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_and_long_words_merge_as_defined),
      cmocka_unit_test(a_very_long_word),
      cmocka_unit_test(ranks_are_merges),
      cmocka_unit_test(ranks_of_no_known_encoding),
  };
  return cmocka_run_group_tests_name("bpe", tests, NULL, NULL);
}
