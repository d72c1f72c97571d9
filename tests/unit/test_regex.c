/* What Oniguruma's patterns become, and which are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/regex.h"

/* All matches of `pattern` in `text`, as "a|b|c". */
static void check(const char *pattern, const char *text, const char *want)
{
  struct regex r;
  struct regex_scratch s = {0};
  struct regex_walk w = {0};
  struct err e = {0};
  struct buf got = {0};
  size_t start, end, n = 0;
  if (regex_init(&r, str_of(pattern), "here", &e) < 0)
    fail_msg("%s", err_text(&e));
  while (regex_next(&r, &s, str_of(text), &w, &start, &end) == 1)
    buf_addf(&got, "%s%.*s", n++ ? "|" : "", (int)(end - start), text + start);
  assert_string_equal(buf_cstr(&got), want);
  regex_deinit(&r);
  regex_scratch_free(&s);
  buf_free(&got);
  err_free(&e);
}

static void check_refused(const char *pattern)
{
  struct regex r;
  struct err e = {0};
  if (regex_init(&r, str_of(pattern), "here", &e) == 0)
    fail_msg("accepted: %s", pattern);
  assert_non_null(strstr(err_text(&e), "here: "));
  assert_non_null(strstr(err_text(&e), pattern));
  regex_deinit(&r);
  err_free(&e);
}

static void shorthands_are_onigurumas(void **state)
{
  (void)state;
  check("\\s+",
        "a \u00a0\u3000b\u180ec\xc2\x85"
        "d",
        " \u00a0\u3000|\xc2\x85");
  check("\\h+", "xyz 1fG", "1f");
  check("[\\h]+", "xyz 1fG", "1f");
  check("\\w+", "a_b-\u0301c \u00bd", "a_b|\u0301c|\u00bd");
  check("[\\w]+", "a_b-\u00bd", "a_b");
  check("\\d+", "12\u0663x\u00b2", "12\u0663");
  check("\\v", "a\vb\n", "\v");
  check("\\S+", "ab cd", "ab|cd");
  check("\\D+|\\W", "a1", "a");
}

static void properties_are_of_unicode_16(void **state)
{
  (void)state;
  check("\\p{L}+", "a\U0002ebf0b1", "a\U0002ebf0b");
  check("[^\\p{L}]+", "a\U0002ebf0 1", " 1");
  check("\\P{L}+", "a\U0002ebf0 1", " 1");
  check("\\p{^L}+", "a 1", " 1");
  check("\\p{Nd}+", "1\U00016d70\u0661", "1\U00016d70\u0661");
  check("\\p{Mn}", "\U0001171e", "");
  check("\\p{Mc}", "\U0001171e", "\U0001171e");
  check("\\p{Cn}", "\U0002ebf0", "");
  check("\\p{Han}+", "\u4e2d\U0002ebf0a", "\u4e2d\U0002ebf0");
}

static void classes(void **state)
{
  (void)state;
  check("[a-c&&[^b]]+", "abca", "a|ca");
  check("[^a-c&&[b-z]]+", "abcde", "a|de");
  check("[[a][b-c]d]+", "abcde", "abcd");
  check("[]a]+", "a]b", "a]");
  check("[^]a]+", "a]b", "b");
  check("[a\\-z]+", "a-zb", "a-z");
  check("[a-]+", "a-b", "a-");
  check("[-a]+", "a-b", "a-");
  check("[\\x41\\u00e9\\x{1F600}]+", "A\u00e9\U0001F600b", "A\u00e9\U0001F600");
  check("[\\P{L}&&\\p{N}]+", "a12 ", "12");
  check("[^\\S\\n]+", "a \n\tb", " |\t");
  check("[.*+?(){}|^$]+", "a.*+?(){}|^$b", ".*+?(){}|^$");
}

static void repetitions(void **state)
{
  (void)state;
  check("a{2}", "aaaaa", "aa|aa");
  check("a{,2}", "aaa", "aa|a");
  check("\\d{1,3}+", "12345", "12345"); /* a repetition of the repetition */
  check("a++b?", "aab", "aab");
  check("a+?", "aa", "a|a");
  check("a{x", "a{x", "a{x");
  check("(?:ab|c){2}", "abcab", "abc");
}

static void anchors_and_groups(void **state)
{
  (void)state;
  check("^.", "ab\ncd", "a|c");
  check(".$", "ab\ncd", "b|d");
  check("\\A.|.\\z", "ab\ncd", "a|d");
  check("(?m:a.b)", "a\nb", "a\nb");
  check("a.b", "a\nb", "");
  check("(?<=a)b|b(?=c)", "abbc", "b|b");
  check("(?!a).", "ab", "b");
  check("(?>a+)a|b", "aab", "b");
  check("(?i:'s|'re)", "'S'Re'\u017f", "'S|'Re|'\u017f");
  check("(?i:x(?-i:y))", "Xy XY", "Xy");
}

/* An empty match right behind another does not count. */
static void empty_matches(void **state)
{
  (void)state;
  check("x*", "axxb", "|xx|");
  check("(?=b)", "abb", "|");
}

static void what_has_no_counterpart(void **state)
{
  static const char *const patterns[] = {
      "(?<name>a)",  "\\1",         "(?i)a",       "\\R",      "\\X",
      "\\b",         "\\G",         "[[:alpha:]]", "\\p{Foo}", "\\pL",
      "(?i:\u00df)", "(?i:ss)",     "(?i:off)",    "a**",      "*a",
      "a{2}?",       "(a",          "a)",          "[a",       "[z-a]",
      "\\",          "\\x{110000}", "\\xff",       "(?#x)",    "\\k<a>",
      "[a-\\d]",     "\\u12",       "a{1,2}{3}",   "(?~a)",    "\\cA"};
  (void)state;
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
    check_refused(patterns[i]);
}

/* Long runs need no stack. */
static void long_texts(void **state)
{
  struct regex r;
  struct regex_scratch s = {0};
  struct err e = {0};
  struct buf text = {0};
  size_t start, end;
  (void)state;
  for (int i = 0; i < 1000000; i++)
    buf_adds(&text, i % 2 ? "a" : "\u00e9");
  assert_int_equal(regex_init(&r, STR("(?:\\p{L}|\\d)+x|\\p{L}+"), "", &e), 0);
  assert_int_equal(regex_find(&r, &s, buf_str(&text), 0, &start, &end), 1);
  assert_int_equal(end, text.len);
  regex_deinit(&r);
  regex_scratch_free(&s);
  buf_free(&text);
  err_free(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shorthands_are_onigurumas),
      cmocka_unit_test(properties_are_of_unicode_16),
      cmocka_unit_test(classes),
      cmocka_unit_test(repetitions),
      cmocka_unit_test(anchors_and_groups),
      cmocka_unit_test(empty_matches),
      cmocka_unit_test(what_has_no_counterpart),
      cmocka_unit_test(long_texts),
  };
  return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
