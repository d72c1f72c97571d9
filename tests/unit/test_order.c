/* Every row once, in an order of the seed's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "data/order.h"

static void every_row_comes_once(void **state)
{
  static const uint64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 100, 65537};
  (void)state;
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    unsigned char *seen = mem_zalloc(sizes[k], 1);
    for (uint64_t i = 0; i < sizes[k]; i++) {
      uint64_t row = order_at(7, sizes[k], i);
      assert_true(row < sizes[k]);
      assert_false(seen[row]++);
    }
    mem_free(seen);
  }
}

static void seeds_give_other_orders(void **state)
{
  int same = 0, moved = 0;
  (void)state;
  for (uint64_t i = 0; i < 1000; i++) {
    same += order_at(1, 1000, i) == order_at(2, 1000, i);
    moved += order_at(1, 1000, i) != i;
  }
  assert_true(same < 20);
  assert_true(moved > 980);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_comes_once),
      cmocka_unit_test(seeds_give_other_orders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
