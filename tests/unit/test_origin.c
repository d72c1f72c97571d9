#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "net/origin.h"

static void urls(void **state)
{
  static const struct {
    const char *url, *scheme, *host;
    unsigned port;
  } rows[] = {
      {"http://h", "http", "h", 80},
      {"https://h", "https", "h", 443},
      {"HTTPS://H/", "HTTPS", "H", 443},
      {"h", "http", "h", 80},
      {"h:8000/v1", "http", "h", 8000},
      {"http://h:8000/v1?x=http://y:1", "http", "h", 8000},
      {"http://h?x", "http", "h", 80},
      {"http://h#x", "http", "h", 80},
      {"http://h:/v1", "http", "h", 80},
      {"http://u:p@h:1/", "http", "h", 1},
      {"http://u@x:p@h:1/", "http", "h", 1},
      {"http://[::1]", "http", "::1", 80},
      {"https://[::1]:8443/v1", "https", "::1", 8443},
      {"http://u@[fe80::1]:65535/", "http", "fe80::1", 65535},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct origin o;
    if (origin_parse(str_of(rows[i].url), &o) != 0)
      fail_msg("%s", rows[i].url);
    assert_true(str_eq(o.scheme, str_of(rows[i].scheme)));
    assert_true(str_eq(o.host, str_of(rows[i].host)));
    assert_int_equal(o.port, rows[i].port);
  }
}

static void urls_that_are_none(void **state)
{
  static const char *const rows[] = {
      "",           "http://",        "http:///v1",       "http://:80",
      "http://h:x", "http://h:65536", "http://h:1234567", "http://[::1",
      "http://[]",  "http://[::1]80", "http://u@/",
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct origin o;
    if (origin_parse(str_of(rows[i]), &o) != -1)
      fail_msg("%s", rows[i]);
  }
}

static void loopback(void **state)
{
  static const struct {
    const char *url;
    bool loopback, address;
  } rows[] = {
      {"localhost", true, false},
      {"LocalHost:80", true, false},
      {"a.localhost", true, false},
      {"localhost.test", false, false},
      {"mylocalhost", false, false},
      {"127.0.0.1", true, true},
      {"127.9.9.9", true, true},
      {"128.0.0.1", false, true},
      {"127.0.0.1.test", false, false},
      {"[::1]", true, true},
      {"[::ffff:127.0.0.1]", true, true},
      {"[::ffff:10.0.0.1]", false, true},
      {"[::2]", false, true},
      {"[fe80::1%25eth0]:80", false, true},
      {"[::1%251]", true, true},
      {"a%2525.test", false, false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct origin o;
    assert_int_equal(origin_parse(str_of(rows[i].url), &o), 0);
    if (origin_is_loopback(&o) != rows[i].loopback ||
        origin_is_address(&o) != rows[i].address)
      fail_msg("%s", rows[i].url);
  }
}

static void b110_no_proxy_lists(void **state)
{
  static const struct {
    const char *list, *url;
    bool excluded;
  } rows[] = {
      {"", "h.test", false},
      {"*", "h.test", true},
      {"a,*", "h.test", true},
      {"*.test", "h.test", false}, /* curl knows no patterns */
      {"h.test", "h.test", true},
      {"H.Test", "h.tEST", true},
      {"test", "h.test", true},
      {".test", "h.test", true},
      {".test", "test", true},
      {"est", "h.test", false},
      {"h.test", "test", false},
      {"h.test.", "h.test", true},
      {"h.test", "h.test.", true},
      {"a.b, h.test", "h.test", true},
      {"a.b h.test", "h.test", true},
      {" a.b ,\th.test ", "h.test", true},
      {"h.test:80", "h.test", true},
      {"h.test:8000", "h.test", false},
      {"h.test:8000", "h.test:8000", true},
      {"h.test:443", "https://h.test", true},
      {"10.0.0.1", "10.0.0.1", true},
      {"10.0.0.1", "10.0.0.10", false},
      {"0.0.1", "10.0.0.1", false},
      {"10.0.0.0/8", "10.1.2.3", true},
      {"10.0.0.0/8", "11.1.2.3", false},
      {"10.0.0.0/33", "10.0.0.0", false},
      {"192.168.1.0/25", "192.168.1.127", true},
      {"192.168.1.0/25", "192.168.1.128", false},
      {"0.0.0.0/0", "8.8.8.8", true},
      {"10.0.0.1:8000", "10.0.0.1:8000", true},
      {"10.0.0.1:8000", "10.0.0.1:8001", false},
      {"::1", "[::1]", true},
      {"[::1]", "[::1]", true},
      {"[fe80::1]:80", "[fe80::1]", true},
      {"fe80::/10", "[fe80::abcd]", true},
      {"fe80::/10", "[2001::1]", false},
      {"10.0.0.0/8", "h.test", false},
      {"/8", "10.0.0.1", false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct origin o;
    assert_int_equal(origin_parse(str_of(rows[i].url), &o), 0);
    if (proxy_excluded(str_of(rows[i].list), &o) != rows[i].excluded)
      fail_msg("no_proxy='%s', %s", rows[i].list, rows[i].url);
  }
}

static void environment(const char *name, const char *value)
{
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

static void b110_which_proxy(void **state)
{
  static const struct {
    const char *setting, *http, *HTTP, *https, *HTTPS, *all, *none;
    const char *url, *proxy;
  } rows[] = {
      {NULL, NULL, NULL, NULL, NULL, NULL, NULL, "http://h.test", NULL},
      {NULL, "p1", NULL, NULL, NULL, NULL, NULL, "http://h.test", "p1"},
      {NULL, NULL, "p1", NULL, NULL, NULL, NULL, "http://h.test", NULL},
      {NULL, "p1", NULL, NULL, NULL, NULL, NULL, "https://h.test", NULL},
      {NULL, NULL, NULL, "p2", NULL, NULL, NULL, "https://h.test", "p2"},
      {NULL, NULL, NULL, NULL, "p2", NULL, NULL, "https://h.test", "p2"},
      {NULL, NULL, NULL, "p1", "p2", NULL, NULL, "https://h.test", "p1"},
      {NULL, NULL, NULL, NULL, NULL, "p3", NULL, "https://h.test", "p3"},
      {NULL, "", NULL, NULL, NULL, "p3", NULL, "http://h.test", "p3"},
      {NULL, "p1", NULL, NULL, NULL, NULL, "test", "http://h.test", NULL},
      {NULL, "p1", NULL, NULL, NULL, NULL, NULL, "http://127.0.0.1", NULL},
      {NULL, "p1", NULL, NULL, NULL, "p3", NULL, "http://localhost:80", NULL},
      {"", "p1", NULL, NULL, NULL, NULL, NULL, "http://h.test", NULL},
      {"p9", "p1", NULL, NULL, NULL, NULL, "*", "http://127.0.0.1", "p9"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct origin o;
    const char *proxy;
    environment("http_proxy", rows[i].http);
    environment("HTTP_PROXY", rows[i].HTTP);
    environment("https_proxy", rows[i].https);
    environment("HTTPS_PROXY", rows[i].HTTPS);
    environment("all_proxy", rows[i].all);
    environment("ALL_PROXY", NULL);
    environment("no_proxy", rows[i].none);
    environment("NO_PROXY", NULL);
    assert_int_equal(origin_parse(str_of(rows[i].url), &o), 0);
    proxy = proxy_for(rows[i].setting, &o);
    if (!proxy != !rows[i].proxy ||
        (proxy && strcmp(proxy, rows[i].proxy) != 0))
      fail_msg("row %zu: %s", i, proxy ? proxy : "none");
  }
}

static void credentials_are_hidden(void **state)
{
  char out[256];
  (void)state;
  assert_string_equal(proxy_show("http://u:secret@p:1/", out),
                      "http://***@p:1/");
  assert_string_equal(proxy_show("u:sec@ret@p:1", out), "***@p:1");
  assert_string_equal(proxy_show("socks5h://p", out), "socks5h://p");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(urls),
      cmocka_unit_test(urls_that_are_none),
      cmocka_unit_test(loopback),
      cmocka_unit_test(b110_no_proxy_lists),
      cmocka_unit_test(b110_which_proxy),
      cmocka_unit_test(credentials_are_hidden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
