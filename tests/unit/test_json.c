#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"

#define FFFD "\xef\xbf\xbd"

/* ---- writing ---- */

static void write_all(struct json_writer *w)
{
  json_begin_object(w);
  json_key(w, "a\"");
  json_begin_array(w);
  json_integer(w, INT64_MIN);
  json_boolean(w, true);
  json_boolean(w, false);
  json_null(w);
  json_begin_object(w);
  json_end_object(w);
  json_begin_array(w);
  json_end_array(w);
  json_raw(w, STR("{\"x\":1}"));
  json_end_array(w);
  json_key(w, "b");
  json_string(w, STR("x\ny"));
  json_end_object(w);
}

static void documents(void **state)
{
  struct buf out = {0};
  struct json_writer w = {.out = &out};
  (void)state;
  write_all(&w);
  assert_string_equal(buf_cstr(&out),
                      "{\"a\\\"\":[-9223372036854775808,true,false,null,{},[],"
                      "{\"x\":1}],\"b\":\"x\\ny\"}");
  buf_reset(&out);
  w = (struct json_writer){.out = &out, .spaced = true};
  write_all(&w);
  assert_string_equal(buf_cstr(&out),
                      "{\"a\\\"\": [-9223372036854775808, true, false, null, "
                      "{}, [], {\"x\":1}], \"b\": \"x\\ny\"}");
  buf_free(&out);
}

static void check_number(double x, const char *want)
{
  struct buf out = {0};
  struct json_writer w = {.out = &out};
  json_number(&w, x);
  assert_string_equal(buf_cstr(&out), want);
  buf_free(&out);
}

static void numbers(void **state)
{
  (void)state;
  check_number(0, "0.0");
  check_number(-0.0, "-0.0");
  check_number(1, "1.0");
  check_number(0.1, "0.1");
  check_number(1.0 / 3, "0.3333333333333333");
  check_number(1e22, "1e+22");
  check_number(123456789012345680.0, "1.2345678901234568e+17");
  check_number(5e-324, "4.94065645841247e-324");
  /* B130: strict JSON has neither. */
  check_number(NAN, "null");
  check_number(INFINITY, "null");
  check_number(-INFINITY, "null");
}

static void check_escape(struct str in, const char *want, size_t replaced)
{
  struct buf out = {0};
  assert_int_equal(json_escape(&out, in), replaced);
  assert_string_equal(buf_cstr(&out), want);
  buf_free(&out);
}

static void escapes(void **state)
{
  (void)state;
  check_escape(STR(""), "", 0);
  check_escape((struct str){NULL, 0}, "", 0);
  check_escape(STR("a\"\\/b"), "a\\\"\\\\/b", 0);
  check_escape(STR("\b\t\n\v\f\r"), "\\b\\t\\n\\u000b\\f\\r", 0);
  check_escape(STR("\x00\x01\x1f\x7f"), "\\u0000\\u0001\\u001f\x7f", 0);
  check_escape(STR("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"),
               "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", 0);
}

/* X11, and every way of being wrong that RFC 3629 names. */
static void invalid_utf8_is_replaced(void **state)
{
  (void)state;
  check_escape(STR("a\xff"
                   "b"),
               "a" FFFD "b", 1);
  check_escape(STR("\x80"), FFFD, 1);
  check_escape(STR("\xc3"), FFFD, 1);
  check_escape(STR("\xe4\xb8"), FFFD FFFD, 2);
  check_escape(STR("\xc0\xaf"), FFFD FFFD, 2);
  check_escape(STR("\xe0\x80\x80"), FFFD FFFD FFFD, 3);
  check_escape(STR("\xed\xa0\x80"), FFFD FFFD FFFD, 3);
  check_escape(STR("\xf4\x90\x80\x80"), FFFD FFFD FFFD FFFD, 4);
  check_escape(STR("\xf0\x8f\x80\x80"), FFFD FFFD FFFD FFFD, 4);
  check_escape(STR("\xf5\x80\x80\x80"), FFFD FFFD FFFD FFFD, 4);
  check_escape(STR("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"),
               "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", 0);
}

static void check_unescape(const char *in, int rc, struct str want)
{
  struct buf out = {0};
  assert_int_equal(json_unescape(&out, str_of(in)), rc);
  assert_true(str_eq(buf_str(&out), want));
  buf_free(&out);
}

static void unescapes(void **state)
{
  (void)state;
  check_unescape("", 0, STR(""));
  check_unescape("a\\\"\\\\\\/\\b\\f\\n\\r\\tb", 0, STR("a\"\\/\b\f\n\r\tb"));
  check_unescape("\\u0041\\u00e9\\u4e2d\\uFFFF", 0,
                 STR("A\xc3\xa9\xe4\xb8\xad\xef\xbf\xbf"));
  check_unescape("\\u0000", 0, STR("\0"));
  check_unescape("\xff", 0, STR("\xff"));
  check_unescape("a\\", -1, STR("a"));
  check_unescape("a\\x", -1, STR("a"));
  check_unescape("a\\u12", -1, STR("a"));
  check_unescape("a\\u12g4", -1, STR("a"));
}

static void b101_surrogates(void **state)
{
  (void)state;
  check_unescape("\\ud83d\\ude00", 0, STR("\xf0\x9f\x98\x80"));
  check_unescape("\\uDBFF\\uDFFF", 0, STR("\xf4\x8f\xbf\xbf"));
  check_unescape("a\\udc97b", 0, STR("a" FFFD "b"));
  check_unescape("\\ud83d", 0, STR(FFFD));
  check_unescape("\\ud83d\\ud83d\\ude00", 0, STR(FFFD "\xf0\x9f\x98\x80"));
  check_unescape("\\u0041\\ude00", 0, STR("A" FFFD));
  check_unescape("\\ud83dx", 0, STR(FFFD "x"));
  check_unescape("\\ud83d\\n", 0, STR(FFFD "\n"));
  check_unescape("\\ud83d\\u12", -1, STR(FFFD));
}

/* ---- reading ---- */

static void values(void **state)
{
  json_value *v = json_parse(
      STR(" {\"s\":\"x\",\"n\":-1.5,\"t\":true,\"z\":null,\"a\":[1,2]} "),
      NULL);
  json_value *a = json_get(v, "a");
  (void)state;
  assert_true(json_is_object(v));
  assert_string_equal(json_text(json_get(v, "s")), "x");
  assert_true(json_double(json_get(v, "n"), 7) == -1.5);
  assert_true(json_true(json_get(v, "t")));
  assert_true(json_is_boolean(json_get(v, "t")));
  assert_true(json_is_null(json_get(v, "z")));
  assert_true(json_is_array(a));
  assert_true(json_double(json_next(json_first(a)), 7) == 2);
  assert_null(json_next(json_next(json_first(a))));
  assert_string_equal(json_name(json_first(v)), "s");
  json_free(v);
}

static void readers_accept_anything(void **state)
{
  json_value *v = json_parse(STR("3"), NULL);
  (void)state;
  for (int i = 0; i < 2; i++) {
    const json_value *x = i ? v : NULL;
    assert_null(json_get(x, "a"));
    assert_null(json_text(x));
    assert_null(json_name(x));
    assert_null(json_next(x));
    assert_null(json_first(x));
    assert_false(json_true(x));
    assert_false(json_is_object(x));
  }
  assert_true(json_double(NULL, 7) == 7);
  json_free(v);
  json_free(NULL);
}

static size_t trouble(struct str text)
{
  size_t at = 12345;
  json_value *v = json_parse(text, &at);
  assert_null(v);
  return at;
}

static void places_of_trouble(void **state)
{
  (void)state;
  assert_int_equal(trouble((struct str){NULL, 0}), 0);
  assert_int_equal(trouble(STR("")), 0);
  assert_int_equal(trouble(STR("{\"a\":x}")), 5);
  assert_int_equal(trouble(STR("{} {}")), 2);
  assert_int_equal(trouble(STR("\xef\xbb\xbf{} x")), 5);
  assert_int_equal(trouble(STR("[1,\0]")), 3);
}

static void check_reparsed(struct str in, const char *want)
{
  json_value *v = json_parse(in, NULL);
  struct buf out = {0};
  assert_non_null(v);
  json_print(&out, v);
  assert_string_equal(buf_cstr(&out), want);
  buf_free(&out);
  json_free(v);
}

static void b102_a_bom_is_dropped(void **state)
{
  (void)state;
  check_reparsed(STR("\xef\xbb\xbf{\"a\":1}"), "{\"a\":1}");
}

static void a_nul_is_never_cut_off_silently(void **state)
{
  (void)state;
  check_reparsed(STR("[\"a\\u0000b\"]"), "[\"a" FFFD "b\"]");
  check_reparsed(STR("[\"a\\\\u0000b\\\\\"]"), "[\"a\\\\u0000b\\\\\"]");
  check_reparsed(STR("[\"\\\\\\u0000\"]"), "[\"\\\\" FFFD "\"]");
  assert_int_equal(trouble(STR("[\"\\u0000\",x]")), 10);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(documents),
      cmocka_unit_test(numbers),
      cmocka_unit_test(escapes),
      cmocka_unit_test(invalid_utf8_is_replaced),
      cmocka_unit_test(unescapes),
      cmocka_unit_test(b101_surrogates),
      cmocka_unit_test(values),
      cmocka_unit_test(readers_accept_anything),
      cmocka_unit_test(places_of_trouble),
      cmocka_unit_test(b102_a_bom_is_dropped),
      cmocka_unit_test(a_nul_is_never_cut_off_silently),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
