#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "data/flac.h"

/* 16000 a second, one channel of 16 bits, and 24000 samples. */
#define SOUND "\x03\xe8\x00\xf0\x00\x00\x5d\xc0"
#define BLOCK "\x10\0\x10\0\0\0\0\0\0\0"
#define FILE_OF(kind, sound)                                                   \
  "fLaC" kind "\0\0\x22" BLOCK sound "0123456789abcdef"

/* In as many bytes as the file has. */
static double seconds(const char *file, size_t n)
{
  char *exact = malloc(n ? n : 1);
  double s;
  memcpy(exact, file, n);
  s = flac_seconds((struct str){exact, n});
  free(exact);
  return s;
}

#define SECONDS(text) seconds(text, sizeof(text) - 1)

static void lengths_by_the_header(void **state)
{
  (void)state;
  assert_float_equal(SECONDS(FILE_OF("\0", SOUND)), 1.5, 1e-9);
  assert_float_equal(SECONDS(FILE_OF("\x80", SOUND)), 1.5, 1e-9);
  assert_float_equal(SECONDS(FILE_OF("\0", "\x0a\xc4\x42\xff\xff\xff\xff\xff")),
                     68719476735.0 / 44100, 1e-3);
}

static void what_tells_nothing(void **state)
{
  static const char whole[] = FILE_OF("\0", SOUND);
  (void)state;
  for (size_t n = 0; n + 1 < sizeof whole; n++)
    assert_true(seconds(whole, n) == 0);
  assert_true(SECONDS(FILE_OF("\x04", SOUND)) == 0);
  assert_true(SECONDS(FILE_OF("\0", "\0\0\0\xf0\0\0\x5d\xc0")) == 0);
  assert_true(SECONDS(FILE_OF("\0", "\x03\xe8\x00\xf0\0\0\0\0")) == 0);
  assert_true(SECONDS("ID3" BLOCK BLOCK BLOCK BLOCK BLOCK) == 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lengths_by_the_header),
      cmocka_unit_test(what_tells_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
