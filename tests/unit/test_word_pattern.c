/* Every pattern that is matched by hand, against PCRE2 on the same regular
 * expression. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "data/regex.h"
#include "data/utf8.h"
#include "data/word_pattern.h"

static struct unicode unicode;
static struct word_classes classes;

/* Few characters, of every class that a pattern tells apart, so that all
 * neighbourhoods come up. */
static const uint32_t alphabet[] = {
    'a',    's',    't',    'l',    'e',    'S',    'L',     'R',     '0',
    '7',    ' ',    ' ',    '\t',   '\n',   '\r',   '\'',    '\'',    '.',
    '/',    '_',    '$',    0xa0,   0x17f,  0xe9,   0xc9,    0x1c5,   0x2b0,
    0x301,  0x903,  0x20dd, 0x4e2d, 0x3042, 0x30fc, 0x660,   0x2167,  0xbd,
    0x2028, 0x3000, 0x200d, 0xad,   0xfffd, 0x180e, 0x1f600, 0x2ebf0, 0x378,
    0xd7ff, 0x85,   0x0,    0x1d7ce};

static void random_text(struct rng *r, struct buf *out)
{
  buf_reset(out);
  for (uint64_t n = 1 + rng_below(r, 24); n; n--) {
    uint32_t c = alphabet[rng_below(r, sizeof alphabet / sizeof *alphabet)];
    if (rng_below(r, 16) == 0)
      c = (uint32_t)rng_below(r, 0xd800);
    utf8_add(out, c);
  }
}

/* All matches of a text by hand, against the engine's. */
static void compare(enum word_pattern w, const struct regex *regex,
                    struct regex_scratch *s, struct str text)
{
  struct regex_walk walk = {0};
  const char *p = text.p, *end = text.p + text.len;
  size_t start, stop;
  while (p < end) {
    const char *by_hand = word_pattern_match(w, &classes, p, end);
    if (!by_hand) {
      p += utf8_size((unsigned char)*p);
      continue;
    }
    assert_true(by_hand > p);
    if (regex_next(regex, s, text, &walk, &start, &stop) != 1 ||
        text.p + start != p || text.p + stop != by_hand)
      fail_msg("%s on %.*s at %zu", word_pattern_text(w), STR_ARG(text),
               (size_t)(p - text.p));
    p = by_hand;
  }
  assert_int_equal(regex_next(regex, s, text, &walk, &start, &stop), 0);
}

static void check_pattern(enum word_pattern w)
{
  struct regex regex;
  struct regex_scratch s = {0};
  struct err e = {0};
  struct buf text = {0};
  struct rng r;
  rng_init(&r, w, RNG_DATA, 0);
  if (regex_init(&regex, str_of(word_pattern_text(w)), "test", &e) < 0)
    fail_msg("%s", err_text(&e));
  for (int i = 0; i < 20000; i++) {
    random_text(&r, &text);
    compare(w, &regex, &s, buf_str(&text));
  }
  regex_deinit(&regex);
  regex_scratch_free(&s);
  buf_free(&text);
  err_free(&e);
}

static void all_patterns_match_as_pcre2_does(void **state)
{
  (void)state;
  for (int w = WORD_GPT2; w < WORD_PATTERNS; w++)
    if (w != WORD_WHITESPACE) /* another \w than the engine's */
      check_pattern((enum word_pattern)w);
}

static void patterns_are_known_by_their_text(void **state)
{
  (void)state;
  for (int w = WORD_GPT2; w < WORD_PATTERNS; w++)
    assert_int_equal(
        word_pattern_find(str_of(word_pattern_text((enum word_pattern)w))),
        w == WORD_WHITESPACE ? WORD_PATTERN_NONE : w);
  assert_int_equal(word_pattern_find(STR("\\p{L}+")), WORD_PATTERN_NONE);
}

/* Those that promise it leave no character out. */
static void covering_patterns_match_everywhere(void **state)
{
  (void)state;
  for (int w = WORD_GPT2; w < WORD_PATTERNS; w++)
    for (uint32_t c = 0; c < UNICODE_MAX; c++) {
      char text[4];
      size_t n = utf8_put(text, c);
      if (c >= 0xd800 && c < 0xe000)
        continue;
      if (word_pattern_covers((enum word_pattern)w))
        assert_non_null(
            word_pattern_match((enum word_pattern)w, &classes, text, text + n));
    }
}

static void words_of_the_regex_crate(void **state)
{
  const char *text = "a\u200db, \u0301!", *end = text + strlen(text);
  (void)state;
  assert_ptr_equal(word_pattern_match(WORD_WHITESPACE, &classes, text, end),
                   text + 5);
  assert_ptr_equal(word_pattern_match(WORD_WHITESPACE, &classes, text + 5, end),
                   text + 6);
  assert_null(word_pattern_match(WORD_WHITESPACE, &classes, text + 6, end));
  assert_ptr_equal(word_pattern_match(WORD_WHITESPACE, &classes, text + 7, end),
                   text + 9);
}

static int setup(void **state)
{
  (void)state;
  unicode_init(&unicode);
  word_classes_init(&classes, &unicode);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  unicode_deinit(&unicode);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_patterns_match_as_pcre2_does),
      cmocka_unit_test(patterns_are_known_by_their_text),
      cmocka_unit_test(covering_patterns_match_everywhere),
      cmocka_unit_test(words_of_the_regex_crate),
  };
  return cmocka_run_group_tests_name("word_pattern", tests, setup, teardown);
}
