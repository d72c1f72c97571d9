/* Unicode: properties, normal forms, graphemes, UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include <utf8proc.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/grapheme.h"
#include "data/normal_form.h"
#include "data/utf8.h"

static struct unicode unicode;

static void check(enum normal_form form, const char *in, const char *want)
{
  struct buf out = {0};
  size_t head = 0;
  bool changed = normal_form(&unicode, form, str_of(in), &out, &head);
  assert_string_equal(changed ? buf_cstr(&out) : in, want);
  buf_free(&out);
}

static void forms(void **state)
{
  (void)state;
  check(NORMAL_NFC, "plain", "plain");
  check(NORMAL_NFC, "caf\u00e9", "caf\u00e9");
  check(NORMAL_NFC, "cafe\u0301!", "caf\u00e9!");
  check(NORMAL_NFD, "\u00e9\u1e69", "e\u0301s\u0323\u0307");
  check(NORMAL_NFC, "s\u0307\u0323", "\u1e69");
  check(NORMAL_NFC, "\u00e9\u0323", "\u1eb9\u0301");
  check(NORMAL_NFC, "\u1112\u1161\u11ab", "\ud55c");
  check(NORMAL_NFC, "\ud558\u11ab", "\ud55c");
  check(NORMAL_NFD, "\ud55c", "\u1112\u1161\u11ab");
  check(NORMAL_NFC, "\u212b\u2126", "\u00c5\u03a9");
  check(NORMAL_NFC, "\ufb01\u00bd", "\ufb01\u00bd");
  check(NORMAL_NFKC, "\ufb01\u00bd\uff21", "fi1\u20442A");
  check(NORMAL_NFKD, "\ufb01\u00e9", "fie\u0301");
  check(NORMAL_NFKC, "\uff76\uff9e", "\u30ac");
  check(NORMAL_NFC, "\u0958", "\u0915\u093c"); /* excluded from joining */
}

/* Unicode 10 and later are left alone, on either side of a mark. */
static void later_characters_stay(void **state)
{
  (void)state;
  check(NORMAL_NFC, "\U00011935\U00011930", "\U00011935\U00011930");
  check(NORMAL_NFC, "\U000105d2\u0307", "\U000105d2\u0307");
  check(NORMAL_NFC, "a\u1ac0\u0301", "a\u1ac0\u0301");
  check(NORMAL_NFKC, "\U0001fbf0", "\U0001fbf0");
}

/* The stretches that are worked out together give what the library makes of
 * the whole, for everything that Unicode 9 knew. */
static void stretches_equal_the_whole(void **state)
{
  static const uint32_t pool[] = {
      'a',    'e',    ' ',     0xe9,   0xc5,   0x301,  0x323,  0x327,  0x30a,
      0x345,  0x334,  0x344,   0x1100, 0x1161, 0x11a8, 0xac00, 0xac01, 0x304b,
      0x3099, 0x0f71, 0x0f72,  0x0f73, 0x212b, 0xfb01, 0xff76, 0xff9e, 0x0dd9,
      0x0dcf, 0x0dca, 0x1f600, 0x958,  0x93c,  0x915,  0x2126, 0x1e9b, 0x1d15e};
  static const utf8proc_option_t options[] = {
      UTF8PROC_STABLE | UTF8PROC_COMPOSE, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
      UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
      UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
  struct rng r;
  (void)state;
  rng_init(&r, 5, RNG_DATA, 0);
  for (int i = 0; i < 40000; i++) {
    struct buf in = {0};
    utf8proc_uint8_t *want = NULL;
    utf8proc_ssize_t n;
    int form = i % 4;
    for (uint64_t k = rng_below(&r, 10); k; k--)
      utf8_add(&in, pool[rng_below(&r, sizeof pool / sizeof *pool)]);
    n = utf8proc_map((const utf8proc_uint8_t *)buf_cstr(&in),
                     (utf8proc_ssize_t)in.len, &want, options[form]);
    assert_true(n >= 0);
    check((enum normal_form)form, buf_cstr(&in), (const char *)want);
    free(want);
    buf_free(&in);
  }
}

static void lower_case(void **state)
{
  static const uint32_t rows[][3] = {
      {'A', 1, 'a'},         {'a', 1, 'a'},         {0x130, 2, 'i'},
      {0x3a3, 1, 0x3c3},     {0x1e9e, 1, 0xdf},     {0xa7dc, 1, 0x19b},
      {0x10d50, 1, 0x10d70}, {0x16ea0, 1, 0x16ebb}, {0x1c5, 1, 0x1c6}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t out[2];
    assert_int_equal(unicode_lower(rows[i][0], out), rows[i][1]);
    assert_int_equal(out[0], rows[i][2]);
  }
}

static void properties(void **state)
{
  uint32_t u = UNICODE_CATEGORY;
  (void)state;
  assert_int_equal(unicode_get(&unicode, 'a') & u, UNICODE_LL);
  assert_int_equal(unicode_get(&unicode, 0x4e00) & u, UNICODE_LO);
  assert_int_equal(unicode_get(&unicode, 0x10ffff) & u, UNICODE_CN);
  assert_int_equal(unicode_get(&unicode, 0x2ebf0) & u, UNICODE_LO);
  assert_true(unicode_get(&unicode, 0x2ebf0) & UNICODE_YOUNG);
  assert_true(unicode_get(&unicode, 0x3000) & UNICODE_SPACE);
  assert_false(unicode_get(&unicode, 0x180e) & UNICODE_SPACE);
  assert_true(unicode_get(&unicode, 0x11de0) & UNICODE_NUMERIC);
  assert_true(unicode_get(&unicode, 0x301) & UNICODE_CCC);
}

static void graphemes(void **state)
{
  static const char *const whole[] = {"a",
                                      "\r\n",
                                      "e\u0301\u0323",
                                      "\u1112\u1161\u11ab",
                                      "\U0001F469\u200d\U0001F680",
                                      "\u00a9\u200d\u00a9",
                                      "\U0001F1E9\U0001F1EA",
                                      "\u0600a",
                                      "\u0915\u0903",
                                      "\ufe0f"};
  static const struct {
    const char *text;
    size_t end;
  } cut[] = {{"ab", 1},       {"\n\r", 1},
             {"\r\u0301", 1}, {"\U0001F1E9\U0001F1EA\U0001F1EB", 8},
             {"a\u200db", 4}, {"\u00a9b", 2}};
  (void)state;
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    const char *end = whole[i] + strlen(whole[i]);
    assert_ptr_equal(grapheme_end(&unicode, whole[i], end), end);
  }
  for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
    assert_ptr_equal(
        grapheme_end(&unicode, cut[i].text, cut[i].text + strlen(cut[i].text)),
        cut[i].text + cut[i].end);
}

/* utf8_put and utf8_next are inverses, utf8_valid agrees. */
static void utf8(void **state)
{
  (void)state;
  for (uint32_t c = 0; c < UNICODE_MAX; c++) {
    char text[4];
    const char *next;
    size_t n = utf8_put(text, c);
    bool surrogate = c >= 0xd800 && c < 0xe000;
    assert_int_equal(utf8_valid((struct str){text, n}), surrogate ? 0 : n);
    assert_int_equal(utf8_next(text, &next), c);
    assert_ptr_equal(next, text + n);
    assert_ptr_equal(utf8_back(next), text);
    assert_int_equal(utf8_size((unsigned char)text[0]), n);
  }
}

static int setup(void **state)
{
  (void)state;
  unicode_init(&unicode);
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
      cmocka_unit_test(forms),
      cmocka_unit_test(later_characters_stay),
      cmocka_unit_test(stretches_equal_the_whole),
      cmocka_unit_test(lower_case),
      cmocka_unit_test(properties),
      cmocka_unit_test(graphemes),
      cmocka_unit_test(utf8),
  };
  return cmocka_run_group_tests_name("normal_form", tests, setup, teardown);
}
