#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/buf.h"
#include "data/wav.h"

/* 8000 Hz, one channel of 16 bits: 16000 bytes a second. */
#define FORMAT "fmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0"
#define HEAD   "RIFF\0\0\0\0WAVE"

/* `head` and n bytes of sound, in as many bytes as a file has. */
static double seconds(struct str head, size_t n)
{
  struct buf file = {0};
  double s;
  char *exact;
  buf_addstr(&file, head);
  for (size_t i = 0; i < n; i++)
    buf_addc(&file, 'x');
  exact = malloc(file.len ? file.len : 1);
  memcpy(exact, buf_cstr(&file), file.len);
  s = wav_seconds((struct str){exact, file.len});
  free(exact);
  buf_free(&file);
  return s;
}

#define SECONDS(text, n) seconds((struct str){text, sizeof(text) - 1}, n)

static void lengths_by_the_header(void **state)
{
  (void)state;
  assert_float_equal(SECONDS(HEAD FORMAT "data\x80\x3e\0\0", 16000), 1, 1e-9);
  assert_float_equal(SECONDS(HEAD FORMAT "data\x40\x1f\0\0", 16000), 0.5, 1e-9);
  /* Others before it, one of an odd size, with its filler. */
  assert_float_equal(SECONDS(HEAD "LIST\x03\0\0\0abc\0" FORMAT "data\x80\x3e\0"
                                  "\0",
                             16000),
                     1, 1e-9);
}

static void sizes_that_were_never_filled_in(void **state)
{
  (void)state;
  assert_float_equal(SECONDS(HEAD FORMAT "data\0\0\0\0", 8000), 0.5, 1e-9);
  assert_float_equal(SECONDS(HEAD FORMAT "data\xff\xff\xff\xff", 8000), 0.5,
                     1e-9);
}

static void what_tells_nothing(void **state)
{
  static const char whole[] = HEAD FORMAT "data\x80\x3e\0\0";
  (void)state;
  for (size_t n = 0; n + 1 < sizeof whole; n++)
    assert_float_equal(seconds((struct str){whole, n}, 0), 0, 0);
  assert_float_equal(SECONDS("fLaC", 100), 0, 0);
  assert_float_equal(SECONDS(HEAD "data\x80\x3e\0\0" FORMAT, 100), 0, 0);
  assert_float_equal(SECONDS(HEAD "fmt \x04\0\0\0abcddata\x04\0\0\0", 4), 0, 0);
  assert_float_equal(SECONDS(HEAD "LIST\xff\xff\xff\xff", 4), 0, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lengths_by_the_header),
      cmocka_unit_test(sizes_that_were_never_filled_in),
      cmocka_unit_test(what_tells_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
