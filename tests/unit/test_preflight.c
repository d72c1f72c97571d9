/* Which proxy variable a request falls under. What the pre-flight request
 * does on the wire is tested end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/preflight.h"

struct row {
  const char *variable, *no_proxy, *url;
  bool used;
};

static const struct row rows[] = {
    {"http_proxy", NULL, "http://h:1/v1", true},
    {"http_proxy", NULL, "https://h/v1", false},
    {"HTTP_PROXY", NULL, "http://h", false}, /* not curl's */
    {"https_proxy", NULL, "https://h", true},
    {"HTTPS_PROXY", NULL, "HTTPS://h", true},
    {"https_proxy", NULL, "http://h", false},
    {"all_proxy", NULL, "http://h", true},
    {"ALL_PROXY", NULL, "https://h", true},
    {"http_proxy", "h", "http://h:8000", false},
    {"http_proxy", "x, .example.org", "http://a.example.org", false},
    {"http_proxy", "example.org", "http://example.org/", false},
    {"http_proxy", "ample.org", "http://example.org/", true},
    {"http_proxy", "*", "http://h", false},
    {"http_proxy", "other", "http://h", true},
    /* Never to this machine itself. */
    {"http_proxy", NULL, "http://127.0.0.1:8000", false},
    {"http_proxy", NULL, "http://localhost:8000", false},
    {"http_proxy", NULL, "http://[::1]:8000", false},
    {"http_proxy", NULL, "http://[2001:db8::1]:8000", true},
    {"http_proxy", NULL, "http://127.0.0.1.example.org", true}, /* a name */
    {"http_proxy", "10.0.0.0/8", "http://10.1.2.3:8000", false},
};

static void b110_proxy_variables(void **state)
{
  static const char *const all[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                    "HTTPS_PROXY", "all_proxy",  "ALL_PROXY",
                                    "no_proxy",    "NO_PROXY"};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char *got;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
      unsetenv(all[k]);
    setenv(rows[i].variable, "http://p:3128", 1);
    if (rows[i].no_proxy)
      setenv("no_proxy", rows[i].no_proxy, 1);
    got = preflight_proxy(rows[i].url);
    if (rows[i].used)
      assert_string_equal(got, rows[i].variable);
    else
      assert_null(got);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(b110_proxy_variables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
