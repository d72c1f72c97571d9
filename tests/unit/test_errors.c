#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "stats/errors.h"

static void numbers_and_ids_do_not_split_a_group(void **state)
{
  struct errors e = {0};
  (void)state;
  errors_add(&e, OUTCOME_CONNECT, 0, 9, "port 8001 refused after 3.5 s");
  errors_add(&e, OUTCOME_CONNECT, 0, 4, "port 65000 refused after 12.25 s");
  errors_add(&e, OUTCOME_HTTP_5XX, 500, 1, "request chatcmpl-9f3ab2 failed");
  errors_add(&e, OUTCOME_HTTP_5XX, 500, 2, "request chatcmpl-77aa00 failed");
  assert_int_equal(e.len, 2);
  assert_int_equal(e.groups[0].count, 2);
  assert_int_equal(e.groups[1].count, 2);
  /* The sample is the earliest record's, as it came. */
  assert_string_equal(e.groups[0].message, "port 65000 refused after 12.25 s");
  errors_deinit(&e);
}

static void outcome_status_and_words_split(void **state)
{
  struct errors e = {0};
  (void)state;
  errors_add(&e, OUTCOME_HTTP_5XX, 500, 1, "a");
  errors_add(&e, OUTCOME_HTTP_5XX, 503, 2, "a");
  errors_add(&e, OUTCOME_API_ERROR, 500, 3, "a");
  errors_add(&e, OUTCOME_HTTP_5XX, 500, 4, "b");
  errors_add(&e, OUTCOME_HTTP_5XX, 500, 5, NULL);
  assert_int_equal(e.len, 5);
  errors_deinit(&e);
}

static void a_script_error_keeps_its_line(void **state)
{
  struct errors e = {0};
  (void)state;
  errors_add(&e, OUTCOME_SCRIPT, 0, 1, "chat.lua:12: oops");
  errors_add(&e, OUTCOME_SCRIPT, 0, 2, "chat.lua:13: oops");
  assert_int_equal(e.len, 2);
  errors_deinit(&e);
}

static void messages_are_one_short_line(void **state)
{
  struct errors e = {0};
  char longer[400];
  (void)state;
  errors_add(&e, OUTCOME_HTTP_5XX, 500, 1, "  a\n\tb\r\n\x01 c ");
  assert_string_equal(e.groups[0].message, "a b c");
  memset(longer, 'x', sizeof longer);
  longer[399] = '\0';
  memcpy(longer + 299, "\xe4\xb8\xad", 3); /* a character across the limit */
  errors_add(&e, OUTCOME_HTTP_5XX, 500, 2, longer);
  assert_int_equal(strlen(e.groups[1].message), 299);
  errors_deinit(&e);
}

static void groups_are_bounded_and_nothing_is_lost(void **state)
{
  struct errors e = {0};
  uint64_t n = 0;
  (void)state;
  for (uint64_t i = 0; i < 1000; i++) {
    char text[32] = "xxxxxxxxxxxxxxxxxxxxxxxx";
    text[i % 20] = (char)('a' + i / 20 % 20);
    errors_add(&e, OUTCOME_HTTP_5XX, 500, i, text);
  }
  assert_true(e.len <= ERRORS_MAX + 1);
  for (size_t i = 0; i < e.len; i++)
    n += e.groups[i].count;
  assert_int_equal(n, 1000);
  errors_sort(&e);
  assert_string_equal(e.groups[0].key, ""); /* various */
  errors_deinit(&e);
}

static void merging_and_sorting(void **state)
{
  struct errors a = {0}, b = {0};
  (void)state;
  errors_add(&a, OUTCOME_RESET, 0, 5, "reset");
  for (uint64_t i = 0; i < 3; i++)
    errors_add(&b, OUTCOME_HTTP_5XX, 503, 7 + i, "full");
  errors_add(&b, OUTCOME_RESET, 0, 2, "reset");
  errors_merge(&a, &b);
  errors_sort(&a);
  assert_int_equal(a.len, 2);
  assert_int_equal(a.groups[0].outcome, OUTCOME_HTTP_5XX);
  assert_int_equal(a.groups[1].count, 2);
  assert_int_equal(a.groups[1].sample_id, 2);
  errors_deinit(&a);
  errors_deinit(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_and_ids_do_not_split_a_group),
      cmocka_unit_test(outcome_status_and_words_split),
      cmocka_unit_test(a_script_error_keeps_its_line),
      cmocka_unit_test(messages_are_one_short_line),
      cmocka_unit_test(groups_are_bounded_and_nothing_is_lost),
      cmocka_unit_test(merging_and_sorting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
