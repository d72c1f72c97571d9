/* B156: which LuaJIT is a risk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "script/luajit.h"

static void b156_old_ones_are_warned_of(void **state)
{
  static const char *const old[] = {
      "LuaJIT 2.0.5 (GC64)", "LuaJIT 2.1.0-beta2 (GC64)",
      "LuaJIT 2.1.0-beta1 (GC64)", "LuaJIT 1.1.8 (GC64)"};
  static const char *const good[] = {
      "LuaJIT 2.1.0-beta3 (GC64)", "LuaJIT 2.1.1700008891 (GC64)",
      "LuaJIT 2.1.ROLLING (GC64)", "LuaJIT 3.0.0 (GC64)"};
  (void)state;
  for (size_t i = 0; i < sizeof old / sizeof old[0]; i++)
    assert_non_null(strstr(luajit_warning(old[i]), "older"));
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
    assert_null(luajit_warning(good[i]));
  assert_non_null(strstr(luajit_warning("LuaJIT 2.1.0-beta3"), "GC64"));
}

static void this_one_is_named(void **state)
{
  char text[64];
  (void)state;
  assert_ptr_equal(luajit_version(text), text);
  assert_non_null(strstr(text, "LuaJIT 2."));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(b156_old_ones_are_warned_of),
      cmocka_unit_test(this_one_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
