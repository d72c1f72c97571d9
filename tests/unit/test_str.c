#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

static const struct str none = {NULL, 0};

static bool is(struct str s, const char *want)
{
  return str_eq(s, str_of(want));
}

static void equality(void **state)
{
  (void)state;
  assert_true(str_eq(none, STR("")));
  assert_true(str_eq(STR("a\0b"), (struct str){"a\0b", 3}));
  assert_false(str_eq(STR("a"), STR("b")));
  assert_false(str_eq(STR("a"), STR("ab")));
  assert_int_equal(str_of(NULL).len, 0);
}

static void case_is_ascii(void **state)
{
  (void)state;
  assert_true(str_ieq(STR("Content-TYPE"), STR("content-type")));
  assert_true(str_ieq(none, STR("")));
  assert_false(str_ieq(STR("a"), STR("ab")));
  /* Neighbours of the letters, and bytes beyond ASCII. */
  assert_false(str_ieq(STR("@[`{"), STR("`{@[")));
  assert_false(str_ieq(STR("\xc4"), STR("\xe4")));
}

static void starts_and_ends(void **state)
{
  (void)state;
  assert_true(str_starts(STR("abc"), STR("ab")));
  assert_true(str_starts(STR("abc"), none));
  assert_true(str_starts(none, none));
  assert_false(str_starts(STR("ab"), STR("abc")));
  assert_false(str_starts(STR("Abc"), STR("ab")));
  assert_true(str_istarts(STR("Abc"), STR("aB")));
  assert_false(str_istarts(STR("A"), STR("aB")));
  assert_true(str_ends(STR("abc"), STR("bc")));
  assert_true(str_ends(STR("abc"), none));
  assert_false(str_ends(STR("bc"), STR("abc")));
}

static void trim(void **state)
{
  (void)state;
  assert_true(is(str_trim(STR(" \t\r\n a b \n")), "a b"));
  assert_true(is(str_trim(STR(" \n")), ""));
  assert_true(is(str_trim(none), ""));
  assert_true(is(str_trim(STR("\va\v")), "\va\v"));
}

static void split(void **state)
{
  struct str s = STR("a,,b");
  (void)state;
  assert_true(is(str_split(&s, ','), "a"));
  assert_true(is(str_split(&s, ','), ""));
  assert_non_null(s.p);
  assert_true(is(str_split(&s, ','), "b"));
  assert_null(s.p);
  assert_true(is(str_split(&s, ','), ""));
  /* A separator at the end leaves an empty part, not none. */
  s = STR("a,");
  str_split(&s, ',');
  assert_non_null(s.p);
  assert_int_equal(s.len, 0);
}

static void find(void **state)
{
  (void)state;
  assert_int_equal(str_find(STR("abcabc"), STR("ca")), 2);
  assert_int_equal(str_find(STR("abc"), STR("abc")), 0);
  assert_int_equal(str_find(STR("abc"), STR("abcd")), -1);
  assert_int_equal(str_find(STR("abc"), STR("x")), -1);
  assert_int_equal(str_find(STR("abc"), none), 0);
  assert_int_equal(str_find(none, none), 0);
  assert_int_equal(str_find(none, STR("x")), -1);
}

static size_t distance(const char *a, const char *b)
{
  return str_distance(str_of(a), str_of(b), 5);
}

static void distances(void **state)
{
  (void)state;
  assert_int_equal(distance("", ""), 0);
  assert_int_equal(distance("", "abc"), 3);
  assert_int_equal(distance("abc", "abc"), 0);
  assert_int_equal(distance("abc", "abd"), 1);
  assert_int_equal(distance("abc", "acb"), 1);
  assert_int_equal(distance("abc", "bc"), 1);
  assert_int_equal(distance("abc", "xabc"), 1);
  assert_int_equal(distance("reqest_rate", "request_rate"), 1);
  assert_int_equal(distance("kitten", "sitting"), 3);
  assert_int_equal(distance("ca", "abc"), 3); /* string alignment's, not 2 */
  assert_int_equal(distance("abcdefgh", "12345678"), 6);
  assert_int_equal(distance("a", "abcdefghi"), 6);
  assert_int_equal(distance("sitting", "kitten"), 3);
}

static void without_the_front(void **state)
{
  (void)state;
  assert_true(is(str_from(STR("abc"), 0), "abc"));
  assert_true(is(str_from(STR("abc"), 2), "c"));
  assert_true(is(str_from(STR("abc"), 3), ""));
  assert_true(is(str_without_bom(STR("\xef\xbb\xbf"
                                     "a")),
                 "a"));
  assert_true(
      is(str_without_bom(STR("\xef\xbb\xbf\xef\xbb\xbf")), "\xef\xbb\xbf"));
  assert_true(is(str_without_bom(STR("\xef\xbb")), "\xef\xbb"));
  assert_true(is(str_without_bom(STR("a")), "a"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equality),        cmocka_unit_test(case_is_ascii),
      cmocka_unit_test(starts_and_ends), cmocka_unit_test(trim),
      cmocka_unit_test(split),           cmocka_unit_test(find),
      cmocka_unit_test(distances),       cmocka_unit_test(without_the_front),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
