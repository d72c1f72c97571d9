#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/base64.h"

static void there_and_back(void **state)
{
  /* RFC 4648, section 10; then the last two digits, and a byte 0. */
  static const struct {
    struct str bytes;
    const char *text;
  } rows[] = {
      {STR(""), ""},
      {STR("f"), "Zg=="},
      {STR("fo"), "Zm8="},
      {STR("foo"), "Zm9v"},
      {STR("foob"), "Zm9vYg=="},
      {STR("fooba"), "Zm9vYmE="},
      {STR("foobar"), "Zm9vYmFy"},
      {STR("\xfb\xff\xbf"), "+/+/"},
      {STR("\0\xff"), "AP8="},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf text = {0}, back = {0};
    base64_encode(&text, rows[i].bytes);
    assert_string_equal(buf_cstr(&text), rows[i].text);
    assert_int_equal(base64_decode(&back, buf_str(&text)), 0);
    assert_true(str_eq(buf_str(&back), rows[i].bytes));
    buf_free(&text);
    buf_free(&back);
  }
}

static void what_is_none(void **state)
{
  static const char *const rows[] = {"a", "a=", "ab*d", "ab d", "a===="};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf back = {0};
    assert_int_equal(base64_decode(&back, str_of(rows[i])), -1);
    buf_free(&back);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(what_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
