/* Forms as the JSON that says the same, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mock/form.h"

#define TYPE "multipart/form-data; boundary=B"

static void reads(const char *type, const char *body, const char *json)
{
  struct buf out = {0};
  assert_int_equal(mock_form_json(str_of(type), str_of(body), &out), 0);
  assert_string_equal(buf_cstr(&out), json);
  buf_free(&out);
}

static void refuses(const char *type, const char *body)
{
  struct buf out = {0};
  assert_int_equal(mock_form_json(str_of(type), str_of(body), &out), -1);
  buf_free(&out);
}

static void fields_have_their_types(void **state)
{
  (void)state;
  reads(
      TYPE,
      "--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm/x\r\n"
      "--B\r\ncontent-disposition:form-data;name=n\r\n\r\n7\r\n"
      "--B\r\nContent-Disposition: form-data; name=\"stream\"\r\n\r\nTrue\r\n"
      "--B\r\nContent-Disposition: form-data; name=\"o\"\r\n\r\nfalse\r\n"
      "--B\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n"
      "{\"a\":[1]}\r\n"
      "--B\r\nContent-Disposition: form-data; name=\"e\"\r\n\r\n\r\n--B--\r\n",
      "{\"model\":\"m/x\",\"n\":7,\"stream\":true,\"o\":false,"
      "\"x\":{\"a\":[1]},\"e\":\"\"}");
}

static void a_file_is_told_by_its_size(void **state)
{
  (void)state;
  reads("multipart/form-data; charset=utf-8; boundary=\"a b\"",
        "--a b\r\nContent-Disposition: form-data; name=\"file\"; "
        "filename=\"x.wav\"\r\nContent-Type: audio/wav\r\n\r\n"
        "RI\r\n\r\n--aFF\r\n--a b--",
        "{\"file\":{\"name\":\"x.wav\",\"type\":\"audio/wav\",\"bytes\":11}}");
}

static void what_is_no_form(void **state)
{
  static const char part[] =
      "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
  (void)state;
  refuses("application/json", "{}");
  refuses("multipart/form-data", part);
  refuses(TYPE, "");
  refuses(TYPE, "--B--\r\n");
  refuses(TYPE, part); /* no end */
  refuses("multipart/form-data; boundary=C", part);
  refuses(TYPE, "--B\r\nno head\r\n--B--");
  refuses(TYPE, "--B\r\nX: y\r\n\r\nno name\r\n--B--");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_have_their_types),
      cmocka_unit_test(a_file_is_told_by_its_size),
      cmocka_unit_test(what_is_no_form),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
