/* Index blocks: what is found in them, and that damaged ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/token_builder.h"
#include "data/token_cache.h"

static const struct token_source source = {{1, 2}, 3};

/* "a" 0, "b" 2, "ab" 3, "\u2581" 4 raw, and a merge. */
static void *make(size_t *size)
{
  struct token_builder b;
  uint32_t culprit;
  void *block;
  token_builder_init(&b, TOKEN_BPE_BYTES);
  token_builder_add(&b, STR("b"), 2, 0);
  token_builder_add(&b, STR("a"), 0, 0);
  token_builder_add(&b, STR("ab"), 3, 0);
  token_builder_add(&b, STR("\u2581"), 4, 0);
  assert_int_equal(token_builder_seal(&b, &culprit), 0);
  assert_int_equal(token_builder_find(&b, STR("ab")), 3);
  token_builder_merge(&b, 0, 2, 9, 3);
  token_builder_merge(&b, 0, 2, 7, 3); /* the later one counts */
  block = token_builder_finish(&b, false, STR("{}"), &source, size);
  token_builder_free(&b);
  return block;
}

static void tokens_and_merges_are_found(void **state)
{
  struct token_index x;
  size_t size;
  void *block = make(&size);
  (void)state;
  assert_int_equal(token_index_open(&x, block, size, &source), 0);
  assert_int_equal(x.n, 5);
  assert_int_equal(x.count, 4);
  assert_true(str_eq(x.config, STR("{}")));
  assert_int_equal(token_index_find(&x, STR("ab"), false), 3);
  assert_int_equal(token_index_find(&x, STR("ba"), false), TOKEN_NONE);
  assert_int_equal(token_index_find(&x, STR("\u2581"), false), TOKEN_NONE);
  assert_int_equal(token_index_find(&x, STR("\u2581"), true), 4);
  assert_int_equal(x.byte['b'], 2);
  assert_int_equal(x.byte['c'], TOKEN_NONE);
  assert_false(token_index_has(&x, 1));
  assert_false(token_index_has(&x, 5));
  assert_int_equal(token_index_merge(&x, 0, 2)->rank, 7);
  assert_null(token_index_merge(&x, 2, 0));
  mem_free(block);
}

static void a_block_of_something_else(void **state)
{
  struct token_source other = source;
  struct token_index x;
  size_t size;
  void *block = make(&size);
  (void)state;
  other.hash[1]++;
  assert_int_equal(token_index_open(&x, block, size, &other), -1);
  mem_free(block);
}

static void every_flipped_bit_is_seen(void **state)
{
  struct token_index x;
  size_t size;
  unsigned char *block = make(&size);
  (void)state;
  for (size_t i = 0; i < size; i++) {
    block[i] ^= (unsigned char)(1 << i % 8);
    assert_int_equal(token_index_open(&x, block, size, &source), -1);
    block[i] ^= (unsigned char)(1 << i % 8);
  }
  assert_int_equal(token_index_open(&x, block, size, &source), 0);
  mem_free(block);
}

static void every_cut_is_seen(void **state)
{
  struct token_index x;
  size_t size;
  unsigned char *block = make(&size);
  (void)state;
  for (size_t n = 0; n < size; n++) {
    /* In memory of its own, so that a read beyond it is caught. */
    unsigned char *part = mem_alloc(n);
    memcpy(part, block, n);
    assert_int_equal(token_index_open(&x, part, n, &source), -1);
    mem_free(part);
  }
  mem_free(block);
}

/* The same part counts, with wrong content and a right checksum. */
static void refused(enum token_section s, struct str content)
{
  static const uint32_t none[16] = {
      TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE,
      TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE,
      TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE};
  static const uint32_t offsets[] = {0, 1, 2};
  static const uint8_t flags[] = {1, 1};
  static uint32_t bytes[256];
  struct str parts[TOKEN_SECTIONS] = {
      [TOKEN_OFFSETS] = {(const char *)offsets, sizeof offsets},
      [TOKEN_FLAGS] = {(const char *)flags, sizeof flags},
      [TOKEN_SLOTS] = {(const char *)none, sizeof none},
      [TOKEN_MERGES] = {(const char *)none, sizeof none},
      [TOKEN_BYTES] = {(const char *)bytes, sizeof bytes},
      [TOKEN_KEYS] = STR("ab"),
  };
  struct token_index x;
  size_t size;
  void *block = token_index_build(TOKEN_BPE, 2, parts, &source, &size);
  assert_int_equal(token_index_open(&x, block, size, &source), 0);
  mem_free(block);
  parts[s] = content;
  block = token_index_build(TOKEN_BPE, 2, parts, &source, &size);
  assert_int_equal(token_index_open(&x, block, size, &source), -1);
  mem_free(block);
}

static struct str words(const uint32_t *w, size_t n)
{
  return (struct str){(const char *)w, n * 4};
}

static void forged_blocks(void **state)
{
  uint32_t full_slots[4] = {5, 0, 6, 1};      /* no empty one */
  uint32_t bad_id[4] = {5, 2, 6, TOKEN_NONE}; /* 2 is no token */
  uint32_t bad_merge[8] = {0, 1, 0, 2, TOKEN_NONE, 0, 0, 0};
  uint32_t full_merges[4] = {0, 1, 0, 1};
  uint32_t back[] = {0, 2, 1}, beyond[] = {0, 1, 3}, late[] = {1, 1, 2};
  uint32_t bytes[256] = {7}, sorted[] = {0, 9}, three[6] = {TOKEN_NONE};
  (void)state;
  refused(TOKEN_SLOTS, words(full_slots, 4));
  refused(TOKEN_SLOTS, words(bad_id, 4));
  refused(TOKEN_SLOTS, words(three, 6)); /* no power of two */
  refused(TOKEN_SLOTS, words(three, 0));
  refused(TOKEN_MERGES, words(bad_merge, 8));
  refused(TOKEN_MERGES, words(full_merges, 4));
  refused(TOKEN_OFFSETS, words(back, 3));
  refused(TOKEN_OFFSETS, words(beyond, 3));
  refused(TOKEN_OFFSETS, words(late, 3));
  refused(TOKEN_OFFSETS, words(beyond, 2));
  refused(TOKEN_FLAGS, STR("\1"));
  refused(TOKEN_BYTES, words(bytes, 256));
  refused(TOKEN_BYTES, words(bytes, 255));
  refused(TOKEN_SORTED, words(sorted, 2));
  refused(TOKEN_KEYS, STR("a\xff"));
}

static void ids_out_of_reach_and_given_twice(void **state)
{
  struct token_builder b;
  uint32_t culprit = 0;
  (void)state;
  token_builder_init(&b, TOKEN_BPE);
  token_builder_add(&b, STR("a"), TOKEN_ID_LIMIT, 0);
  assert_int_equal(token_builder_seal(&b, &culprit), -1);
  assert_int_equal(culprit, TOKEN_ID_LIMIT);
  token_builder_free(&b);
  token_builder_init(&b, TOKEN_BPE);
  token_builder_add(&b, STR("a"), 5, 0);
  token_builder_add(&b, STR("b"), 5, 0);
  assert_int_equal(token_builder_seal(&b, &culprit), -1);
  assert_int_equal(culprit, 5);
  token_builder_free(&b);
}

/* ---- the cache ---- */

static char folder[] = "/tmp/stoke-cache-XXXXXX";

static int setup(void **state)
{
  (void)state;
  return mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
  struct buf command = {0};
  int status;
  (void)state;
  buf_addf(&command, "rm -r %s", folder);
  status = system(buf_cstr(&command));
  buf_free(&command);
  return status;
}

static void a_block_comes_back(void **state)
{
  struct token_index x;
  size_t size;
  void *block = make(&size), *kept;
  (void)state;
  assert_null(token_cache_load(&x, &source));
  token_cache_save(block, size, &source);
  kept = token_cache_load(&x, &source);
  assert_non_null(kept);
  assert_int_equal(x.size, size);
  assert_memory_equal(x.block, block, size);
  mem_free(kept);
  mem_free(block);
}

static void a_damaged_file_is_none(void **state)
{
  struct token_index x;
  struct buf path = {0};
  size_t size;
  void *block = make(&size), *kept;
  FILE *f;
  (void)state;
  token_cache_save(block, size, &source);
  buf_addf(&path, "%s/stoke/tokenizer-%016x.index", folder, 1);
  f = fopen(buf_cstr(&path), "r+b");
  assert_non_null(f);
  fseek(f, 200, SEEK_SET);
  fputc('!', f);
  fclose(f);
  assert_null(token_cache_load(&x, &source));
  assert_int_equal(truncate(buf_cstr(&path), 0), 0);
  assert_null(token_cache_load(&x, &source));
  token_cache_save(block, size, &source);
  kept = token_cache_load(&x, &source);
  assert_non_null(kept);
  mem_free(kept);
  mem_free(block);
  buf_free(&path);
}

static void a_folder_that_cannot_be_is_no_trouble(void **state)
{
  struct token_index x;
  size_t size;
  void *block = make(&size);
  (void)state;
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  token_cache_save(block, size, &source);
  assert_null(token_cache_load(&x, &source));
  setenv("XDG_CACHE_HOME", folder, 1);
  mem_free(block);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tokens_and_merges_are_found),
      cmocka_unit_test(a_block_of_something_else),
      cmocka_unit_test(every_flipped_bit_is_seen),
      cmocka_unit_test(every_cut_is_seen),
      cmocka_unit_test(forged_blocks),
      cmocka_unit_test(ids_out_of_reach_and_given_twice),
      cmocka_unit_test(a_block_comes_back),
      cmocka_unit_test(a_damaged_file_is_none),
      cmocka_unit_test(a_folder_that_cannot_be_is_no_trouble),
  };
  return cmocka_run_group_tests_name("token_index", tests, setup, teardown);
}
