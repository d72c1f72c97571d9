#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "script/pack.h"

/* "[required]" and "<other>" strings, in order. */
static void note(struct str text, bool required, void *ud)
{
  buf_addf(ud, required ? "[%.*s]" : "<%.*s>", STR_ARG(text));
}

static void strings_of_a_script(void **state)
{
  static const struct {
    const char *source, *found;
  } rows[] = {
      {"local a = require \"x.y\"", "[x.y]"},
      {"require('a') require ( 'b' ) require\n\"c\"", "[a][b][c]"},
      {"required 'a'; _require 'b'; x.require 'c'", "<a><b>[c]"},
      {"require(name, 'a')", "<a>"},
      {"-- require 'a'\nf 'b'", "<b>"},
      {"--[[ require 'a'\n ]] require 'b'", "[b]"},
      {"--[==[ ]] 'a' ]==] 'b'", "<b>"},
      {"x = [[ 'a' ]] .. 'b'", "<b>"},
      {"x = a[1] .. b[c['d']]", "<d>"},
      {"'it\\'s' \"b\\n\" 'c'", "<c>"},
      {"'' 'open", ""},
      {"'two\n'c'", "<c>"},
      {"'a\"b' \"c'd\"", "<a\"b><c'd>"},
      {"--[[ open", ""},
      {"[==[ open", ""},
      {"--", ""},
      {"'\\", ""},
      {"", ""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf found = {0};
    pack_strings(str_of(rows[i].source), note, &found);
    assert_string_equal(buf_cstr(&found), rows[i].found);
    buf_free(&found);
  }
}

static void names_of_packs(void **state)
{
  (void)state;
  assert_true(pack_is_name(STR("a.tar.gz")));
  assert_true(pack_is_name(STR("b/a.tgz")));
  assert_false(pack_is_name(STR("a.lua")));
  assert_false(pack_is_name(STR("a.gz")));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_of_a_script),
      cmocka_unit_test(names_of_packs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
