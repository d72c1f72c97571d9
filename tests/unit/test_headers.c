/* Header lines and keys, with everything that copying does to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "cli/headers.h"

static const char *const lines[][3] = {
    /* typed, sent, said */
    {"X-A: 1", "X-A: 1\n", ""},
    {"X-A:1", "X-A: 1\n", ""},
    {"X-A=1", "X-A: 1\n", ""},
    {"X-A : 1 \n", "X-A: 1\n", ""},
    {"X-A:", "X-A: \n", ""},
    {"Authorization: Bearer a=b", "Authorization: Bearer a=b\n", ""},
    {"Authorization=Bearer a:b", "Authorization: Bearer a:b\n", ""},
    {"X-A: a\tb", "X-A: a\tb\n", ""},
    {"sk-secret", "", "--header: must be \"Name: value\" or Name=value\n"},
    {": v", "",
     "--header: what stands before the \":\" is no name of a header\n"},
    {"X A: v", "",
     "--header: what stands before the \":\" is no name of a header\n"},
    {"X-A: k\r\nX: y", "",
     "--header X-A: its value holds a control character (a line break?)\n"},
    {"content-length: 5", "",
     "--header content-length: is set by the request itself\n"},
};

static void header_lines(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct buf out = {0};
    struct err e = {0};
    assert_int_equal(headers_add(&out, lines[i][0], &e),
                     lines[i][2][0] ? -1 : 0);
    assert_string_equal(buf_cstr(&out), lines[i][1]);
    assert_string_equal(err_text(&e), lines[i][2]);
    buf_free(&out);
    err_free(&e);
  }
}

static void have(void **state)
{
  struct buf out = {0};
  struct err e = {0};
  (void)state;
  headers_add(&out, "X-A: 1", &e);
  headers_add(&out, "authorization=2", &e);
  assert_true(headers_have(&out, STR("Authorization")));
  assert_true(headers_have(&out, STR("x-a")));
  assert_false(headers_have(&out, STR("X")));
  assert_false(headers_have(&out, STR("Author")));
  buf_free(&out);
}

static const char *const keys[][4] = {
    /* text, key ("" none), notices, said */
    {"sk-1", "sk-1", "", ""},
    {"k1\n", "k1", "K: blanks or line breaks around the key dropped\n", ""},
    {" k1\r\n", "k1", "K: blanks or line breaks around the key dropped\n", ""},
    {"", "", "", ""},
    {" \n", "", "K: blanks or line breaks around the key dropped\n", ""},
    {"Bearer k1", "k1", "K: \"Bearer\" in front of the key dropped\n", ""},
    {"\"k1\"", "k1", "K: quotes around the key dropped\n", ""},
    {"a b", "a b", "K: there is a blank inside the key\n", ""},
    {"\xef\xbb\xbfk1\r\n", "k1",
     "K: a byte order mark before the key dropped\n"
     "K: blanks or line breaks around the key dropped\n",
     ""},
    {"k1\xc2\xa0", "k1\xc2\xa0",
     "K: there are characters inside the key that no key has (a blank of "
     "another kind?)\n",
     ""},
    {"k\t1", "", "",
     "K: a control character inside the key, after 1 characters (a line "
     "break?)\n"},
    {"k\r\nX: y", "", "",
     "K: a control character inside the key, after 1 characters (a line "
     "break?)\n"},
};

static void b112_keys(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    struct buf notices = {0};
    struct err e = {0};
    char *key = headers_key(keys[i][0], "K", &notices, &e);
    assert_string_equal(key ? key : "", keys[i][1]);
    assert_string_equal(buf_cstr(&notices), keys[i][2]);
    assert_string_equal(err_text(&e), keys[i][3]);
    mem_free(key);
    buf_free(&notices);
    err_free(&e);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(header_lines),
      cmocka_unit_test(have),
      cmocka_unit_test(b112_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
