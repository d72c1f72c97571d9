/* Requests in pieces of any size, one behind another, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mock/http.h"

static const char request[] = "POST /v1/x?a=b HTTP/1.1\r\n"
                              "Host: h\r\n"
                              "X-Request-Id: 7\r\n"
                              "Content-Length: 5\r\n"
                              "Empty:\r\n"
                              "\r\n"
                              "hello";
#define LEN (sizeof request - 1)

static void is_the_request(const struct mock_http *h)
{
  assert_true(h->complete);
  assert_true(h->keep_alive);
  assert_true(str_eq(mock_http_method(h), STR("POST")));
  assert_true(str_eq(mock_http_path(h), STR("/v1/x")));
  assert_true(str_eq(buf_str(&h->body), STR("hello")));
  assert_int_equal(h->headers, 4);
  assert_true(str_eq(mock_http_header(h, STR("x-request-id")), STR("7")));
  assert_true(str_eq(mock_http_name(h, 1), STR("X-Request-Id")));
  assert_int_equal(mock_http_header(h, STR("empty")).len, 0);
  assert_null(mock_http_header(h, STR("absent")).p);
}

static void every_pair_of_cuts(void **state)
{
  struct mock_http h;
  (void)state;
  mock_http_init(&h, 4096, 4096);
  for (size_t i = 0; i <= LEN; i++) {
    for (size_t j = i; j <= LEN; j++) {
      assert_int_equal(mock_http_feed(&h, request, i), i);
      if (!h.complete)
        assert_int_equal(mock_http_feed(&h, request + i, j - i), j - i);
      if (!h.complete)
        assert_int_equal(mock_http_feed(&h, request + j, LEN - j), LEN - j);
      is_the_request(&h);
      mock_http_next(&h);
    }
  }
  mock_http_deinit(&h);
}

static void stops_behind_each_request(void **state)
{
  struct mock_http h;
  struct buf two = {0};
  (void)state;
  buf_adds(&two, request);
  buf_adds(&two, request);
  mock_http_init(&h, 4096, 4096);
  assert_int_equal(mock_http_feed(&h, two.p, two.len), LEN);
  is_the_request(&h);
  mock_http_next(&h);
  assert_false(h.complete);
  assert_int_equal(mock_http_feed(&h, two.p + LEN, LEN), LEN);
  is_the_request(&h);
  buf_free(&two);
  mock_http_deinit(&h);
}

static void connection_close(void **state)
{
  struct mock_http h;
  (void)state;
  mock_http_init(&h, 4096, 4096);
  mock_http_feed(&h, STR("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").p, 37);
  assert_true(h.complete);
  assert_false(h.keep_alive);
  mock_http_deinit(&h);
  mock_http_init(&h, 4096, 4096);
  mock_http_feed(&h, STR("GET / HTTP/1.0\r\n\r\n").p, 18);
  assert_true(h.complete);
  assert_false(h.keep_alive);
  mock_http_deinit(&h);
}

static void refused(const char *text, size_t max_head, bool too_large)
{
  struct mock_http h;
  mock_http_init(&h, max_head, 4);
  assert_int_equal(mock_http_feed(&h, text, strlen(text)), -1);
  assert_int_equal(h.too_large, too_large);
  mock_http_deinit(&h);
}

static void refuses(void **state)
{
  struct buf many = {0};
  (void)state;
  refused("hello there\r\n\r\n", 4096, false);
  refused("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 4096, false);
  refused("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 4096, true);
  refused("GET /a-long-path HTTP/1.1\r\n\r\n", 8, true);
  buf_adds(&many, "GET / HTTP/1.1\r\n");
  for (int i = 0; i <= MOCK_HTTP_HEADERS; i++)
    buf_adds(&many, "a: b\r\n");
  refused(buf_cstr(&many), 4096, true);
  buf_free(&many);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pair_of_cuts),
      cmocka_unit_test(stops_behind_each_request),
      cmocka_unit_test(connection_close),
      cmocka_unit_test(refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
