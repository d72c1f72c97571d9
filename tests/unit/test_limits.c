/* B111: open files are counted before the run, not found missing in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/resource.h>
#include <unistd.h>

#include "cli/limits.h"

static void b111_enough_or_words(void **state)
{
  struct err e = {0};
  (void)state;
  assert_int_equal(limits_check_files(900, 1, 1024, "-c", &e), 0);
  assert_int_equal(limits_check_files(0, 256, UINT64_MAX, "-c", &e), 0);
  assert_int_equal(limits_check_files(200, 0, 64, "--max-concurrency", &e), -1);
  assert_string_equal(
      err_text(&e),
      "--max-concurrency: needs 248 open files, and this process may have 64: "
      "raise the limit (ulimit -n 248, as root or in limits.conf) or stay at "
      "or below 16\n");
  err_free(&e);
}

static void b111_soft_limit_is_raised(void **state)
{
  struct rlimit l;
  (void)state;
  getrlimit(RLIMIT_NOFILE, &l);
  l.rlim_cur = l.rlim_max < 100 ? l.rlim_max : 100;
  setrlimit(RLIMIT_NOFILE, &l);
  assert_true(limits_raise_files() >= l.rlim_cur);
  getrlimit(RLIMIT_NOFILE, &l);
  assert_int_equal(l.rlim_cur, l.rlim_max);
}

static void open_files_are_counted(void **state)
{
  uint64_t before = limits_open_files();
  int fd = dup(0);
  (void)state;
  assert_true(before >= 3);
  assert_int_equal(limits_open_files(), before + 1);
  close(fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(b111_enough_or_words),
      cmocka_unit_test(b111_soft_limit_is_raised),
      cmocka_unit_test(open_files_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
