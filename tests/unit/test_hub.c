/* Models in the hub's cache, and tokenizers that several threads share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "data/hub.h"
#include "data/tokenizer_store.h"
#include "files.h"

static char folder[] = "/tmp/stoke-hub-XXXXXX";

static void assert_found(const char *name, const char *end)
{
  char *path = hub_find(name, "tokenizer.json");
  if (end) {
    assert_non_null(path);
    assert_true(str_ends(str_of(path), str_of(end)));
  } else {
    assert_null(path);
  }
  mem_free(path);
}

static void names_are_no_paths(void **state)
{
  static const char *const good[] = {"Qwen/Qwen3-8B", "a/b", "a.b/c_d-1.5"};
  static const char *const bad[] = {"gpt2",  "/a/b",  "./a/b", "../b",
                                    "a/b/c", "a/",    "/b",    "a/..",
                                    "a b/c", "a/b\n", "",      "a/b:c"};
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    assert_true(hub_is_name(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(hub_is_name(bad[i]));
}

static void the_snapshot_of_main_goes_first(void **state)
{
  (void)state;
  setenv("HF_HUB_CACHE", folder, 1);
  file_make(folder, "models--a--b/snapshots/1111/tokenizer.json", "old");
  file_make(folder, "models--a--b/snapshots/2222/tokenizer.json", "new");
  file_make(folder, "models--a--b/refs/main", "2222\n");
  assert_found("a/b", "/2222/tokenizer.json");
  file_make(folder, "models--a--b/refs/main", "1111");
  assert_found("a/b", "/1111/tokenizer.json");
  file_make(folder, "models--a--b/refs/main", "3333");
  assert_found("a/b", "/tokenizer.json");
  file_make(folder, "models--a--c/snapshots/4444/tokenizer.json", "");
  assert_found("a/c", "/4444/tokenizer.json");
  assert_found("a/d", NULL);
  assert_found("../a/c", NULL);
}

static void where_the_cache_is(void **state)
{
  static const char *const rows[][3] = {
      {"HF_HUB_CACHE", "/x", "/x"},
      {"HF_HOME", "/x", "/x/hub"},
      {"XDG_CACHE_HOME", "/x", "/x/huggingface/hub"},
      {"HOME", "/x", "/x/.cache/huggingface/hub"},
  };
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    struct buf b = {0};
    setenv(rows[i][0], rows[i][1], 1);
    for (size_t k = 0; k < i; k++)
      unsetenv(rows[k][0]);
    hub_folder(&b);
    assert_string_equal(buf_cstr(&b), rows[i][2]);
    buf_free(&b);
  }
}

static void a_tokenizer_is_open_once(void **state)
{
  struct tokenizer_store *s = tokenizer_store_new();
  struct err e = {0};
  const char *path = "tests/data/tokenizer/bytes.json";
  struct stored_tokenizer *one = tokenizer_store_open(s, path, &e);
  struct tokenizer_scratch *scratch;
  (void)state;
  assert_non_null(one);
  assert_ptr_equal(one, tokenizer_store_open(s, path, &e));
  scratch = tokenizer_scratch_new(stored_tokenizer(one));
  assert_true(stored_tokenizer_text(one, scratch)->n > 10);
  assert_ptr_equal(stored_tokenizer_text(one, scratch),
                   stored_tokenizer_text(one, scratch));
  assert_null(tokenizer_store_open(s, "/nowhere/x.json", &e));
  assert_int_equal(e.count, 1);
  tokenizer_scratch_free(scratch);
  tokenizer_store_free(s);
  err_free(&e);
}

static int open_folder(void **state)
{
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_no_paths),
      cmocka_unit_test(the_snapshot_of_main_goes_first),
      cmocka_unit_test(where_the_cache_is),
      cmocka_unit_test(a_tokenizer_is_open_once),
  };
  return cmocka_run_group_tests(tests, open_folder, remove_folder);
}
