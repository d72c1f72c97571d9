/* Nothing secret in command lines and URLs that are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "cli/mask.h"

struct target {
  char *url, *key, *param;
  struct option_list headers;
  bool quiet;
};

static const struct option rows[] = {
    {"u url base-url", "URL", OPTION_STRING,
     .at = offsetof(struct target, url)},
    {"api-key", "KEY", OPTION_STRING, offsetof(struct target, key),
     .secret = true},
    {"H header", "LINE", OPTION_LIST, .at = offsetof(struct target, headers)},
    {"P param", "X", OPTION_STRING, .at = offsetof(struct target, param)},
    {"q quiet", NULL, OPTION_BOOLEAN, .at = offsetof(struct target, quiet)},
};

static const struct options_spec spec = {
    .program = "stoke run", .rows = rows, .n = sizeof rows / sizeof rows[0]};

struct line {
  char *argv[6];
  const char *masked;
};

static const struct line lines[] = {
    {{"chat", "-q"}, "stoke run chat -q"},
    {{"--api-key", "sk-1"}, "stoke run --api-key '***'"},
    {{"--api-key=sk-1", "x"}, "stoke run '--api-key=***' x"},
    {{"api_key=sk-1"}, "stoke run 'api_key=***'"},
    {{"--api_k", "sk-1"}, "stoke run --api_k '***'"},
    {{"-H", "Authorization: Bearer sk-1"}, "stoke run -H 'Authorization: ***'"},
    {{"-Hauthorization=Bearer sk-1"}, "stoke run '-Hauthorization=***'"},
    {{"-qH", "X-Api-Key: 1"}, "stoke run -qH 'X-Api-Key: ***'"},
    {{"--header=Cookie: a=b"}, "stoke run '--header=Cookie: ***'"},
    {{"-H", "X-Name: it's"}, "stoke run -H 'X-Name: it'\\''s'"},
    {{"-u", "http://me:pw@h:1/p?a=1&api_key=2"},
     "stoke run -u 'http://***@h:1/p?a=1&api_key=***'"},
    {{"--base-url=http://h/?TOKEN=2"},
     "stoke run '--base-url=http://h/?TOKEN=***'"},
    {{"http://me@h"}, "stoke run 'http://***@h'"},
    {{"-P", "key=known-secret-1", "--", "known-secret-1"},
     "stoke run -P 'key=***' -- '***'"},
    {{"-P", ""}, "stoke run -P ''"},
    {{"--nonsense", "a b"}, "stoke run --nonsense 'a b'"},
};

static void command_lines(void **state)
{
  char secret[] = "known-secret-1", none[] = "", tiny[] = "it",
       *all[] = {secret, none, tiny};
  const struct option_list known = {all, 3};
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    int argc = 0;
    char *masked;
    while (argc < 6 && lines[i].argv[argc])
      argc++;
    masked = mask_command(&spec, argc, lines[i].argv, &known);
    assert_string_equal(masked, lines[i].masked);
    mem_free(masked);
  }
}

static void urls(void **state)
{
  static const char *const rows_[][2] = {
      {"http://h:1/v1", "http://h:1/v1"},
      {"http://u:p@h/v1", "http://***@h/v1"},
      {"http://u@p@h", "http://***@h"},
      {"u:p@h", "***@h"},
      {"http://h/a@b", "http://h/a@b"},
      {"http://h/?sig=1&b", "http://h/?sig=***&b"},
      {"http://h?access_token=x&v=1", "http://h?access_token=***&v=1"},
      {"http://h/?", "http://h/?"},
      {"", ""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows_ / sizeof rows_[0]; i++) {
    struct buf out = {0};
    mask_url(&out, str_of(rows_[i][0]));
    assert_string_equal(buf_cstr(&out), rows_[i][1]);
    buf_free(&out);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(command_lines),
      cmocka_unit_test(urls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
