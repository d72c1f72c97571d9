#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/kept.h"

static void assert_text(struct kept *k, size_t end, bool over, const char *want)
{
  struct str s = kept_text(k, end, over);
  assert_int_equal(s.len, strlen(want));
  assert_memory_equal(s.p ? s.p : "", want, s.len);
}

static void pieces_are_the_text(void **state)
{
  struct kept k = {.room = 0};
  (void)state;
  assert_text(&k, 0, false, "");
  kept_add(&k, STR("one "));
  assert_text(&k, 4, false, "one ");
  kept_add(&k, STR("two"));
  assert_text(&k, 7, false, "one two");
  assert_text(&k, 4, false, "one ");
  assert_text(&k, 7, true, "one two");
  kept_free(&k);
}

/* Read at any of its pieces, and again from the start. */
static void escapes_are_undone_wherever_it_is_read(void **state)
{
  static const char *const pieces[] = {"a",       "\\n",     "b\\\"",
                                       "\\ud83d", "\\ude00", "c"};
  static const char *const want[] = {"a",
                                     "a\n",
                                     "a\nb\"",
                                     "a\nb\"",
                                     "a\nb\"\360\237\230\200",
                                     "a\nb\"\360\237\230\200c"};
  size_t ends[6];
  struct kept k = {.room = 0};
  (void)state;
  for (int i = 0; i < 6; i++) {
    kept_add(&k, str_of(pieces[i]));
    ends[i] = k.raw.len;
  }
  for (unsigned which = 0; which < 64; which++)
    for (int i = 0; i < 6; i++)
      if (which >> i & 1)
        assert_text(&k, ends[i], false, want[i]);
  kept_free(&k);
}

static void half_a_character_at_the_end(void **state)
{
  struct kept k = {.room = 0};
  (void)state;
  kept_add(&k, STR("a\\ud83d"));
  assert_text(&k, 7, false, "a");
  assert_text(&k, 7, true, "a\xef\xbf\xbd");
  kept_free(&k);
}

static void what_is_cut_has_not_come(void **state)
{
  struct kept k = {.room = 0};
  (void)state;
  kept_add(&k, STR("a\\t"));
  kept_add(&k, STR("\\ud83d"));
  assert_text(&k, 9, false, "a\t");
  kept_cut(&k, 3);
  kept_add(&k, STR("b"));
  assert_text(&k, 4, true, "a\tb");
  kept_reset(&k, 0, 1024);
  kept_add(&k, STR("z"));
  assert_text(&k, 1, true, "z");
  kept_free(&k);
}

/* No piece beyond the first that didn't fit. */
static void a_ceiling(void **state)
{
  struct kept k = {.room = 0};
  (void)state;
  kept_reset(&k, 100, 1024);
  for (int i = 0; i < 30; i++)
    kept_add(&k, STR("1234567"));
  assert_int_equal(k.raw.len, 98);
  kept_add(&k, STR("8"));
  assert_int_equal(k.raw.len, 98);
  kept_reset(&k, 8, 1024);
  kept_add(&k, STR("12345678"));
  assert_int_equal(k.raw.len, 8);
  kept_free(&k);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_are_the_text),
      cmocka_unit_test(escapes_are_undone_wherever_it_is_read),
      cmocka_unit_test(half_a_character_at_the_end),
      cmocka_unit_test(what_is_cut_has_not_come),
      cmocka_unit_test(a_ceiling),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
