#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

static void zeroed_is_empty(void **state)
{
  struct buf b = {0};
  (void)state;
  assert_int_equal(buf_str(&b).len, 0);
  assert_string_equal(buf_cstr(&b), "");
  buf_add(&b, NULL, 0);
  buf_shift(&b, 0);
  buf_reset(&b);
  assert_null(b.p);
  buf_free(&b);
}

static void adds_in_order(void **state)
{
  struct buf b = {0};
  (void)state;
  buf_adds(&b, "ab");
  buf_addc(&b, 'c');
  buf_addstr(&b, STR("de"));
  buf_addf(&b, "%d%s", 42, "!");
  buf_add(&b, "x\0y", 3);
  assert_int_equal(b.len, 11);
  assert_memory_equal(b.p, "abcde42!x\0y", 11);
  assert_int_equal(buf_cstr(&b)[11], '\0');
  buf_shift(&b, 8);
  assert_memory_equal(b.p, "x\0y", 3);
  buf_shift(&b, 3);
  assert_int_equal(b.len, 0);
  buf_free(&b);
}

static void grows_geometrically(void **state)
{
  struct buf b = {0};
  size_t moves = 0, cap = 0;
  (void)state;
  for (int i = 0; i < 1000000; i++) {
    buf_addc(&b, (char)i);
    moves += b.cap != cap;
    cap = b.cap;
  }
  assert_in_range(moves, 1, 20);
  for (int i = 0; i < 1000000; i += 4099)
    assert_int_equal(b.p[i], (char)i);
  buf_free(&b);
}

/* Every length, so that the NUL of buf_cstr never lies outside. */
static void always_has_room_for_a_nul(void **state)
{
  (void)state;
  for (size_t n = 0; n < 300; n++) {
    struct buf b = {0};
    memset(buf_reserve(&b, n), 'x', n);
    b.len += n;
    assert_true(b.cap > b.len);
    assert_int_equal(strlen(buf_cstr(&b)), n);
    buf_free(&b);
  }
}

static void formats_across_growth(void **state)
{
  struct buf b = {0};
  (void)state;
  for (int i = 0; i < 100; i++)
    buf_addf(&b, "%63d", i);
  assert_int_equal(b.len, 6300);
  assert_memory_equal(b.p + b.len - 3, " 99", 3);
  buf_free(&b);
}

static void stops_at_its_ceiling(void **state)
{
  struct buf b = {.max = 5};
  (void)state;
  buf_adds(&b, "12345");
  assert_false(b.toobig);
  buf_addc(&b, '6');
  assert_true(b.toobig);
  assert_string_equal(buf_cstr(&b), "12345");
  /* It stays so, even for what would fit. */
  buf_shift(&b, 5);
  buf_addc(&b, '7');
  assert_int_equal(b.len, 0);
  assert_null(buf_reserve(&b, 1));
  buf_reset(&b);
  buf_addc(&b, '8');
  assert_string_equal(buf_cstr(&b), "8");
  buf_free(&b);
  assert_int_equal(b.max, 5);
}

static void hands_over(void **state)
{
  struct buf b = {.max = 10};
  char *p;
  (void)state;
  buf_adds(&b, "abc");
  p = buf_take(&b);
  assert_string_equal(p, "abc");
  mem_free(p);
  assert_null(b.p);
  assert_int_equal(b.max, 10);
  p = buf_take(&b);
  assert_string_equal(p, "");
  mem_free(p);
}

static void shows_nothing_that_a_terminal_obeys(void **state)
{
  struct buf b = {0};
  (void)state;
  buf_adds(&b, "a\x1b[2J\tb\r\n\x7f\x9cö");
  buf_addc(&b, '\0');
  buf_disarm(&b);
  assert_string_equal(buf_cstr(&b), "a?[2J\tb?\n??ö?");
  buf_reset(&b);
  /* Controls of two bytes, marks of direction and of lines; the neighbours of
   * each stay. What is cut off, too long or a surrogate is no UTF-8. */
  buf_adds(&b, "\xc2\x9b|\xc2\xa0|\xe2\x80\xae|\xe2\x80\xaf|\xe2\x80\xa8|"
               "\xe2\x81\xa6|\xe2\x81\xaa|\xe2\x96\x81|"
               "\xed\xa0\x80|\xc0\x9b|\xf0\x9f\x98\x80|\xe2\x80");
  buf_disarm(&b);
  assert_string_equal(buf_cstr(&b), "?|\xc2\xa0|?|\xe2\x80\xaf|?|?|"
                                    "\xe2\x81\xaa|\xe2\x96\x81|???|\?\?|"
                                    "\xf0\x9f\x98\x80|??");
  buf_free(&b);
  buf_disarm(&b);
  assert_int_equal(b.len, 0);
}

static void recycles_what_is_small(void **state)
{
  struct buf b = {.max = 1 << 20};
  (void)state;
  buf_adds(&b, "abc");
  buf_recycle(&b, 1024);
  assert_int_equal(b.len, 0);
  assert_non_null(b.p);
  b.len = buf_reserve(&b, 5000) ? 5000 : 0;
  buf_recycle(&b, 1024);
  assert_null(b.p);
  assert_int_equal(b.max, 1 << 20);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zeroed_is_empty),
      cmocka_unit_test(adds_in_order),
      cmocka_unit_test(grows_geometrically),
      cmocka_unit_test(always_has_room_for_a_nul),
      cmocka_unit_test(formats_across_growth),
      cmocka_unit_test(stops_at_its_ceiling),
      cmocka_unit_test(hands_over),
      cmocka_unit_test(shows_nothing_that_a_terminal_obeys),
      cmocka_unit_test(recycles_what_is_small),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
